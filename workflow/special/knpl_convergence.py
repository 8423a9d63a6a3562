"""Figure 3 of Liu et al. (AAAI 2018): convergence of the alternating algorithm."""

from itertools import product

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from adakern.knpl import KNPLClassifier
from adakern_bench.report.sweep import plot_lines
from shared import fit_quietly, tuned

#: reg as multiples of C^2.
MULTIPLES = (0.1, 1.0, 10.0, 100.0, 1000.0)


def compute(data, seed, *, multiples=MULTIPLES, max_outer=10, max_inner=15):
    """Residuals, objective and gap of the paper's two algorithms, and of exact ascent.

    C and gamma are those of the cross-validated SVM.
    """
    X = data.X_train
    y = data.y_train
    svm = tuned(SVC(), X, y)
    rounds = {"max_outer": max_outer, "max_inner": max_inner}
    frames = []
    for multiple, solver in product(multiples, ("admm", "exact")):
        reg = multiple * svm.C**2
        model = KNPLClassifier(
            C=svm.C, gamma=svm.gamma, reg=reg, solver=solver, **rounds
        )
        history = fit_quietly(model, X, y).history_
        # Without the constant reg n^2, the cost of the layer G = 11'.
        objective = np.array(history["objective"]) - reg * len(y) ** 2
        curves = {
            "residual": history.get("inner_residuals", [[]])[0],
            "objective": objective,
            "gap": np.array(history["gap"]) / np.abs(objective),
        }
        frame = pd.DataFrame({name: pd.Series(curve) for name, curve in curves.items()})
        facts = {"solver": solver, "multiple": multiple, "iteration": frame.index + 1}
        frames.append(frame.assign(line=f"{solver}, reg = {multiple:g} C²", **facts))
    return pd.concat(frames, ignore_index=True)


def plot(frame):
    """Plot figure 3: residuals of algorithm 1, objective and gap of outer rounds."""
    curves = ["residual", "objective", "gap"]
    return plot_lines(frame, "iteration", curves, "line", log=["residual", "gap"])


def table(frame):
    """Tabulate the number of rounds, and the final objective and relative gap."""
    groups = frame.groupby(["dataset", "solver", "multiple"])
    last = groups[["objective", "gap"]].last()
    last.insert(0, "rounds", groups["objective"].count())
    return last.reset_index()

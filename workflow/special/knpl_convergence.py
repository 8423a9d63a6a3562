"""Figure 3 of Liu et al. (AAAI 2018): does the alternation converge?"""

from itertools import product

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from adakern.knpl import KNPLClassifier
from shared import axes_grid, fit_quietly, tuned

#: reg as multiples of C^2.
MULTIPLES = (0.1, 1.0, 10.0, 100.0, 1000.0)


def compute(data, seed, *, multiples=MULTIPLES, max_outer=10, max_inner=15):
    """Both algorithms of the paper round by round, beside the exact ascent.

    C and gamma are those of the cross-validated SVM.
    """
    X, y = data.X_train, data.y_train
    svm = tuned(SVC(), X, y)
    frames = []
    for multiple, solver in product(multiples, ("admm", "exact")):
        model = KNPLClassifier(
            C=svm.C,
            gamma=svm.gamma,
            reg=multiple * svm.C**2,
            solver=solver,
            max_outer=max_outer,
            max_inner=max_inner,
        )
        history = fit_quietly(model, X, y).history_
        # Less the constant reg n^2 that the layer G = 11' costs.
        objective = np.array(history["objective"]) - model.reg * len(y) ** 2
        quantities = {
            "objective": objective,
            "gap": np.array(history["gap"]) / np.abs(objective),
            "residual": history.get("inner_residuals", [[]])[0],
        }
        for quantity, values in quantities.items():
            curve = pd.DataFrame({"quantity": quantity, "value": values})
            curve = curve.assign(solver=solver, multiple=multiple, iteration=curve.index + 1)
            frames.append(curve)
    return pd.concat(frames, ignore_index=True)


def plot(frame):
    """Figure 3: residuals of algorithm 1, objective and gap of the outer rounds."""
    figure, axes = axes_grid(1, 3, width=4.3)
    titles = {
        "residual": "Algorithm 1: Diff, first round",
        "objective": "Objective, less reg n²",
        "gap": "Saddle gap / |objective|",
    }
    colours = {m: f"C{k}" for k, m in enumerate(sorted(frame["multiple"].unique()))}
    for ax, (quantity, title) in zip(axes, titles.items(), strict=True):
        part = frame[frame["quantity"] == quantity]
        for (_, solver, multiple), curve in part.groupby(["dataset", "solver", "multiple"]):
            line = "o--" if solver == "admm" else "-"
            label = f"{solver}, reg = {multiple:g} C²"
            place = curve["iteration"], curve["value"]
            ax.plot(*place, line, ms=3, color=colours[multiple], label=label)
        ax.set(title=title, xlabel="iteration")
        ax.set_yscale("symlog" if quantity == "objective" else "log")
        ax.set_xscale("linear" if quantity == "residual" else "log")
    axes[2].legend(fontsize=7)
    figure.suptitle(", ".join(frame["dataset"].unique()))
    return figure


def table(frame):
    """Where each solver ended: rounds, objective and relative gap."""
    rounds = frame[frame["quantity"].isin(["objective", "gap"])]
    keys = ["dataset", "solver", "multiple"]
    last = rounds.groupby([*keys, "quantity"], sort=False)["value"].last().unstack()
    last["rounds"] = rounds.groupby(keys)["iteration"].max()
    return last[["rounds", "objective", "gap"]].reset_index()

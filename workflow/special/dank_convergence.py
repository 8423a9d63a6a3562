"""Figure 4 of Liu et al. (JMLR 2020): how fast each method reaches the optimum."""

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from adakern._utils.resources import one_blas_thread
from adakern.dank.exact import make_problem, newton
from adakern.kernels import gram_matrix
from adakern.svm import ascent
from adakern.svm.dual import classification_dual
from adakern_bench.report.sweep import plot_lines
from dank_papers import nesterov, projected_gradient
from shared import tuned

#: The first two start from the solution of the SVM, those of the papers from zero.
METHODS = {
    "newton": newton,
    "accelerated": ascent.solve,
    "nesterov": nesterov,
    "projected-gradient": projected_gradient,
}
QUANTITIES = ("distance", "gap", "step")


def compute(data, seed, *, methods=tuple(METHODS), max_iter=2000, tau=0.01, tol=1e-6):
    """Objective, gap and step length of each method, by iteration."""
    X = data.X_train
    y = data.y_train
    svm = tuned(SVC(), X, y)
    dual = classification_dual(np.where(y == y.max(), 1.0, -1.0), svm.C)
    frames = []
    with one_blas_thread(len(X)):
        K = gram_matrix(X, gamma=svm.gamma)
        problem, u = make_problem(K, dual, "svm", tau, tol)
        for method in methods:
            start = problem(u if method in ("newton", "accelerated") else 0 * u)
            solution = METHODS[method](problem, start, tol, max_iter=max_iter)
            frame = pd.DataFrame(solution.history)
            frame["seconds"] = frame["seconds"].cumsum()
            frame["gap"] /= frame["objective"].abs()
            frame.insert(0, "method", method)
            frame.insert(1, "iteration", np.arange(len(frame)))
            frames.append(frame)
    frame = pd.concat(frames, ignore_index=True)
    best = frame["objective"].max()
    return frame.assign(distance=(best - frame["objective"]) / abs(best))


def plot(frame):
    """Plot distance to the best objective, relative gap and step length."""
    return plot_lines(frame, "iteration", QUANTITIES, "method", log=QUANTITIES)


def table(frame, *, near=1e-4):
    """Tabulate the results of each method, and when it was within `near` of the best
    objective, relatively.
    """
    best = frame.groupby("dataset")["objective"].transform("max")
    close = frame[best - frame["objective"] <= near * best.abs()]
    groups = frame.groupby(["dataset", "method"], sort=False)
    last = (
        groups[["seconds", "objective", "gap"]]
        .last()
        .rename(columns={"gap": "relative_gap"})
    )
    last.insert(0, "iterations", groups.size())
    first = close.groupby(["dataset", "method"])[["iteration", "seconds"]].first()
    first.columns = ["iterations_to_near", "seconds_to_near"]
    return last.join(first).assign(near=near).reset_index()

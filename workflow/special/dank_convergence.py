"""Figure 4 of Liu et al. (JMLR 2020): how fast each method reaches the optimum."""

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from adakern.dank import DANKClassifier
from adakern_bench.report.sweep import plot_lines
from shared import fit_quietly, tuned

METHODS = ("newton", "accelerated", "nesterov", "projected-gradient")
QUANTITIES = ("distance", "gap", "step")


def compute(data, seed, *, methods=METHODS, max_iter=2000, tau=0.01, tol=1e-6):
    """Objective, gap and step length of each method, by iteration."""
    X, y = data.X_train, data.y_train
    svm = tuned(SVC(), X, y)
    frames = []
    for method in methods:
        given = {"method": method, "max_iter": max_iter, "tau": tau, "tol": tol}
        model = DANKClassifier(C=svm.C, gamma=svm.gamma, **given)
        frame = pd.DataFrame(fit_quietly(model, X, y).history_)
        frame["seconds"] = frame["seconds"].cumsum()
        frame["gap"] /= frame["objective"].abs()
        frame.insert(0, "method", method)
        frame.insert(1, "iteration", np.arange(len(frame)))
        frames.append(frame)
    frame = pd.concat(frames, ignore_index=True)
    best = frame["objective"].max()
    return frame.assign(distance=(best - frame["objective"]) / abs(best))


def plot(frame):
    """Distance to the best objective, relative gap and step length by iteration."""
    return plot_lines(frame, "iteration", QUANTITIES, "method", log=QUANTITIES)


def table(frame, *, near=1e-4):
    """What each method reached, and when it was within `near` of the best objective."""
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

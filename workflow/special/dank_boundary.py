"""Figures 1 and 2 of Liu et al. (JMLR 2020): the boundary and the entries of F."""

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from adakern.dank import DANKClassifier
from plane import accuracies, decision_values, draw_boundaries, draw_matrix, matrix_entries
from shared import axes_grid, fit_quietly, tuned

STYLES = {"svm": "--", "dank": "-"}


def compute(data, seed, *, gammas=(0.5,), multiple=None, n_grid=80):
    """Decision values of the SVM and of DANK over the plane, and F."""
    X, y = data.X_train, data.y_train
    best = tuned(SVC(), X, y)
    frames = []
    for gamma in gammas:
        width = best.gamma if gamma == "cv" else gamma
        svm = SVC(C=best.C, gamma=width).fit(X, y)
        eta = "svm" if multiple is None else multiple * svm.C**2
        dank = fit_quietly(
            DANKClassifier(C=svm.C, gamma=width, eta=eta, extension="reciprocal"), X, y
        )
        F = dank.adaptive_factor_ @ dank.adaptive_factor_.T
        parts = [
            decision_values({"svm": svm, "dank": dank}, data, n_grid),
            matrix_entries(F, y, kind="factor", model="dank"),
        ]
        frames += [part.assign(gamma=width, rank=dank.rank_) for part in parts]
    return pd.concat(frames, ignore_index=True)


def plot(frame):
    """One row for each data set and kernel width: both boundaries, and F."""
    groups = frame.groupby(["dataset", "gamma"], sort=False)
    figure, axes = axes_grid(len(groups), 2)
    for (plane, heat), ((dataset, gamma), part) in zip(np.atleast_2d(axes), groups, strict=True):
        draw_boundaries(plane, part, STYLES)
        plane.set_title(f"{dataset}, gamma = {gamma:.3g}; -- SVM, — DANK")
        draw_matrix(figure, heat, part, kind="factor", model="dank")
        heat.set_title(f"F, rows sorted by class; rank {part['rank'].iloc[0]}")
    return figure


def table(frame):
    """Rank of F and accuracies, for each kernel width."""
    return pd.DataFrame(
        [
            {"dataset": dataset, "gamma": gamma, "rank": part["rank"].iloc[0]}
            | accuracies(part, STYLES)
            for (dataset, gamma), part in frame.groupby(["dataset", "gamma"], sort=False)
        ]
    )

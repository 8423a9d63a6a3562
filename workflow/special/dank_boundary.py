"""Figures 1 and 2 of Liu et al. (JMLR 2020): the boundary and the entries of F."""

import pandas as pd
from sklearn.svm import SVC

from adakern.dank import DANKClassifier
from plane import over_plane, plot_boundaries, table_of_accuracies
from shared import fit_quietly, tuned

#: Columns that tell one pair of boundaries from another.
KEYS = ["dataset", "gamma", "rank"]


def compute(data, seed, *, gammas=(0.5,), multiple=None, n_grid=80):
    """Decision values of the SVM and of DANK over the plane, and F."""
    X = data.X_train
    y = data.y_train
    best = tuned(SVC(), X, y)
    frames = []
    for gamma in gammas:
        width = best.gamma if gamma == "cv" else gamma
        svm = SVC(C=best.C, gamma=width).fit(X, y)
        eta = "svm" if multiple is None else multiple * svm.C**2
        dank = DANKClassifier(C=svm.C, gamma=width, eta=eta, extension="reciprocal")
        fit_quietly(dank, X, y)
        F = dank.adaptive_factor_ @ dank.adaptive_factor_.T
        frame = over_plane({"svm": svm, "dank": dank}, F, data, n_grid)
        frames.append(frame.assign(gamma=width, rank=dank.rank_))
    return pd.concat(frames, ignore_index=True)


def plot(frame):
    """Plot both boundaries and F, with a row per data set and kernel width."""
    return plot_boundaries(frame, KEYS, "dank", "F")


def table(frame):
    """Rank of F and accuracies of both classifiers for each kernel width."""
    return table_of_accuracies(frame, KEYS, "dank")

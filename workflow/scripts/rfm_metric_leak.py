"""What a metric learned on half of all rows is worth to recursive feature machines.

Radhakrishnan et al. (Science 383, 2024) compare on the sets of the comparison of 2014.
One half of all rows, judged on the other, chooses ridge, normalisation and number of
steps, and gives the metric; with these four folds are predicted, whose test rows and
labels the metric has seen. Here the same is done once more inside each training part:
two thirds of it, as many rows as half of all, judged on the other third.
"""

import numpy as np
import pandas as pd
from scipy.linalg import solve
from scipy.spatial.distance import cdist
from scipy.stats import wilcoxon
from sklearn.model_selection import KFold, train_test_split

from shared import axes_grid

#: The authors' grid and bandwidth.
RIDGES = (10, 1, 0.1, 1e-2, 1e-3)
N_METRICS = 5
BANDWIDTH = 10.0

#: Where the metric comes from: all rows, or the training rows of the fold.
PROTOCOLS = ("published", "nested")


def compute(data, seed, *, ridges=RIDGES):
    """Accuracy on four folds, the metric from all rows or from training rows.

    Parameters
    ----------
    data : adakern.bench.stages.prepare.Prepared
        Its two parts are put together: folds are drawn here.
    seed : int
        Of folds and halves.
    ridges : sequence of float
        The authors' by default.

    Returns
    -------
    pandas.DataFrame
        Columns: protocol, fold, accuracy.
    """
    X = np.vstack([data.X_train, data.X_test])
    y = np.concatenate([data.y_train, data.y_test])
    targets = np.eye(len(np.unique(y)))[np.unique(y, return_inverse=True)[1]]
    of_all = chosen(X, targets, ridges, 1 / 2, seed)
    records = []
    for fold, (train, test) in enumerate(
        KFold(4, shuffle=True, random_state=seed).split(X)
    ):
        nested = chosen(X[train], targets[train], ridges, 1 / 3, seed)
        for protocol, choice in zip(PROTOCOLS, (of_all, nested), strict=True):
            answer = predictions(X[train], targets[train], X[test], **choice)
            hits = answer.argmax(axis=1) == targets[test].argmax(axis=1)
            records.append(
                {"protocol": protocol, "fold": fold, "accuracy": hits.mean()}
            )
    return pd.DataFrame(records)


def chosen(X, targets, ridges, share, seed):
    """Ridge, normalisation and metric that predict this share of the rows best."""
    rows = np.arange(len(X))
    train, test = train_test_split(rows, test_size=share, random_state=seed)
    best, choice = -1.0, None
    for normalise in (True, False):
        for ridge in ridges:
            metric = np.eye(X.shape[1])
            for _ in range(N_METRICS):
                point = {"ridge": ridge, "normalise": normalise, "metric": metric}
                answer = predictions(X[train], targets[train], X[test], **point)
                hits = answer.argmax(axis=1) == targets[test].argmax(axis=1)
                if hits.mean() > best:
                    best, choice = hits.mean(), point
                metric = next_metric(X[train], targets[train], **point)
    return choice


def predictions(X, targets, X_new, *, ridge, normalise, metric):
    """Kernel ridge regression with exp(-|x - z|_M / bandwidth)."""
    if normalise:
        X, X_new = on_the_sphere(X), on_the_sphere(X_new)
    root = square_root(metric)
    return kernel(X_new @ root, X @ root) @ coefficients(X @ root, targets, ridge)


def next_metric(X, targets, *, ridge, normalise, metric):
    """The average gradient outer product of the predictor, at its training rows.

    With d = |x - z|_M a coefficient a of the row z adds
    ``-a k(x, z) / (bandwidth d) M (x - z)`` to the gradient at x.
    """
    if normalise:
        X = on_the_sphere(X)
    Z = X @ square_root(metric)
    dual, D = coefficients(Z, targets, ridge), cdist(Z, Z)
    W = np.divide(np.exp(-D / BANDWIDTH), D, out=np.zeros_like(D), where=D > 1e-10)
    outer = np.zeros_like(metric)
    for a in dual.T:
        V = ((W @ a)[:, None] * X - W @ (a[:, None] * X)) @ metric / BANDWIDTH
        outer += V.T @ V
    return outer / len(X)


def coefficients(Z, targets, ridge):
    """Of ridge regression on each indicator."""
    return solve(kernel(Z, Z) + ridge * np.eye(len(Z)), targets, assume_a="pos")


def kernel(A, B):
    """The Laplacian kernel of rows that the metric's root has transformed."""
    return np.exp(-cdist(A, B) / BANDWIDTH)


def square_root(metric):
    """R with R R' = M."""
    values, vectors = np.linalg.eigh(metric)
    return vectors * np.sqrt(np.maximum(values, 0))


def on_the_sphere(X):
    """Rows of length one; those of zeros stay."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


def plot(frame):
    """Each set's accuracy with one metric over that with the other."""
    means = table(frame)
    difference = means["difference"]
    p_value = wilcoxon(difference).pvalue if difference.any() else 1.0
    figure, ax = axes_grid(1, 1, width=5, height=5)
    ax.axline((0.5, 0.5), slope=1, color="0.7", lw=1)
    ax.plot(means["nested"], means["published"], "o", ms=4, alpha=0.7)
    ax.set(
        xlabel="accuracy, metric of two thirds of the training rows",
        ylabel="accuracy, metric of half of all rows",
        title=f"{100 * difference.mean():+.2f} points; better on "
        f"{(difference > 0).sum()} sets, worse on {(difference < 0).sum()} "
        f"(p = {p_value:.2g})",
    )
    return figure


def table(frame):
    """Means over folds of each set, and what the metric of all rows adds."""
    means = frame.pivot_table("accuracy", "dataset", "protocol")[list(PROTOCOLS)]
    means["difference"] = means["published"] - means["nested"]
    return means.sort_values("difference", ascending=False).reset_index()

"""Which training rows are support data: at the start, and as they grow."""

import numpy as np

__all__ = ["SUPPORT_RULES", "distinct", "initial_support", "largest_errors"]

SUPPORT_RULES = ("ranks", "random", "kmeans")


def distinct(X, rows):
    """The entries of ``rows`` whose row of X occurs for the first time."""
    _, first = np.unique(X[rows], axis=0, return_index=True)
    return rows[np.sort(first)]


def initial_support(X, y, rows, size, rule, rng):
    """Choose ``size`` different entries of ``rows``."""
    if size >= len(rows):
        return rows
    if rule == "random":
        return rng.choice(rows, size, replace=False)
    if rule == "ranks":
        by_target = rows[np.argsort(y[rows], kind="stable")]
        return by_target[np.linspace(0, len(rows) - 1, size).round().astype(int)]
    from sklearn.cluster import KMeans  # slow to import, and rarely wanted

    seed = int(rng.integers(2**31))
    clusters = KMeans(size, n_init=1, max_iter=20, random_state=seed).fit(X[rows])
    chosen = np.unique(clusters.transform(X[rows]).argmin(axis=0))
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    filling = rng.choice(others, size - len(chosen), replace=False)
    return rows[np.concatenate([chosen, filling])]


def largest_errors(errors, rows, size):
    """The ``size`` entries of ``rows`` with the largest errors, ties in row order."""
    return rows[np.argsort(-errors, kind="stable")[:size]]

"""Rows that count several times."""

import numpy as np
from sklearn.utils.validation import _check_sample_weight


def distinct_rows(X, y, sample_weight=None):
    """Indices of the rows to learn from, and the weight of each, None for all ones.

    A weight is a repeated row: equal rows with equal targets are one, with the sum of
    their weights, and rows of weight zero are left out. Where rows are joined or
    weighted their order follows from their values, so that weights and repeats give the
    same numbers to the last digit.
    """
    n = len(X)
    weights = np.ones(n)
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():
            raise ValueError(
                "sample_weight holds zeros only, so that no row is left; give at least "
                "one positive weight"
            )
    _, targets = np.unique(y, return_inverse=True)
    rows = np.column_stack([np.asarray(X, dtype=np.float64), targets]) + 0.0
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if len(first) == n and (weights == 1).all():
        return np.arange(n), None
    total = np.bincount(np.ravel(group), weights=weights)
    kept = total > 0
    return first[kept], total[kept]

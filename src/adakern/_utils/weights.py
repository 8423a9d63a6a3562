"""Sample weights as numbers of repetitions."""

import numpy as np
from sklearn.utils.validation import _check_sample_weight


def distinct_rows(X, y, sample_weight=None):
    """Return the indices of the rows to fit, and their weights (None if all are 1).

    A weight is equivalent to repeating a row. Equal rows with equal targets are merged
    and their weights added; rows of weight zero are left out. If rows are merged or
    weighted, they are sorted by their values, so that weighted and repeated rows give
    the same result to the last digit.
    """
    n = len(X)
    weights = np.ones(n)
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():
            raise ValueError(
                "sample_weight must have at least one positive weight, got only zeros"
            )
    _, targets = np.unique(y, return_inverse=True)
    once = (weights == 1).all()
    if once and len(np.unique(_hashes(X, targets))) == n:
        return np.arange(n), None
    rows = np.column_stack([np.asarray(X, dtype=np.float64), targets]) + 0.0
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if once and len(first) == n:
        return np.arange(n), None
    total = np.bincount(np.ravel(group), weights=weights)
    kept = total > 0
    return first[kept], total[kept]


def _hashes(X, targets):
    """Hash of each row, computed column by column."""
    numbers = targets.astype(np.uint64)
    for column in X.T:
        exact = np.ascontiguousarray(column, dtype=np.float64) + 0.0
        numbers = (numbers ^ exact.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        numbers ^= numbers >> np.uint64(29)
    return numbers

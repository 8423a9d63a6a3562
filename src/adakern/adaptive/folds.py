"""Rows in an order of their own, their repetitions merged, and folds of them."""

import numpy as np

from adakern.adaptive.parts import Table

__all__ = ["assign_folds", "make_table", "merge_repetitions"]


def make_table(X, Y, weights, counts, n_folds, rng):
    """The table of different rows in folds, and the place in it of each row of X."""
    classify = Y.shape[1] > 1
    y = Y.argmax(axis=1) if classify else Y[:, 0]
    rows, total, position, group = merge_repetitions(X, y, weights)
    n_folds = min(n_folds, group[-1] + 1)
    fold = assign_folds(group, n_folds, rng, y[rows] if classify else None)
    used = position >= 0
    table = Table(
        X[rows],
        Y[rows],
        total * len(total) / total.sum(),
        fold,
        group,
        np.bincount(position[used], counts[used]),
    )
    return table, position


def merge_repetitions(X, y, weights):
    """Each different pair of a row and its target once, in a fixed order.

    What is learned then depends neither on the order of the rows nor on whether a row
    is repeated or has a larger weight. Rows of weight zero are left out.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        May hold NaN.
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,)

    Returns
    -------
    rows : ndarray of shape (m,)
        Indices into X of the rows that stay.
    total : ndarray of shape (m,)
        Their summed weights.
    position : ndarray of shape (n,)
        For each row of X the place in ``rows`` of its equal; -1 for weight zero.
    group : ndarray of shape (m,)
        Equal for rows that differ in the target alone.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.folds import merge_repetitions
    >>> X, y = np.array([[2.0], [1.0], [2.0]]), np.array([5.0, 5.0, 5.0])
    >>> rows, total, position, group = merge_repetitions(X, y, np.ones(3))
    >>> total, position
    (array([1., 2.]), array([1, 0, 1]))
    """
    used = np.flatnonzero(weights > 0)
    order = used[np.lexsort((y[used], *X[used].T[::-1]))]
    before, after = X[order[:-1]], X[order[1:]]
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    new_group = np.append(True, ~same.all(axis=1))
    new_row = new_group.copy()
    new_row[1:] |= y[order[1:]] != y[order[:-1]]
    place = np.cumsum(new_row) - 1
    position = np.full(len(X), -1)
    position[order] = place
    return (
        order[new_row],
        np.bincount(place, weights[order]),
        position,
        (np.cumsum(new_group) - 1)[new_row],
    )


def assign_folds(group, n_folds, rng, stratum=None):
    """The fold of each row; a group lies in one fold.

    Groups are shuffled and dealt out like cards, within a stratum after another.

    Parameters
    ----------
    group : ndarray of shape (n,)
        Rising from 0 without gaps.
    n_folds : int
    rng : numpy.random.RandomState
    stratum : ndarray of shape (n,), default=None
        Codes of classes, to be dealt evenly; a group belongs to that of its first row.

    Returns
    -------
    ndarray of shape (n,)
        Values in 0, ..., n_folds - 1.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.folds import assign_folds
    >>> fold = assign_folds(np.array([0, 0, 1, 2]), 3, np.random.RandomState(0))
    >>> bool(fold[0] == fold[1]), sorted(set(fold.tolist()))
    (True, [0, 1, 2])
    """
    _, first = np.unique(group, return_index=True)
    shuffled = rng.permutation(len(first))
    if stratum is not None:
        shuffled = shuffled[np.argsort(stratum[first[shuffled]], kind="stable")]
    fold_of_group = np.empty(len(first), dtype=int)
    fold_of_group[shuffled] = np.arange(len(first)) % n_folds
    return fold_of_group[group]

"""Rows of a fit, with equal rows merged and folds assigned."""

from dataclasses import dataclass, replace

import numpy as np

#: A cell (rows with the same features) is full from this number of rows on. Its rows
#: are assumed to be different cases rather than one case entered repeatedly, and are
#: distributed over all folds.
FULL_CELL = 10

#: Relative weight below which a row does not affect any sum; such rows are left out.
LEAST_WEIGHT = np.finfo(float).eps


@dataclass
class Table:
    """Rows X (n, d), targets or class indicators Y (n, k), weights and folds (n,).

    Rows of fold -1 are never left out. Rows with the same features have the same
    ``cell``. ``counts`` and ``mass`` are the number of merged rows, and their total
    weight. ``alone`` tells whether predictions for a row without its cell are
    representative of new rows. If rows are ``in_time_order``, each fold is predicted
    only from earlier ones. ``means`` (n, n_folds, m) are the target encodings, the last
    columns of X, as computed without each fold. Columns with the same number in
    ``groups`` share a scale of kernels, if X is in the view for these.
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    fold: np.ndarray
    cell: np.ndarray
    counts: np.ndarray
    mass: np.ndarray
    alone: np.ndarray
    in_time_order: bool = False
    means: np.ndarray | None = None
    groups: tuple | None = None

    @property
    def n_folds(self):
        """Number of folds; 1 if there are too few rows to leave any out."""
        return int(self.fold.max()) + 1

    def without(self, k):
        """Return X with the target encodings computed without fold k."""
        if self.means is None:
            return self.X
        return np.hstack([self.X[:, : self.n_columns], self.means[:, k]])

    @property
    def n_columns(self):
        """Number of columns of X without the target encodings."""
        return self.X.shape[1] - (0 if self.means is None else self.means.shape[2])

    @property
    def learns_all(self):
        """Whether the final model is fitted to all rows, including left-out ones."""
        return self.n_folds > 1 or self.in_time_order

    def known(self, k):
        """Mask of the rows to which members that predict fold k are fitted."""
        return self.fold < k if self.in_time_order else self.fold != k

    def take(self, rows):
        """Restrict the table to some rows."""
        whole = vars(self).items()
        arrays = {k: v[rows] for k, v in whole if isinstance(v, np.ndarray)}
        return replace(self, **arrays)

    def subsample(self, rng, n_learned, n_judged):
        """Draw rows of a fold to evaluate (fold 0), and other rows to fit (fold -1)."""
        k = self.n_folds - 1 if self.in_time_order else 0
        parts = [
            rng.permutation(np.flatnonzero(rows))[:most]
            for rows, most in ((self.known(k), n_learned), (self.fold == k, n_judged))
        ]
        part = self.take(np.sort(np.concatenate(parts)))
        fold = np.where(part.fold == k, 0, -1)
        means = None if part.means is None else part.means[:, [k]]
        return replace(part, fold=fold, means=means, in_time_order=False)

    def gather(self, parts):
        """Join the values of the folds in the order of the rows, without fold -1."""
        values = np.empty(self.Y.shape)
        for k, part in enumerate(parts):
            values[self.fold == k] = part
        return values[self.fold >= 0]

    @property
    def left_out(self):
        """The table of the rows that are in a fold, in order."""
        return self.take(self.fold >= 0)


def make_table(X, Y, weights, n_folds, rng, groups=None, blocks=None, classify=False):
    """Return the table of the rows X (n, d), and the position of each row in it.

    Repeated rows with the same target are merged, and all rows of a cell are in the
    same fold. The model thus depends neither on the order of the rows nor on how often
    each was entered. If a cell is full, its rows are not merged and are distributed
    over the folds, so that the cell is in each of them. If there are hardly more cells
    than folds, one row per fold is enough for a full cell.

    Rows of negligible weight are left out, with position -1. With ``groups`` (codes
    from 0), all rows of a group are in the same fold. With ``blocks`` (codes from 0),
    the first block is never left out, and the others are the folds.
    """
    targets = Y.argmax(axis=1)[:, None] if classify else Y
    given = groups if groups is not None else blocks
    given = np.zeros(len(X), dtype=int) if given is None else given.astype(int)
    used = np.flatnonzero(weights > LEAST_WEIGHT * weights.max())
    keys = (*targets[used].T[::-1], *X[used].T[::-1], given[used])
    order = used[np.lexsort(keys)]
    X, Y, targets, given, w = (
        values[order] for values in (X, Y, targets, given, weights)
    )
    w = w / w.max()  # so that squares can be summed without overflow
    new_cell = np.append(True, ~same_as_next(X) | (given[:-1] != given[1:]))
    new_pair = new_cell.copy()
    new_pair[1:] |= ~same_as_next(targets)
    cell = np.cumsum(new_cell) - 1
    pair = np.cumsum(new_pair) - 1
    if blocks is not None:
        full = np.zeros(len(cell), dtype=bool)
        fold = given - 1
    else:
        full, unit = _units(new_cell, None if groups is None else given, n_folds)
        n_folds = min(n_folds, unit.max() + 1)
        fold = assign_folds(unit, n_folds, rng, targets[:, 0] if classify else None)
    # Equal rows and targets in different folds are not merged.
    _, first, place = np.unique(
        pair * (n_folds + 1) + fold, return_index=True, return_inverse=True
    )
    total = np.bincount(place, w)
    counts = np.bincount(place)
    squares = np.where(full[first], np.bincount(place, w**2), total**2)
    position = np.full(len(weights), -1)
    position[order] = place
    table = Table(
        X[first],
        Y[first],
        # Scaled to sum to Kish's effective sample size: equal weights become 1.
        total * (total.sum() / squares.sum()),
        fold[first],
        cell[first],
        counts,
        total * (w.sum() / np.sum(w**2)),
        ~full[first] & (groups is None and blocks is None),
    )
    return table, position


def _units(new_cell, groups, n_folds):
    """Return whether each row's cell is full, and the unit that is kept in one fold.

    The unit is the group, if there are groups. Otherwise it is the cell, or the single
    row if the cell is full.
    """
    cell = np.cumsum(new_cell) - 1
    if groups is not None:
        return np.zeros(len(cell), bool), np.unique(groups, return_inverse=True)[1]
    # With few cells, leaving a whole cell out would leave too little to learn from.
    few = new_cell.sum() <= 2 * n_folds
    full = np.bincount(cell)[cell] >= (n_folds if few else max(FULL_CELL, 2 * n_folds))
    return full, np.cumsum(new_cell | np.append(False, full[1:])) - 1


def same_as_next(A):
    """Whether each row but the last equals the next; missing values are equal."""
    return ((A[:-1] == A[1:]) | (np.isnan(A[:-1]) & np.isnan(A[1:]))).all(axis=1)


def assign_folds(unit, n_folds, rng, stratum=None):
    """Assign a fold to each row, such that rows of a unit are in the same fold.

    Units (increasing numbers from 0) are shuffled and assigned to the folds in turn.
    With ``stratum``, class codes, this is done for one class after another; the class
    of a unit is that of its first row.
    """
    _, first = np.unique(unit, return_index=True)
    shuffled = rng.permutation(len(first))
    if stratum is not None:
        shuffled = shuffled[np.argsort(stratum[first[shuffled]], kind="stable")]
    fold_of_unit = np.empty(len(first), dtype=int)
    fold_of_unit[shuffled] = np.arange(len(first)) % n_folds
    return fold_of_unit[unit]

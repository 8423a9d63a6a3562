"""Rows of a fit: equal ones merged, and each in a fold."""

from dataclasses import dataclass, replace

import numpy as np

#: A cell (rows with the same features) of so many rows is full: its rows are no case
#: entered again, but cases of one kind, of which every fold should have some.
FULL_CELL = 10

#: Parts of the greatest weight that no sum would notice; such rows are left out.
LEAST_WEIGHT = np.finfo(float).eps


@dataclass
class Table:
    """Rows X (n, d), targets or class indicators Y (n, k), weights and folds (n,).

    Rows of fold -1 are never left out. ``cell`` is the same number for rows with the
    same features, ``counts`` and ``mass`` are how often each occurs with its target and
    the weight of these together; ``alone`` says whether what is predicted for a row
    without its cell tells what is predicted for new rows. Where rows are
    ``in_time_order`` a fold is later than those before it, and learns from these alone.
    ``means`` (n, n_folds, m) are the last columns of X, the means of categories, by who
    predicts each fold.
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

    @property
    def n_folds(self):
        """Number of folds, 1 if there are too few rows to leave any out."""
        return int(self.fold.max()) + 1

    def without(self, k):
        """The rows as they look to who predicts fold k."""
        if self.means is None:
            return self.X
        return np.hstack([self.X[:, : self.n_columns], self.means[:, k]])

    @property
    def n_columns(self):
        """How many columns X has but for the means."""
        return self.X.shape[1] - (0 if self.means is None else self.means.shape[2])

    @property
    def learns_all(self):
        """Whether what predicts learns from all rows, those that are left out too."""
        return self.n_folds > 1 or self.in_time_order

    def known(self, k):
        """The rows that members learn from to predict fold k, boolean."""
        return self.fold < k if self.in_time_order else self.fold != k

    def take(self, rows):
        """The table of these rows."""
        whole = vars(self).items()
        arrays = {k: v[rows] for k, v in whole if isinstance(v, np.ndarray)}
        return replace(self, **arrays)

    def subsample(self, rng, n_learned, n_judged):
        """So many rows: fold 0, drawn from one fold, and the others, of fold -1."""
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
        """Values for the rows of each fold as one array, rows of no fold left out."""
        values = np.empty(self.Y.shape)
        for k, part in enumerate(parts):
            values[self.fold == k] = part
        return values[self.fold >= 0]

    @property
    def left_out(self):
        """The rows that are in a fold, in order."""
        return self.take(self.fold >= 0)


def varies(A):
    """Whether any column of A holds two different values; a missing value is one."""
    first = A[:1]
    same = (first == A) | (np.isnan(first) & np.isnan(A))
    return not same.all()


def make_table(
    X, Y, weights, n_folds, rng, *, groups=None, blocks=None, classify=False
):
    """The table of the rows X (n, d), and the place in it of each of them.

    A row and its target that occur several times become one row, and all rows of a
    cell lie in one fold: what is learned depends neither on the order of the rows nor
    on how often each was entered. Where a cell is full its rows count each for itself
    and are dealt out over the folds, so that none lacks the cell; where there are
    hardly more cells than folds, a row for each fold makes it full.

    Rows of next to no weight are left out; their place is -1. With ``groups`` (codes
    from 0) a group lies in one fold. With ``blocks`` (codes from 0) the first is always
    learned from, and the others are the folds.
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
    w = w / w.max()  # whose squares can be summed up
    new_cell = np.append(True, ~_same_as_next(X) | (given[:-1] != given[1:]))
    new_pair = new_cell.copy()
    new_pair[1:] |= ~_same_as_next(targets)
    cell = np.cumsum(new_cell) - 1
    pair = np.cumsum(new_pair) - 1
    if blocks is not None:
        full = np.zeros(len(cell), dtype=bool)
        fold = given - 1
    else:
        full, unit = _units(new_cell, None if groups is None else given, n_folds)
        n_folds = min(n_folds, unit.max() + 1)
        fold = assign_folds(unit, n_folds, rng, targets[:, 0] if classify else None)
    # Rows of one pair in different folds stay apart.
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
        # As many rows as they are worth by Kish: equal weights are all 1.
        total * (total.sum() / squares.sum()),
        fold[first],
        cell[first],
        counts,
        total * (w.sum() / np.sum(w**2)),
        ~full[first] & (groups is None and blocks is None),
    )
    return table, position


def _units(new_cell, groups, n_folds):
    """Whether the cell of each row is full, and the unit that lies in one fold: a
    group, or else a cell, but of a full cell each row.
    """
    cell = np.cumsum(new_cell) - 1
    if groups is not None:
        return np.zeros(len(cell), bool), np.unique(groups, return_inverse=True)[1]
    # Without one of few cells little is left to learn from.
    few = new_cell.sum() <= 2 * n_folds
    full = np.bincount(cell)[cell] >= (n_folds if few else max(FULL_CELL, 2 * n_folds))
    return full, np.cumsum(new_cell | np.append(False, full[1:])) - 1


def _same_as_next(A):
    """Whether each row but the last equals the next; a missing value is one."""
    return ((A[:-1] == A[1:]) | (np.isnan(A[:-1]) & np.isnan(A[1:]))).all(axis=1)


def assign_folds(unit, n_folds, rng, stratum=None):
    """The fold of each row, those of a unit (numbers rising from 0) in one fold.

    Units are shuffled and dealt out like cards; with ``stratum``, codes of classes,
    one class after another, where a unit belongs to that of its first row.
    """
    _, first = np.unique(unit, return_index=True)
    shuffled = rng.permutation(len(first))
    if stratum is not None:
        shuffled = shuffled[np.argsort(stratum[first[shuffled]], kind="stable")]
    fold_of_unit = np.empty(len(first), dtype=int)
    fold_of_unit[shuffled] = np.arange(len(first)) % n_folds
    return fold_of_unit[unit]

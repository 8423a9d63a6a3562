"""The table that a fit learns from: rows in an order of their own, merged, in folds."""

from dataclasses import dataclass

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
    without its cell tells what is predicted for new rows.
    """

    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray
    fold: np.ndarray
    cell: np.ndarray
    counts: np.ndarray
    mass: np.ndarray
    alone: np.ndarray

    @property
    def n_folds(self):
        """Number of folds, 1 if there are too few rows to leave any out."""
        return int(self.fold.max()) + 1

    def take(self, rows):
        """The table of these rows."""
        return Table(*(values[rows] for values in vars(self).values()))

    @property
    def left_out(self):
        """The rows that are in a fold, in order."""
        return self.take(self.fold >= 0)


def make_table(X, Y, weights, n_folds, rng, *, groups=None, validation=None):
    """The table of the rows X (n, d), and the place in it of each of them.

    A row and its target that occur several times become one row, and all rows of a
    cell lie in one fold: what is learned depends neither on the order of the rows nor
    on how often each was entered. Where a cell is full its rows count each for itself
    and are dealt out over the folds, so that none lacks the cell; where there are
    hardly more cells than folds, a row for each fold makes it full.

    Rows of next to no weight are left out; their place is -1. With ``groups`` (codes
    from 0) a group lies in one fold. Rows of ``validation`` (boolean) are the only
    fold, the others are learned from.
    """
    classify = Y.shape[1] > 1
    y = Y.argmax(axis=1) if classify else Y[:, 0]
    given = groups if groups is not None else validation
    given = np.zeros(len(X), dtype=int) if given is None else given.astype(int)
    used = np.flatnonzero(weights > LEAST_WEIGHT * weights.max())
    order = used[np.lexsort((y[used], *X[used].T[::-1], given[used]))]
    X, Y, y, given, w = X[order], Y[order], y[order], given[order], weights[order]
    w = w / w.max()  # whose squares can be summed up
    new_cell = np.append(True, ~same_rows(X[:-1], X[1:]) | (given[:-1] != given[1:]))
    new_pair = new_cell.copy()
    new_pair[1:] |= y[1:] != y[:-1]
    cell, pair = np.cumsum(new_cell) - 1, np.cumsum(new_pair) - 1
    few = (
        new_cell.sum() <= 2 * n_folds
    )  # without one of them little is left to learn from
    full = np.bincount(cell)[cell] >= (n_folds if few else max(FULL_CELL, 2 * n_folds))
    if validation is not None:
        full[:], fold = False, np.where(given, 0, -1)
    else:
        unit = cell
        if groups is not None:
            full[:], unit = False, np.unique(given, return_inverse=True)[1]
        elif full.any():
            unit = np.cumsum(new_cell | np.append(False, full[1:])) - 1
        n_folds = min(n_folds, unit.max() + 1)
        fold = assign_folds(unit, n_folds, rng, y if classify else None)
    # Rows of one pair in different folds stay apart.
    _, first, place = np.unique(
        pair * (n_folds + 1) + fold, return_index=True, return_inverse=True
    )
    total, counts = np.bincount(place, w), np.bincount(place)
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
        ~full[first] & (groups is None),
    )
    return table, position


def same_rows(A, B):
    """Whether the rows of A and B are equal, one by one; missing values are equal."""
    return ((A == B) | (np.isnan(A) & np.isnan(B))).all(axis=1)


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

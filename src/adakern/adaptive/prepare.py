"""The first step of a fit: what was given, read, checked, merged and put in folds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array, check_consistent_length, validation
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_X_y,
)

from adakern._utils.arrays import from_foreign, is_dask
from adakern._utils.warn import warn_user
from adakern.adaptive.many_rows import AllRows, in_memory
from adakern.adaptive.members.base import Setting, Shape
from adakern.adaptive.views import KernelView, TreeView
from adakern.tables.columns import (
    TableReader,
    as_columns,
    declared_categorical,
    in_order_of,
)

#: A cell (rows with the same features) of so many rows is full: its rows are no case
#: entered again, but cases of one kind, of which every fold should have some.
FULL_CELL = 10

#: Up to so many classes or targets have columns of the means of categories.
MOST_TARGETS = 10

#: Parts of the rows by which these means are learned where folds are two or one.
PARTS_OF_FEW_FOLDS = 5

#: Part of the rows, the earliest, that are never left out where rows have a time, and
#: the part that each block of later ones has: intervals hold for about as long a time.
EARLIEST, BLOCK = 0.4, 0.2

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


@dataclass
class Problem:
    """What a fit learns from, and how.

    Attributes
    ----------
    table : Table
    views : dict or None
        Fitted views of the rows by their class; None if there is nothing to learn from.
    reader : TableReader
    blend : WeightedMean or Mixture
        Not yet fitted; it encodes the targets, and knows their loss.
    setting : Setting
    shape : Shape
        Of the rows as they were given.
    position : ndarray of int
        The place of each row that was given among those that are in a fold, -1 for
        weight zero and rows outside of a sample; of X_val's rows where these are given.
    origin : ndarray of int
        The number of the first given row (those of X_val follow on X's) that each row
        of the table stands for.
    ungrouped : bool
        Whether what is predicted without a fold tells of rows like those in it.
    refit : callable
        Gives members that stand on centres the coefficients of all rows, where the
        table is a sample of them.
    """

    table: Table
    views: dict | None
    reader: TableReader
    blend: Any
    setting: Setting
    shape: Shape
    position: np.ndarray
    origin: np.ndarray
    ungrouped: bool
    refit: Callable

    @property
    def seen(self):
        """The shape of the rows that members learn from, of which equals are merged."""
        return Shape(*self.table.X.shape, self.table.Y.shape[1], self.table.n_folds)


def prepare(
    estimator,
    X,
    y,
    sample_weight=None,
    groups=None,
    X_val=None,
    y_val=None,
    time=None,
    *,
    rng,
    deadline=np.inf,
):
    """The :class:`Problem` of an estimator for what its ``fit`` is given."""
    all_rows = held_out = None
    if not is_classifier(estimator):
        estimator.targets_ = target_names(y)
    if is_dask(X) or _num_samples(X) > estimator.max_rows:
        y = _targets_of_all(estimator, y)
        all_rows = AllRows(estimator, X, y, sample_weight, rng)
        X, y, sample_weight, groups, time = all_rows.drawn(groups, time)
    rows, y, categorical = validated(estimator, X, y)
    blend = estimator._unfitted_blend(y)
    weights = _row_weights(estimator, rows, y, sample_weight)
    reader = _fitted_reader(estimator, rows, categorical)
    rows, Y = reader.transform(rows), blend.encode(y)
    pair = np.sort(Y.sum(axis=0))[-2:].sum() if blend.classify else len(Y)
    shape = Shape(*rows.shape, Y.shape[1], estimator.n_folds, pair)
    blocks = None if time is None else time_blocks(time, weights)
    if X_val is not None or y_val is not None:
        new = _validation_rows(estimator, X_val, y_val, reader, blend, weights.max())
        held_out = blocks = np.repeat([False, True], [len(rows), len(new[0])])
        pairs = zip((rows, Y, weights), new, strict=True)
        rows, Y, weights = map(np.concatenate, pairs)
    groups = None if groups is None else _group_codes(groups, weights)
    dealt = {"groups": groups, "blocks": blocks, "classify": blend.classify}
    table, position = make_table(rows, Y, weights, estimator.n_folds, rng, **dealt)
    table.in_time_order = blocks is not None and held_out is None
    blend, table.Y = blend.standardised(table)
    _add_means(table, reader, blend.classify)
    is_fast, is_categorical = estimator.preset == "fast", reader.is_categorical
    return Problem(
        table,
        _fitted_views(table, is_categorical),
        reader,
        blend,
        Setting(blend.classify, is_fast, estimator.max_support, is_categorical),
        shape,
        _places_left_out(position, table, held_out, all_rows),
        _origin(position, table, all_rows),
        groups is None and blocks is None,
        _refit(estimator, all_rows, reader, blend, deadline),
    )


def _refit(estimator, all_rows, reader, blend, deadline):
    """:attr:`Problem.refit`, which leaves members as they are where no row is left."""
    if all_rows is None:
        return list
    read = partial(read_rows, estimator, reader)
    return partial(all_rows.refit, read, blend.encode, deadline)


def _origin(position, table, all_rows):
    """:attr:`Problem.origin` from the places of the rows in the table."""
    given = np.flatnonzero(position >= 0)[::-1]
    origin = np.empty(len(table.X), dtype=int)
    origin[position[given]] = given  # of several the first is set last
    if all_rows is None:
        return origin
    n_held_out = len(position) - len(all_rows.sample)
    numbers = np.append(all_rows.sample, len(all_rows.y) + np.arange(n_held_out))
    return numbers[origin]


def _places_left_out(position, table, held_out, all_rows):
    """:attr:`Problem.position` from the places of the rows in the table."""
    position = np.where(position < 0, -1, np.cumsum(table.fold >= 0)[position] - 1)
    if held_out is not None:
        return position[held_out]
    return position if all_rows is None else all_rows.places(position)


def validated(estimator, X, *y):
    """Rows X (n, d), checked; when fitting y (n,) and X's columns of a categorical
    type too.
    """
    X, y = from_foreign(X), [from_foreign(v) for v in y]
    if hasattr(X, "to_pandas") and not hasattr(X, "dtypes"):
        X = X.to_pandas()  # Arrow's columns have no names
    is_frame = hasattr(X, "columns") and hasattr(X, "dtypes")
    if not y and is_frame and hasattr(estimator, "feature_names_in_"):
        X = in_order_of(estimator.feature_names_in_, X)
    rows, categorical = as_columns(X)
    options = {"dtype": None, "ensure_all_finite": "allow-nan"}
    targets = None
    if y:
        options["y_numeric"] = not is_classifier(estimator)
        refuse_missing_labels(y[0])
        targets = several_targets(estimator, y[0])
        y = y if targets is None else [np.zeros(len(targets))]
    try:
        if categorical is None:
            checked = validation.validate_data(
                estimator, X, *y, reset=bool(y), **options
            )
        else:
            validation.validate_data(estimator, X, reset=bool(y), skip_check_array=True)
            check = check_X_y if y else check_array
            checked = check(rows, *y, estimator=estimator, **options)
    except OverflowError:
        raise ValueError("y holds a number beyond 1.8e308; rescale it") from None
    if targets is not None:
        checked = checked[0], targets
    return (*checked, categorical) if y else checked


def _targets_of_all(estimator, y):
    """Targets or labels of a table of which a sample is drawn."""
    y = from_foreign(in_memory(y))
    refuse_missing_labels(y)
    targets = several_targets(estimator, y)
    return validation.column_or_1d(y, warn=True) if targets is None else targets


def target_names(y):
    """Names of the columns of y, where all are strings, or numbers from 0."""
    names = list(getattr(y, "columns", ()))
    if names and all(isinstance(name, str) for name in names):
        return np.array(names, dtype=object)
    shape = y.shape if hasattr(y, "shape") else np.shape(y[:1])
    return np.arange(shape[1] if len(shape) == 2 else 1)


def several_targets(estimator, y):
    """Targets (n, t) of two columns or more, NaN where missing; None of others."""
    y = from_foreign(y)
    shape = y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape
    if len(shape) != 2 or shape[1] < 2:
        return None
    if is_classifier(estimator):
        raise ValueError(
            f"y has {shape[1]} columns, and {type(estimator).__name__} learns one "
            "target: fit sklearn.multioutput.MultiOutputClassifier"
            f"({type(estimator).__name__}()), which has a model for each"
        )
    names = map(repr, target_names(y).tolist())
    options = {"dtype": float, "input_name": "y", "ensure_all_finite": False}
    try:
        Y = check_array(y, **options)
    except TypeError:
        Y = check_array(y.astype("Float64").to_numpy(float, na_value=np.nan), **options)
    except ValueError as error:
        raise ValueError(
            f"y holds no numbers: {error}; for labels use AdaptiveKernelClassifier"
        ) from None
    for name, column in zip(names, Y.T, strict=True):
        if np.isinf(column).any():
            row = np.flatnonzero(np.isinf(column))[0]
            raise ValueError(
                f"column {name} of y contains infinity in row {row}; leave such rows "
                "out, or set the cell to NaN for missing"
            )
        if np.isnan(column).all():
            raise ValueError(
                f"column {name} of y is NaN in every row: there is nothing to learn; "
                "leave that target out"
            )
    return Y


def known_rows(Y, weights):
    """Weights of rows, zero without any target; each target has some weight."""
    known = ~np.isnan(Y)
    for j, column in enumerate(known.T):
        if not weights[column].any():
            raise ValueError(
                f"column {j} of y is missing in every row with a sample weight: leave "
                "that target out"
            )
    return np.where(known.any(axis=1), weights, 0.0)


def refuse_missing_labels(y, name="y"):
    """Name the first target, or other value of a row, that is missing."""
    y = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if y.dtype == object and y.ndim == 1:
        # Pandas' NA is neither equal to itself nor unequal, and pandas may not be
        # there.
        names = ("NoneType", "NAType")
        missing = [type(value).__name__ in names or value != value for value in y]
        if any(missing):
            row = missing.index(True)
            raise ValueError(
                f"{name}[{row}] is {y[row]}: Input contains NaN or None; drop those "
                "rows"
            )


def read_rows(estimator, reader, X):
    """Rows X as numbers and codes of categories, checked."""
    return reader.transform(validated(estimator, X))


def _row_weights(estimator, rows, y, sample_weight):
    """The weight of each row, with that of its class."""
    weights = _check_sample_weight(from_foreign(sample_weight), rows, dtype=float)
    weights = estimator._row_weights(y, weights)
    if not np.isfinite(weights).all():
        raise ValueError(
            "class_weight makes infinite weights, or holds NaN; use smaller numbers"
        )
    if (weights < 0).any():
        raise ValueError("sample_weight holds negative weights")
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero for every row")
    return weights if y.ndim == 1 else known_rows(y, weights)


def _fitted_reader(estimator, rows, categorical):
    """What makes numbers of the columns; ``categorical`` are those of such a type."""
    names = getattr(estimator, "feature_names_in_", None)
    declared = declared_categorical(
        estimator.categorical_features, rows.shape[1], names
    )
    if categorical is not None:
        declared |= categorical
    return TableReader(names, declared).fit(rows)


def refuse_several_folds(**given):
    """Refuse more than one of what says which rows are left out."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(
            f"pass {' or '.join(names)}, not both: each says which rows are left out"
        )


def time_blocks(time, weights):
    """Blocks of rows in order of time, from 0: the earliest rows, then later and later
    ones; None if all rows have one time.

    Rows of one time are in one block.
    """
    time = validation.column_or_1d(time)
    check_consistent_length(weights, time)
    refuse_missing_labels(time, "time")
    if (time != time).any():  # NaN, or no date
        row = int(np.flatnonzero(time != time)[0])
        raise ValueError(f"time[{row}] is {time[row]}: drop the rows without a time")
    if any(isinstance(value, str) for value in time):
        raise ValueError(
            f"time holds strings such as {str(time[0])!r}, of which the order is not "
            "that of time: pass numbers or dates (pandas.to_datetime makes them)"
        )
    place = np.unique(time, return_inverse=True)[1]
    counts = np.bincount(place, weights > 0)
    if np.count_nonzero(counts) == 1:
        warn_user("time has one value only: folds are drawn as without time")
        return None
    earlier = (np.cumsum(counts) - counts) / counts.sum()
    block = np.floor((earlier - EARLIEST) / BLOCK + 1e-9).clip(-1)
    if block[counts > 0].max() < 0:  # the last time has most of the rows
        block[np.flatnonzero(counts)[-1]] = 0
    return np.unique(block[place], return_inverse=True)[1]


def _validation_rows(estimator, X_val, y_val, reader, blend, heaviest):
    """X_val as read, y_val as encoded, and their weights, those of the heaviest row."""
    if X_val is None or y_val is None:
        raise ValueError("X_val and y_val go together: pass both")
    new = read_rows(estimator, reader, in_memory(X_val))
    y_val = from_foreign(in_memory(y_val))
    refuse_missing_labels(y_val)
    targets = several_targets(estimator, y_val)
    options = {
        "y_numeric": not is_classifier(estimator),
        "ensure_all_finite": "allow-nan",
    }
    given = y_val if targets is None else np.zeros(len(targets))
    y_val = check_X_y(new, given, estimator=estimator, **options)[1]
    y_val = y_val if targets is None else targets
    theirs = estimator._unfitted_blend(y_val)  # refuses what is no target
    if np.size(theirs.unit) != np.size(blend.unit):
        raise ValueError(
            f"y_val has {np.size(theirs.unit)} targets, and y has "
            f"{np.size(blend.unit)}: give those of y, in its order"
        )
    return new, blend.encode(y_val), np.full(len(new), heaviest)


def _group_codes(groups, weights):
    """Groups as codes from 0; None if there is one only."""
    groups = validation.column_or_1d(groups)
    check_consistent_length(weights, groups)
    try:
        validation.assert_all_finite(groups, input_name="groups")
        groups = np.unique(groups, return_inverse=True)[1]
    except TypeError:
        raise ValueError("groups holds None or values of several types") from None
    if np.ptp(groups[weights > 0]) == 0:
        warn_user("groups has one value only: folds are drawn as without groups")
        return None
    return groups


def _add_means(table, reader, classify):
    """Add the means of levels to the rows of a table, where some column has many."""
    (n, k), fold = table.Y.shape, table.fold
    if k > MOST_TARGETS or not (fold != 0).any():
        return
    targets = table.Y[:, 1:] if classify and k == 2 else table.Y
    targets = np.where(np.isnan(targets), np.nanmean(targets, axis=0), targets)
    # Rows that are there to judge by are not learned from.
    learned = table.weights * (table.learns_all | table.known(0))
    reader.learn_means(table.X, targets, learned)
    dealt = table.n_folds < 3 or table.in_time_order
    part = np.arange(n) % PARTS_OF_FEW_FOLDS if dealt else fold
    left_out = partial(reader.means_left_out, table.X, targets, part=part)
    means = left_out(learned)
    if means.shape[1]:
        by_fold = [left_out(learned * table.known(k)) for k in range(table.n_folds)]
        table.X, table.means = np.hstack([table.X, means]), np.stack(by_fold, axis=1)


def _fitted_views(table, is_categorical):
    """Views of the rows by class; None where no member could learn anything."""
    has_folds = (table.fold != 0).any()
    if not (has_folds and varies(table.X) and varies(table.Y)):
        return None
    # Folds share what is learned without targets; rows given to judge are no fold.
    known = table.X if table.learns_all else table.X[table.fold != 0]
    return {kind: kind(is_categorical).fit(known) for kind in (KernelView, TreeView)}


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
    X, Y, targets, given, w = (A[order] for A in (X, Y, targets, given, weights))
    w = w / w.max()  # whose squares can be summed up
    new_cell = np.append(True, ~_same_as_next(X) | (given[:-1] != given[1:]))
    new_pair = new_cell.copy()
    new_pair[1:] |= ~_same_as_next(targets)
    cell, pair = np.cumsum(new_cell) - 1, np.cumsum(new_pair) - 1
    few = new_cell.sum() <= 2 * n_folds  # without one little is left to learn from
    full = np.bincount(cell)[cell] >= (n_folds if few else max(FULL_CELL, 2 * n_folds))
    if blocks is not None:
        full[:], fold = False, given - 1
    else:
        unit = cell
        if groups is not None:
            full[:], unit = False, np.unique(given, return_inverse=True)[1]
        elif full.any():
            unit = np.cumsum(new_cell | np.append(False, full[1:])) - 1
        n_folds = min(n_folds, unit.max() + 1)
        fold = assign_folds(unit, n_folds, rng, targets[:, 0] if classify else None)
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
        ~full[first] & (groups is None and blocks is None),
    )
    return table, position


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

"""The first step of a fit: read and validate the input, merge rows, assign folds."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.utils.validation import _num_samples

from adakern._utils.arrays import is_dask
from adakern.adaptive.given import (
    group_codes,
    row_weights,
    target_names,
    time_blocks,
    validated,
)
from adakern.adaptive.many_rows import AllRows, in_memory
from adakern.adaptive.members.base import Setting, Shape
from adakern.adaptive.table import Table, make_table, same_as_next
from adakern.adaptive.views import KernelView, TreeView
from adakern.tables.columns import TableReader, declared_categorical
from adakern.tables.means import MOST_INDICATORS
from adakern.tables.texts import NgramEffects

#: Maximum number of classes or targets for target encoding of categories.
MOST_TARGETS = 10

#: Number of parts for target encoding if there are fewer than three folds, or if folds
#: are in time order.
PARTS_OF_FEW_FOLDS = 5


@dataclass
class Problem:
    """Data and settings of a fit.

    Attributes
    ----------
    table : Table
    views : dict or None
        Fitted views by their class; None if there is nothing to learn from.
    reader : TableReader
    blend : WeightedMean or Mixture
        Unfitted; encodes the targets and defines their loss.
    setting : Setting
    shape : Shape
        Shape of the rows passed to ``fit``.
    position : ndarray of int
        Index of each row passed to ``fit`` (of X_val, if given) among the rows in a
        fold; -1 for rows of zero weight and rows outside of a sample.
    origin : ndarray of int
        Index of the first passed row (X, followed by X_val) that each row of the table
        represents.
    ungrouped : bool
        Whether folds are drawn without regard to groups, time or X_val.
    all_rows : AllRows or None
        All rows, if the table is a sample of them.
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
    all_rows: AllRows | None

    @property
    def seen(self):
        """Shape of the rows to which members are fitted, after merging equal rows."""
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
    """Return the :class:`Problem` of an estimator for the arguments of its ``fit``."""
    all_rows = None
    if is_dask(X) or _num_samples(X) > estimator.max_rows:
        all_rows = AllRows(estimator, X, y, sample_weight, rng, deadline)
        X, y, sample_weight, groups, time = all_rows.drawn(groups, time)
    read, rows, Y, weights, reader, blend = _encoded(
        estimator, X, y, sample_weight, X_val, y_val
    )
    n = len(read[0])
    pair = np.sort(Y[:n].sum(axis=0))[-2:].sum() if blend.classify else n
    shape = Shape(n, rows.shape[1], Y.shape[1], estimator.n_folds, pair)
    held_out = np.arange(len(rows)) >= n if len(read) > 1 else None
    blocks = held_out if time is None else time_blocks(time, weights)
    groups = None if groups is None else group_codes(groups, weights)
    table, position = make_table(
        rows, Y, weights, estimator.n_folds, rng, groups, blocks, blend.classify
    )
    table.in_time_order = blocks is not None and held_out is None
    if Y.shape[1] > 1 and not blend.classify:
        blend, table.Y = blend.standardised(table)
    used = np.flatnonzero(position >= 0)
    origin = used[np.unique(position[used], return_index=True)[1]]
    _add_means(table, reader, read, origin, blend.classify)
    is_fast = estimator.preset == "fast"
    setting = Setting(
        blend.classify, is_fast, estimator.max_support, reader.is_categorical
    )
    return Problem(
        table,
        _fitted_views(table, reader.is_categorical),
        reader,
        blend,
        setting,
        shape,
        *_places(position, origin, table, held_out, all_rows),
        groups is None and blocks is None,
        all_rows,
    )


def _encoded(estimator, X, y, sample_weight, X_val, y_val):
    """Return X and X_val as read, rows as numbers, targets, weights, reader and blend.

    X_val and y_val may be None. Otherwise, their rows follow those of X, and have the
    largest weight of these.
    """
    names_of_targets = target_names(y)
    data, y, categorical = validated(estimator, X, y)
    blend = estimator._unfitted_blend(y)
    weights = row_weights(estimator, data, y, sample_weight)
    names = getattr(estimator, "feature_names_in_", None)
    given = estimator.categorical_features
    declared = declared_categorical(given, data.shape[1], names)
    if categorical is not None:  # columns of a categorical dtype
        declared |= categorical
    reader = TableReader(names, declared).fit(data)
    read, rows, Y = [data], reader.transform(data), blend.encode(y)
    if X_val is not None or y_val is not None:
        new, numbers, Y_val = _validation_rows(
            estimator, X_val, y_val, reader, blend, names_of_targets
        )
        read.append(new)
        rows, Y = np.concatenate([rows, numbers]), np.concatenate([Y, Y_val])
        weights = np.append(weights, np.full(len(new), weights.max()))
    return read, rows, Y, weights, reader, blend


def _ngrams(reader, read, origin, targets):
    """Regressions of the targets on the n-grams of each text column, by its index."""
    by_part = [reader.ngrams(part) for part in read]
    return {
        j: NgramEffects(
            csr_matrix(vstack([part[j] for part in by_part]))[origin], targets
        )
        for j in by_part[0]
    }


def _places(position, origin, table, held_out, all_rows):
    """Return :attr:`Problem.position` and :attr:`Problem.origin`.

    ``position`` is the index in the table of each row read, ``origin`` the index among
    the rows read of each row of the table.
    """
    n_held_out = 0 if held_out is None else np.count_nonzero(held_out)
    position = np.where(position < 0, -1, np.cumsum(table.fold >= 0)[position] - 1)
    if all_rows is not None:
        n_rows = len(all_rows.y) + np.arange(n_held_out)
        origin = np.append(all_rows.sample, n_rows)[origin]
        position = position if n_held_out else all_rows.places(position)
    return position if held_out is None else position[held_out], origin


def _validation_rows(estimator, X_val, y_val, reader, blend, names):
    """Return X_val as read and as numbers, and its encoded targets.

    ``names`` are those of the columns of y.
    """
    if X_val is None or y_val is None:
        raise ValueError("X_val and y_val must be passed together")
    names_of_val = target_names(y_val)
    given = in_memory(X_val), in_memory(y_val)
    read, y_val, _ = validated(estimator, *given, held_out=True)
    estimator._unfitted_blend(y_val)  # raises if y_val is invalid
    are_named = len(names) > 1 and names.dtype == names_of_val.dtype == object
    if len(names_of_val) != len(names) or (are_named and (names_of_val != names).any()):
        raise ValueError(
            f"y_val must have the {len(names)} targets of y, in its order, got "
            f"{', '.join(names_of_val) if are_named else len(names_of_val)}"
        )
    return read, reader.transform(read), blend.encode(y_val)


def _add_means(table, reader, read, origin, classify):
    """Add target encodings of texts, and of columns with many categories, to X.

    ``read`` are X and, if given, X_val; ``origin`` are the indices of the rows of the
    table among their rows.
    """
    (n, k) = table.Y.shape
    fold = table.fold
    needed = [c.vectors or len(c.codes) > MOST_INDICATORS for c in reader.columns_]
    if not any(needed) or k > MOST_TARGETS or not (fold != 0).any():
        return
    targets = table.Y[:, 1:] if classify and k == 2 else table.Y
    targets = np.where(np.isnan(targets), np.nanmean(targets, axis=0), targets)
    ngrams = _ngrams(reader, read, origin, targets)
    # Validation rows are not used for the encoding.
    learned = table.weights * (table.learns_all | table.known(0))
    dealt = table.n_folds < 3 or table.in_time_order
    part = np.arange(n) % PARTS_OF_FEW_FOLDS if dealt else fold
    reader.learn_means(table.X, ngrams, targets, learned, part)
    left_out = partial(reader.means_left_out, table.X, ngrams, targets, part=part)
    means = left_out(learned)
    if means.shape[1]:
        by_fold = [left_out(learned * table.known(k)) for k in range(table.n_folds)]
        table.X = np.hstack([table.X, means])
        table.means = np.stack(by_fold, axis=1)


def _fitted_views(table, is_categorical):
    """Return fitted views by class, or None if there is nothing to learn from."""
    constant = same_as_next(table.X).all() or same_as_next(table.Y).all()
    if constant or not (table.fold != 0).any():
        return None
    # Folds share the unsupervised preprocessing, but it does not use validation rows.
    known = table.X if table.learns_all else table.X[table.fold != 0]
    return {kind: kind(is_categorical).fit(known) for kind in (KernelView, TreeView)}

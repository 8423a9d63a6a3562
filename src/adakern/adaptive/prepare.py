"""The first step of a fit: what was given, read, checked, merged and put in folds."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import validation
from sklearn.utils.validation import _num_samples, check_X_y

from adakern._utils.arrays import from_foreign, is_dask
from adakern.adaptive.given import (
    group_codes,
    read_rows,
    refuse_missing_labels,
    row_weights,
    several_targets,
    time_blocks,
    validated,
)
from adakern.adaptive.many_rows import AllRows, in_memory
from adakern.adaptive.members.base import Setting, Shape
from adakern.adaptive.table import Table, make_table, varies
from adakern.adaptive.views import KernelView, TreeView
from adakern.tables.columns import TableReader, declared_categorical

#: Up to so many classes or targets have columns of the means of categories.
MOST_TARGETS = 10

#: Parts of the rows by which these means are learned where folds are two or one.
PARTS_OF_FEW_FOLDS = 5


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
    given = X, y, sample_weight, groups, time
    all_rows, (X, y, sample_weight, groups, time) = _drawn(estimator, rng, *given)
    rows, Y, weights, reader, blend = _encoded(estimator, X, y, sample_weight)
    pair = np.sort(Y.sum(axis=0))[-2:].sum() if blend.classify else len(Y)
    shape = Shape(*rows.shape, Y.shape[1], estimator.n_folds, pair)
    held_out = None
    if X_val is not None or y_val is not None:
        new = _validation_rows(estimator, X_val, y_val, reader, blend, weights.max())
        held_out = np.repeat([False, True], [len(rows), len(new[0])])
        pairs = zip((rows, Y, weights), new, strict=True)
        rows, Y, weights = map(np.concatenate, pairs)
    blocks = held_out if time is None else time_blocks(time, weights)
    groups = None if groups is None else group_codes(groups, weights)
    table, position = make_table(
        rows,
        Y,
        weights,
        estimator.n_folds,
        rng,
        groups=groups,
        blocks=blocks,
        classify=blend.classify,
    )
    table.in_time_order = blocks is not None and held_out is None
    blend, table.Y = blend.standardised(table)
    _add_means(table, reader, blend.classify)
    return Problem(
        table,
        _fitted_views(table, reader.is_categorical),
        reader,
        blend,
        _setting(estimator, blend, reader),
        shape,
        *_places(position, table, held_out, all_rows),
        groups is None and blocks is None,
        _refit(estimator, all_rows, reader, blend, deadline),
    )


def _drawn(estimator, rng, X, y, sample_weight, groups, time):
    """:class:`AllRows` and what is drawn of them, or None and what was given."""
    if not is_dask(X) and _num_samples(X) <= estimator.max_rows:
        return None, (X, y, sample_weight, groups, time)
    y = from_foreign(in_memory(y))
    refuse_missing_labels(y)
    targets = several_targets(estimator, y)
    y = validation.column_or_1d(y, warn=True) if targets is None else targets
    all_rows = AllRows(estimator, X, y, sample_weight, rng)
    return all_rows, all_rows.drawn(groups, time)


def _encoded(estimator, X, y, sample_weight):
    """Rows and targets as numbers, weights, and what made numbers of them."""
    rows, y, categorical = validated(estimator, X, y)
    blend = estimator._unfitted_blend(y)
    weights = row_weights(estimator, rows, y, sample_weight)
    names = getattr(estimator, "feature_names_in_", None)
    given = estimator.categorical_features
    declared = declared_categorical(given, rows.shape[1], names)
    if categorical is not None:  # of such a type
        declared |= categorical
    reader = TableReader(names, declared).fit(rows)
    return reader.transform(rows), blend.encode(y), weights, reader, blend


def _setting(estimator, blend, reader):
    """:attr:`Problem.setting`."""
    is_fast = estimator.preset == "fast"
    return Setting(
        blend.classify, is_fast, estimator.max_support, reader.is_categorical
    )


def _refit(estimator, all_rows, reader, blend, deadline):
    """:attr:`Problem.refit`, which leaves members as they are where no row is left."""
    if all_rows is None:
        return list
    read = partial(read_rows, estimator, reader)
    return partial(all_rows.refit, read, blend.encode, deadline)


def _places(position, table, held_out, all_rows):
    """:attr:`Problem.position` and :attr:`Problem.origin` from the places of the rows
    in the table.
    """
    given = np.flatnonzero(position >= 0)[::-1]
    origin = np.empty(len(table.X), dtype=int)
    origin[position[given]] = given  # of several the first is set last
    n_held_out = 0 if held_out is None else np.count_nonzero(held_out)
    position = np.where(position < 0, -1, np.cumsum(table.fold >= 0)[position] - 1)
    if all_rows is not None:
        n_rows = len(all_rows.y) + np.arange(n_held_out)
        origin = np.append(all_rows.sample, n_rows)[origin]
        position = position if n_held_out else all_rows.places(position)
    return position if held_out is None else position[held_out], origin


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


def _add_means(table, reader, classify):
    """Add the means of levels to the rows of a table, where some column has many."""
    (n, k) = table.Y.shape
    fold = table.fold
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
        table.X = np.hstack([table.X, means])
        table.means = np.stack(by_fold, axis=1)


def _fitted_views(table, is_categorical):
    """Views of the rows by class; None where no member could learn anything."""
    has_folds = (table.fold != 0).any()
    if not (has_folds and varies(table.X) and varies(table.Y)):
        return None
    # Folds share what is learned without targets; rows given to judge are no fold.
    known = table.X if table.learns_all else table.X[table.fold != 0]
    return {kind: kind(is_categorical).fit(known) for kind in (KernelView, TreeView)}

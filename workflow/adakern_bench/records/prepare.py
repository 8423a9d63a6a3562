"""Preparation of training and test rows for an estimator."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from adakern._utils.base import takes_several
from adakern.tables.encoding import CategoryColumns, make_encoder

SCALERS = {
    "unit": MinMaxScaler,
    "symmetric": lambda: MinMaxScaler(feature_range=(-1, 1)),
    "standard": StandardScaler,
}


@dataclass
class Prepared:
    """Scaled features and targets; ``restore`` undoes the scaling of the target."""

    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    #: Mean and standard deviation of regression targets that are scaled for the fit,
    #: one per target.
    centre: Any = None
    spread: Any = None
    #: Fitted transformers that map the table's columns to X.
    steps: list = field(default_factory=list)
    #: "time" if all test rows are later, "groups" if they are of other groups; and the
    #: sorted times or the groups of the training rows.
    apart: str | None = None
    marks: np.ndarray | None = None

    @property
    def y_fit(self):
        """Training targets as passed to the estimator."""
        if self.centre is None:
            return self.y_train
        return (self.y_train - self.centre) / self.spread

    def restore(self, prediction):
        """Predictions in the units of the target (labels unchanged)."""
        if self.centre is None:
            return prediction
        return prediction * self.spread + self.centre

    @property
    def n_targets(self):
        """Number of targets."""
        return self.y_train.shape[1] if self.y_train.ndim == 2 else 1

    def of_target(self, number):
        """The same with one of several targets alone."""
        names = ("y_train", "y_test", "centre", "spread")
        each = {name: getattr(self, name) for name in names}
        own = {k: v[..., number] for k, v in each.items() if v is not None}
        return replace(self, **own)


def takes_one(estimator, data):
    """Whether there are several targets but the estimator supports only one."""
    return data.n_targets > 1 and not takes_several(estimator)


def rows_of(X, rows):
    """Some rows of an array or a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def prepare(
    table,
    train,
    test,
    *,
    scale="unit",
    scale_fit="train",
    scale_target="none",
    clip=(),
    raw=False,
    max_categories=0,
):
    """Encode, clip and scale, fitted on the training part.

    `raw` keeps mixed columns; `max_categories` converts categories to pandas' dtype
    category, at most this number per column. Several targets are always scaled, so that
    none dominates because of its unit.
    """
    y_train = table.y[train]
    as_mixed = table.is_mixed and (raw or max_categories)
    if as_mixed:
        X, steps = _mixed(table, train, max_categories)
    else:
        reference = train if scale_fit == "train" else slice(None)
        X, steps = _scaled(table, train, reference, scale, clip)
    prepared = Prepared(
        rows_of(X, train),
        y_train,
        rows_of(X, test),
        table.y[test],
        steps=steps,
        **_kept_apart(table, train, test),
    )
    is_asked = scale_target == "standard" and not as_mixed
    if table.targets or (is_asked and table.task == "regression"):
        prepared.centre = y_train.mean(axis=0)
        spread = y_train.std(axis=0)
        prepared.spread = spread + (spread == 0)
    return prepared


def _mixed(table, train, max_categories):
    """Return the mixed columns of a table and the fitted transformers."""
    X = table.frame()
    if not max_categories:
        return X, []
    columns = CategoryColumns(table.kinds, max_categories).fit(X.iloc[train])
    return columns.transform(X), [columns]


def _scaled(table, train, reference, scale, clip):
    """Return the columns of a table as scaled numbers, and the fitted transformers."""
    X = table.X
    steps = []
    if table.is_mixed:
        frame = table.frame()
        steps.append(make_encoder(table.kinds).fit(frame.iloc[train]))
        X = steps[-1].transform(frame)
    if clip:
        low, high = np.percentile(X[reference], clip, axis=0)
        steps.append(
            FunctionTransformer(np.clip, kw_args={"a_min": low, "a_max": high})
        )
        X = steps[-1].transform(X)
    if scale != "none":
        steps.append(SCALERS[scale]().fit(X[reference]))
        X = steps[-1].transform(X)
    return X, steps


def _kept_apart(table, train, test):
    """What separates training from test rows, and its value in each training row.

    With it, a method can validate within the training part in the way it is tested.
    """
    if table.moments is not None and len(train) and len(test):
        times = table.moments[train]
        is_later = times.max() < table.moments[test].min()
        if is_later and (np.diff(times) >= 0).all():
            return {"apart": "time", "marks": times}
    if table.groups is not None:
        groups = table.groups[train]
        if not np.isin(table.groups[test], groups).any():
            return {"apart": "groups", "marks": groups}
    return {}

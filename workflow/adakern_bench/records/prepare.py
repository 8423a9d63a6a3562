"""From a table and a split to the rows that an estimator sees."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from adakern.tables.encoding import CategoryColumns, make_encoder

SCALERS = {
    "unit": MinMaxScaler,
    "symmetric": lambda: MinMaxScaler(feature_range=(-1, 1)),
    "standard": StandardScaler,
}


@dataclass
class Prepared:
    """Scaled features and targets; ``restore`` takes predictions to target units."""

    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    centre: float = 0.0
    spread: float = 1.0
    #: Fitted transformers, from the table's columns to X.
    steps: list = field(default_factory=list)
    #: Of the training rows, where the test rows are of none of their groups.
    groups: np.ndarray | None = None
    #: Of the training rows, which are in order of time, where all test rows are later.
    times: np.ndarray | None = None

    @property
    def y_fit(self):
        """Training targets in the units that the estimator is fitted in."""
        if self.centre == 0.0 and self.spread == 1.0:
            return self.y_train
        return (self.y_train - self.centre) / self.spread

    def restore(self, prediction):
        """Predictions in the target's own units (labels pass unchanged)."""
        if self.centre == 0.0 and self.spread == 1.0:
            return prediction
        return prediction * self.spread + self.centre


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
    """Encode, clip and scale on statistics of the training part.

    `raw` keeps mixed columns, and a method that takes so many categories of a column
    gets them as pandas' dtype category.
    """
    y_train = table.y[train]
    y_test = table.y[test]
    if table.is_mixed and (raw or max_categories):
        X = table.frame()
        steps = []
        if max_categories:
            columns = CategoryColumns(table.kinds, max_categories)
            steps.append(columns.fit(X.iloc[train]))
            X = columns.transform(X)
        apart = _kept_apart(table, train, test)
        X_train = X.iloc[train]
        X_test = X.iloc[test]
        return Prepared(X_train, y_train, X_test, y_test, steps=steps, **apart)
    X = table.X
    steps = []
    reference = train if scale_fit == "train" else slice(None)
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
    apart = _kept_apart(table, train, test)
    prepared = Prepared(X[train], y_train, X[test], y_test, steps=steps, **apart)
    if scale_target == "standard" and table.task == "regression":
        prepared.centre = float(y_train.mean())
        prepared.spread = float(y_train.std()) or 1.0
    return prepared


def _kept_apart(table, train, test):
    """What keeps the test rows apart from the training rows: groups, or time.

    A method validates within the training part as it is judged outside of it.
    """
    apart = {}
    if (
        table.groups is not None
        and not np.isin(table.groups[test], table.groups[train]).any()
    ):
        apart["groups"] = table.groups[train]
    if table.moments is not None and len(train) and len(test):
        times = table.moments[train]
        is_later = times.max() < table.moments[test].min()
        if is_later and (np.diff(times) >= 0).all():
            apart["times"] = times
    return apart

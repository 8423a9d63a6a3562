"""From columns of numbers, categories and missing values to columns of numbers."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from adakern.tables.dates import date_parts, has_hours

#: Categories of a column that get an indicator of their own; rarer ones share one.
MOST_INDICATORS = 30


def takes_raw_columns(estimator):
    """Whether an estimator handles categories and missing values itself."""
    return type(estimator).__module__.startswith("adakern.adaptive.")


class DateParts(TransformerMixin, BaseEstimator):
    """Times become elapsed days, year, season, weekday, and hour where there are any.

    Attributes
    ----------
    with_hour_ : list of bool
        For each column, whether times of the day were among its training rows.
    """

    def fit(self, X, y=None):
        """Find out which columns of times X (n, d) have times of the day."""
        self.with_hour_ = [has_hours(column) for column in _times(X)]
        return self

    def transform(self, X):
        """The parts of the dates of each column, side by side."""
        return np.hstack(
            [
                date_parts(column, with_hour)
                for column, with_hour in zip(_times(X), self.with_hour_, strict=True)
            ]
        )


def _times(X):
    return np.asarray(X).astype("M8[us]").T


def make_encoder(kinds):
    """Missing numbers become the median, with a mark; categories become indicators, and
    dates their parts.
    """
    of = {kind: [] for kind in ("numeric", "categorical", "date")}
    for name, kind in kinds.items():
        of[kind].append(name)
    fill = SimpleImputer(
        add_indicator=True, strategy="median", keep_empty_features=True
    )
    dates = (
        [(make_pipeline(DateParts(), clone(fill)), of["date"])] if of["date"] else []
    )
    return make_column_transformer(
        (fill, of["numeric"]),
        (
            OneHotEncoder(handle_unknown="ignore", max_categories=MOST_INDICATORS),
            of["categorical"],
        ),
        *dates,
        sparse_threshold=0,
    )

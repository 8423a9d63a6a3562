"""From columns of numbers, categories and missing values to columns of numbers."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from adakern.tables.dates import date_parts, has_hours
from adakern.tables.means import MOST_INDICATORS

#: By the beginning of their names, estimators of other packages that take missing
#: values and pandas' dtype category, with as many categories of a column as they allow.
TAKE_CATEGORIES = {
    "interpret.": 10_000,
    "lightgbm.": 10_000,
    "pytabkit.": 10_000,
    "sklearn.ensemble._hist_gradient_boosting.": 255,
}


def takes_raw_columns(estimator):
    """Whether an estimator handles categories and missing values itself."""
    return type(estimator).__module__.startswith("adakern.adaptive.")


def most_categories(estimator):
    """Categories of a column that an estimator takes as pandas' dtype category; 0 for
    none.

    A class of one's own says it by its attribute ``most_categories``.
    """
    kind = type(estimator)
    taken = (n for start, n in TAKE_CATEGORIES.items() if is_named(kind, start))
    return getattr(kind, "most_categories", None) or next(taken, 0)


def is_named(kind, start):
    """Whether the name of a class begins like this, its module first."""
    return f"{kind.__module__}.{kind.__name__}".startswith(start)


class CategoryColumns(TransformerMixin, BaseEstimator):
    """Categories become pandas' dtype category, dates their parts; gaps stay.

    Parameters
    ----------
    kinds : dict
        Column -> "numeric", "categorical" or "date".
    max_categories : int
        Of a column with more of them the rarest share one.
    """

    def __init__(self, kinds, max_categories):
        self.kinds = kinds
        self.max_categories = max_categories

    def fit(self, X, y=None):
        """Learn the categories of the training rows, a DataFrame."""
        of = _by_kind(self.kinds)
        codes = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            max_categories=self.max_categories,
        )
        dates = [(DateParts(), of["date"])] if of["date"] else []
        self.encoder_ = make_column_transformer(
            (codes, of["categorical"]), ("passthrough", of["numeric"]), *dates
        )
        values = self.encoder_.fit_transform(self._with_gaps(X))
        values = np.asarray(values[:, : len(of["categorical"])], dtype=float)
        # All missing: then there is no code.
        self.n_categories_ = [int(np.nanmax([*column, -1])) + 1 for column in values.T]
        return self

    def transform(self, X):
        """A DataFrame, the categorical columns first; new categories are missing."""
        import pandas as pd

        values = np.asarray(self.encoder_.transform(self._with_gaps(X)), dtype=float)
        # Some packages refuse brackets or quotation marks in names.
        frame = pd.DataFrame(values, index=X.index).add_prefix("x")
        for k, n in enumerate(self.n_categories_):
            codes = np.nan_to_num(values[:, k], nan=-1).astype(int)
            frame[f"x{k}"] = pd.Categorical.from_codes(codes, range(n))
        return frame

    def _with_gaps(self, X):
        """The frame with NaN for every missing category: None would be one."""
        texts = X[_by_kind(self.kinds)["categorical"]].astype(object)
        return X.assign(**texts.where(texts.notna(), np.nan))


def _by_kind(kinds):
    of = {kind: [] for kind in ("numeric", "categorical", "date")}
    for name, kind in kinds.items():
        of[kind].append(name)
    return of


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
    of = _by_kind(kinds)
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

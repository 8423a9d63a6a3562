"""Encoding of columns with categories, dates and missing values for estimators."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from adakern.tables.dates import date_parts, has_hours
from adakern.tables.means import MOST_INDICATORS

#: Estimators of other packages that support missing values and pandas' dtype category,
#: by the beginnings of their names, with the maximum number of categories of a column.
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
    """Maximum number of categories that an estimator supports as pandas' dtype.

    It is 0 if the dtype category is not supported. Custom classes set the attribute
    ``most_categories``.
    """
    kind = type(estimator)
    taken = (n for start, n in TAKE_CATEGORIES.items() if is_named(kind, start))
    return getattr(kind, "most_categories", None) or next(taken, 0)


def is_named(kind, start):
    """Whether the dotted name of a class begins with ``start``."""
    return f"{kind.__module__}.{kind.__name__}".startswith(start)


class CategoryColumns(TransformerMixin, BaseEstimator):
    """Convert categories to pandas' dtype category and dates to their parts.

    Missing values are kept.

    Parameters
    ----------
    kinds : dict
        Kind of each column: "numeric", "categorical" or "date".
    max_categories : int
        Maximum number of categories of a column; the rarest ones are merged.
    """

    def __init__(self, kinds, max_categories):
        self.kinds = kinds
        self.max_categories = max_categories

    def fit(self, X, y=None):
        """Determine the categories of the training rows, a DataFrame."""
        of = _by_kind(self.kinds)
        codes = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=np.nan,
            max_categories=self.max_categories,
        )
        self.encoder_ = make_column_transformer(
            (codes, of["categorical"]),
            ("passthrough", of["numeric"]),
            (DateParts(), of["date"]),
        )
        values = self.encoder_.fit_transform(self._with_missing(X))
        values = np.asarray(values[:, : len(of["categorical"])], dtype=float)
        # If all values are missing, there are no codes.
        self.n_categories_ = [int(np.nanmax([*column, -1])) + 1 for column in values.T]
        return self

    def transform(self, X):
        """Return a DataFrame, categorical columns first; new categories are missing."""
        import pandas as pd

        values = np.asarray(self.encoder_.transform(self._with_missing(X)), dtype=float)
        # Some packages do not allow brackets or quotation marks in names.
        frame = pd.DataFrame(values, index=X.index).add_prefix("x")
        types = [pd.CategoricalDtype(range(n)) for n in self.n_categories_]
        return frame.astype({f"x{k}": type_ for k, type_ in enumerate(types)})

    def _with_missing(self, X):
        """Replace missing categories by NaN, since None would be a category."""
        texts = X[_by_kind(self.kinds)["categorical"]].astype(object)
        return X.assign(**texts.where(texts.notna(), np.nan))


def _by_kind(kinds):
    return {
        kind: [name for name, given in kinds.items() if given == kind]
        for kind in ("numeric", "categorical", "date")
    }


class DateParts(TransformerMixin, BaseEstimator):
    """Convert times to elapsed days, year, season, weekday, and hour if there are any.

    Attributes
    ----------
    with_hour_ : list of bool
        Whether the training rows of each column have times of day.
    """

    def fit(self, X, y=None):
        """Determine which columns of X (n, d) have times of day."""
        self.with_hour_ = [has_hours(column) for column in _times(X)]
        return self

    def transform(self, X):
        """Return the date parts of all columns."""
        return np.hstack(
            [
                date_parts(column, with_hour)
                for column, with_hour in zip(_times(X), self.with_hour_, strict=True)
            ]
        )


def _times(X):
    return np.asarray(X).astype("M8[us]").T


def make_encoder(kinds):
    """Return an encoder for numeric, categorical and date columns.

    Missing numbers are replaced by the median and marked by an indicator. Categories
    are one-hot encoded, and dates become their parts.
    """
    of = _by_kind(kinds)
    fill = SimpleImputer(
        add_indicator=True, strategy="median", keep_empty_features=True
    )
    return make_column_transformer(
        (fill, of["numeric"]),
        (
            OneHotEncoder(handle_unknown="ignore", max_categories=MOST_INDICATORS),
            of["categorical"],
        ),
        (make_pipeline(DateParts(), clone(fill)), of["date"]),
        sparse_threshold=0,
    )

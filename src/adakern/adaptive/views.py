"""Views of the rows for members: columns of comparable scales, or ranks."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from adakern.tables.means import MOST_INDICATORS

#: Scale of indicators, chosen so that rows of different categories are as far apart as
#: two draws of a standardised number are on average.
INDICATOR_SCALE = 0.6

#: Standardised numbers beyond this value are compressed logarithmically. Outliers
#: remain the outermost values, but are less isolated; other values are unchanged.
TAIL = 4.0

#: Maximum number of cells of the indicators of a category, if it has more than
#: ``MOST_INDICATORS`` levels.
MOST_CELLS = 4_000_000

#: Percentiles to which a column is clipped to compute its standard deviation.
CLIPPED = (2, 98)

#: Largest absolute value, which single precision (used by trees) can represent.
LARGEST = 1e38


@dataclass
class KernelView:
    """View for kernels: comparable scales, no missing values, compressed tails.

    Numbers are standardised by the median, and by the standard deviation of the column
    clipped to its percentiles. Tails are compressed logarithmically. Missing values are
    replaced by the median and marked by an indicator. Categories are one-hot encoded;
    of many rows, rare levels share an indicator. Constant and duplicate columns are
    dropped. ``groups_`` are the indices of the columns' scales.
    """

    is_categorical: np.ndarray

    def fit(self, X):
        """Determine scales and categories of the rows X (n, d)."""
        numbers = X[:, ~self.is_categorical]
        self.centre_ = np.zeros(numbers.shape[1])
        self.scale_ = np.ones(numbers.shape[1])
        for j, column in enumerate(numbers.T):
            column = column[~np.isnan(column)]
            if not len(column):
                continue
            low, middle, high = np.percentile(column, [CLIPPED[0], 50, CLIPPED[1]])
            size = np.abs(column).max() or 1.0  # squares of 1e300 would overflow
            spread = size * np.std(np.clip(column, low, high) / size)
            # If most values are equal, the others determine the scale.
            if not spread > 1e-12 * size:
                spread = np.ptp(column / 2)
            self.centre_[j] = middle
            self.scale_[j] = spread if spread > 1e-12 * size else 1.0
        self.has_missing_ = np.isnan(numbers).any(axis=0)
        codes = X[:, self.is_categorical].T
        most = max(MOST_INDICATORS, MOST_CELLS // len(X))
        self.levels_ = [np.sort(_by_frequency(column)[:most]) for column in codes]
        self.kept_ = slice(None)
        Z = self.transform(X)
        varying = np.flatnonzero(np.ptp(Z, axis=0) > 0)
        _, first = np.unique(Z[:, varying], axis=1, return_index=True)
        self.kept_ = varying[np.sort(first)]  # the first of equal columns
        groups = self._scale_of_columns()[self.kept_]
        self.groups_ = tuple(np.unique(groups, return_inverse=True)[1].tolist())
        return self

    def _scale_of_columns(self):
        """Index of the scale of each column, before any is dropped.

        The indicators of a category with many levels share a scale, so that any two
        levels are equally far apart: a kernel on categories. With a scale for each
        level, the errors on 24 tables are no smaller than with 30 indicators.
        """
        sizes = [1] * (len(self.scale_) + np.count_nonzero(self.has_missing_))
        for levels in self.levels_:
            n = len(levels) + 1
            sizes += [n] if len(levels) > MOST_INDICATORS else [1] * n
        return np.repeat(np.arange(len(sizes)), sizes)

    def transform(self, X):
        """Transform rows X (n, d) to float64 of shape (n, n_columns)."""
        numbers = X[:, ~self.is_categorical]
        # Halve first, since the difference of two numbers of 1e308 would overflow.
        with np.errstate(over="ignore"):  # a scale of 1e-300
            z = (numbers / 2 - self.centre_ / 2) / (self.scale_ / 2)
        z = np.clip(z, -LARGEST, LARGEST)
        beyond = np.maximum(np.abs(z) - TAIL, 0)
        z = np.clip(z, -TAIL, TAIL) + np.sign(z) * np.log1p(beyond)
        missing = np.isnan(numbers)
        parts = [
            np.where(missing, 0.0, z),
            INDICATOR_SCALE * missing[:, self.has_missing_],
        ]
        for column, levels in zip(
            X[:, self.is_categorical].T, self.levels_, strict=True
        ):
            same = column[:, None] == levels[None, :]
            other = ~same.any(axis=1, keepdims=True)
            parts.append(INDICATOR_SCALE * np.hstack([same, other]))
        return np.hstack(parts)[:, self.kept_]


def _by_frequency(column):
    """Category codes of a column by decreasing frequency, without missing values."""
    codes, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return codes[np.argsort(-counts, kind="stable")]


@dataclass
class TreeView:
    """View for trees: categories are encoded by decreasing frequency."""

    is_categorical: np.ndarray

    groups_: ClassVar[None] = None  # trees need no scales

    def fit(self, X):
        """Determine the category frequencies in the rows X (n, d)."""
        self.ranks_ = {}
        for j in np.flatnonzero(self.is_categorical):
            self.ranks_[j] = {
                code: rank for rank, code in enumerate(_by_frequency(X[:, j]))
            }
        return self

    def transform(self, X):
        """Transform rows X (n, d) to float64 of the same shape."""
        Z = np.clip(X, -LARGEST, LARGEST)
        for j, ranks in self.ranks_.items():
            Z[:, j] = [ranks.get(code, np.nan) for code in X[:, j]]
        return Z

"""A table as people have it, made numbers: words, gaps, tails, constant columns."""

import numpy as np

from adakern._utils.warn import warn_user

__all__ = ["KernelView", "TableReader", "TreeView", "without_double_names"]

#: Words of a column that get an indicator of their own; rarer ones share "other".
MAX_INDICATORS = 30

#: Scale of an indicator: two rows of different words are as far apart in it as two
#: draws of a standardised number are on average.
INDICATOR_SCALE = 0.6

#: Standardised numbers beyond this grow as their logarithm: an outlier stays the
#: outermost value but stands no longer alone, and what is no outlier is not touched.
TAIL = 4.0

#: Percentiles to which a column is clipped before its standard deviation is taken.
CLIPPED = (2, 98)

#: Largest magnitude handed on; single-precision trees can hold it.
LARGEST = 1e38


class TableReader:
    """Columns of numbers and columns of words, both as numbers.

    A column whose values all read as numbers (or times) is one of numbers, any other is
    one of words. Missing are None, NaN, NaT, pandas' NA and blank words. Nothing is
    learned here but the spelling of the words.

    Attributes
    ----------
    categories_ : list
        For each column None (numbers) or the dictionary from word to code.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.table import TableReader
    >>> X = np.array([[1.5, "red"], [None, "blue"]], dtype=object)
    >>> TableReader().fit(X).transform(X)
    array([[1.5, 1. ],
           [nan, 0. ]])
    """

    def fit(self, X):
        """Find out what each column of X (n, d), an array of any type, holds.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        self.categories_ = [None] * X.shape[1]
        if X.dtype.kind in "OSU":
            for j in range(X.shape[1]):
                column, missing = _without_gaps(X[:, j])
                if _as_numbers(column, missing) is None:
                    words = sorted({str(value) for value in column[~missing]})
                    self.categories_[j] = {
                        word: code for code, word in enumerate(words)
                    }
        return self

    @property
    def is_categorical(self):
        """Which columns hold words, boolean of shape (d,)."""
        return np.array([words is not None for words in self.categories_], dtype=bool)

    def transform(self, X):
        """X (n, d) as float64: numbers, codes of words, NaN for gaps and new words.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.

        Warns
        -----
        UserWarning
            Where a column of numbers holds words that it did not hold in training.
        """
        if X.dtype.kind not in "OSU" and not any(self.is_categorical):
            return np.asarray(X, dtype=np.float64)
        table = np.full(X.shape, np.nan)
        for j, words in enumerate(self.categories_):
            column, missing = _without_gaps(X[:, j])
            if words is None:
                table[:, j] = self._numbers(column, missing, j)
            else:
                table[~missing, j] = [
                    words.get(str(value), np.nan) for value in column[~missing]
                ]
        if np.isinf(table).any():
            raise ValueError("Input contains infinity; replace it by a number or NaN.")
        return table

    @staticmethod
    def _numbers(column, missing, j):
        numbers = _as_numbers(column, missing)
        if numbers is not None:
            return numbers
        warn_user(
            f"column {j} held numbers in training and holds words now; what is no "
            "number counts as missing",
        )
        return np.array([_number_or_gap(value) for value in column])


def _without_gaps(column):
    """The column as objects, and where it is missing."""
    column = np.asarray(column, dtype=object)
    return column, np.array([_is_gap(value) for value in column], dtype=bool)


def _is_gap(value):
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    return isinstance(value, float | np.floating) and value != value


def _as_numbers(column, missing):
    """The column as float64 with NaN for gaps, or None if it holds a word."""
    numbers = np.full(len(column), np.nan)
    values = [v.timestamp() if hasattr(v, "timestamp") else v for v in column[~missing]]
    try:
        numbers[~missing] = np.array(values, dtype=object).astype(np.float64)
    except ValueError:
        return None
    return numbers


def _number_or_gap(value):
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def without_double_names(X):
    """X, as a plain array if it is a DataFrame with columns of the same name.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows.

    Warns
    -----
    UserWarning
        That columns are then told apart by their position.
    """
    names = list(getattr(X, "columns", ()))
    double = sorted({str(name) for name in names if names.count(name) > 1})
    if not double:
        return X
    warn_user(
        f"X has several columns named {', '.join(double)}; columns are told apart by "
        "their position",
    )
    return np.asarray(X)


class KernelView:
    """A read table as kernels want it: comparable scales, no gaps, no tails.

    Numbers are standardised by their median and the standard deviation of the column
    clipped to its percentiles, tails bent to a logarithm; gaps take the median and get
    an indicator; words become indicators; columns that are
    constant, or the same as another, are left out.

    Parameters
    ----------
    is_categorical : ndarray of bool, shape (d,)

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.table import KernelView
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [np.nan, 1.0]])
    >>> KernelView(np.array([False, False])).fit(X).transform(X).shape
    (3, 2)
    """

    def __init__(self, is_categorical):
        self.is_categorical = is_categorical

    def fit(self, X):
        """Learn scales and words of the rows X (n, d).

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        numbers = X[:, ~self.is_categorical]
        self.centre_, self.scale_ = _centre_and_scale(numbers)
        self.has_gaps_ = np.isnan(numbers).any(axis=0)
        self.levels_ = [_frequent(column) for column in X[:, self.is_categorical].T]
        self.kept_ = slice(None)
        self.kept_ = _distinct_columns(self.transform(X))
        self.columns_ = [self._all_columns()[i] for i in self.kept_]
        return self

    def _all_columns(self):
        """What the columns are, before some are left out: (feature, level or kind)."""
        numbers, words = (
            np.flatnonzero(~self.is_categorical),
            np.flatnonzero(self.is_categorical),
        )
        columns = [(j, "number") for j in numbers]
        columns += [(j, "gap") for j in numbers[self.has_gaps_]]
        for j, levels in zip(words, self.levels_, strict=True):
            columns += [(j, level) for level in [*levels, "other"]]
        return columns

    def carry(self, scales, other):
        """Scales of this view's columns, for those of another; a mean for new ones.

        Parameters
        ----------
        scales : ndarray
            Of the features of the other view.
        other : KernelView
            The view that they were tuned on.
        """
        known = dict(zip(self.columns_, scales, strict=True))
        typical = np.exp(np.mean(np.log(scales)))
        return np.array([known.get(column, typical) for column in other.columns_])

    def transform(self, X):
        """Rows X (n, d) as float64 of shape (n, n_columns).

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        numbers = X[:, ~self.is_categorical]
        # Halved first: the difference of two numbers of 1e308 would overflow.
        with np.errstate(over="ignore"):  # a scale of 1e-300
            z = (numbers / 2 - self.centre_ / 2) / (self.scale_ / 2)
        z = np.clip(z, -LARGEST, LARGEST)
        beyond = np.maximum(np.abs(z) - TAIL, 0)
        z = np.clip(z, -TAIL, TAIL) + np.sign(z) * np.log1p(beyond)
        gaps = np.isnan(numbers)
        parts = [np.where(gaps, 0.0, z), INDICATOR_SCALE * gaps[:, self.has_gaps_]]
        for column, levels in zip(
            X[:, self.is_categorical].T, self.levels_, strict=True
        ):
            same = column[:, None] == levels[None, :]
            other = ~same.any(axis=1, keepdims=True)
            parts.append(INDICATOR_SCALE * np.hstack([same, other]))
        return np.hstack(parts)[:, self.kept_]


def _centre_and_scale(numbers):
    """Median and robust standard deviation of each column, gaps aside."""
    centre, scale = np.zeros(numbers.shape[1]), np.ones(numbers.shape[1])
    for j, column in enumerate(numbers.T):
        column = column[~np.isnan(column)]
        if not len(column):
            continue
        low, centre[j], high = np.percentile(column, [CLIPPED[0], 50, CLIPPED[1]])
        size = np.abs(column).max() or 1.0  # squares of 1e300 would overflow
        spread = size * np.std(np.clip(column, low, high) / size)
        # Mostly one value: what deviates from it tells the scale.
        if not spread > 1e-12 * size:
            spread = np.ptp(column / 2)
        scale[j] = spread if spread > 1e-12 * size else 1.0
    return centre, scale


def _frequent(column):
    """The most frequent codes of a column of words, gaps aside."""
    codes, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return np.sort(codes[np.argsort(-counts, kind="stable")[:MAX_INDICATORS]])


def _distinct_columns(Z):
    """Indices of the columns that vary and are no copy of one before."""
    varying = np.flatnonzero(np.ptp(Z, axis=0) > 0)
    _, first = np.unique(Z[:, varying], axis=1, return_index=True)
    return varying[np.sort(first)]


class TreeView:
    """A read table as trees want it: words coded by falling frequency, gaps kept.

    Parameters
    ----------
    is_categorical : ndarray of bool, shape (d,)
    """

    def __init__(self, is_categorical):
        self.is_categorical = is_categorical

    def fit(self, X):
        """Learn the frequencies of the words in the rows X (n, d).

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        self.ranks_ = {}
        for j in np.flatnonzero(self.is_categorical):
            codes, counts = np.unique(X[~np.isnan(X[:, j]), j], return_counts=True)
            falling = codes[np.argsort(-counts, kind="stable")]
            self.ranks_[j] = {code: rank for rank, code in enumerate(falling)}
        return self

    def transform(self, X):
        """Rows X (n, d) as float64 of the same shape.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows.
        """
        Z = np.clip(X, -LARGEST, LARGEST)
        for j, ranks in self.ranks_.items():
            Z[:, j] = [ranks.get(code, np.nan) for code in X[:, j]]
        return Z

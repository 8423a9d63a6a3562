"""A table of columns of any kind as numbers: categories, dates, missing values."""

from datetime import UTC, date, datetime, time, timedelta

import numpy as np

from adakern._utils.warn import warn_user

#: What a date says, each a column.
DATE_PARTS = ("elapsed days", "year", "sine of season", "cosine of season", "weekday")


def as_columns(X):
    """X as an array, of objects if need be, and which columns a data frame calls
    categorical.
    """
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        words = isinstance(X, list | tuple) and np.asarray(X).dtype.kind == "U"
        # As words, NaN would be one.
        return np.asarray(X, dtype=object) if words else X, None
    # Polars has no `items`.
    columns = (
        X.get_columns()
        if hasattr(X, "get_columns")
        else [column for _, column in X.items()]
    )
    kinds = [str(column.dtype) for column in columns]
    categorical = np.array([k.startswith(("cat", "Cat", "Enum")) for k in kinds])
    arrays = [np.asarray(column) for column in columns]
    if all(a.dtype.kind in "biuf" for a in arrays) and not categorical.any():
        return (np.column_stack(arrays) if arrays else np.empty(X.shape)), categorical
    table = np.empty(X.shape, dtype=object)
    for j, (column, array) in enumerate(zip(columns, arrays, strict=True)):
        # As objects, times in nanoseconds of Polars and Arrow are whole numbers.
        is_time = array.dtype.kind in "mM"
        table[:, j] = _objects(array if is_time else np.asarray(column, dtype=object))
    return table, categorical


def in_order_of(names, X):
    """A data frame's columns in the order of these names, of which none may
    be missing."""
    found = {str(name): name for name in X.columns}
    if len(found) < len(X.columns) or list(found) == list(names):
        return X
    if missing := [name for name in names if name not in found]:
        raise ValueError(
            f"X lacks the columns {', '.join(missing)}, which it had in training"
        )
    if extra := sorted(set(found) - set(names)):
        warn_user(f"X has columns that training did not: {', '.join(extra)}; ignored")
    return X[[found[name] for name in names]]


def declared_categorical(features, n_columns, names):
    """A boolean for each column from names, numbers or booleans of columns."""
    features = [] if features is None else list(features)
    if len(features) == n_columns and all(
        isinstance(f, bool | np.bool_) for f in features
    ):
        return np.array(features)
    places = {j: j for j in range(-n_columns, n_columns)}
    if names is not None:
        places |= {name: j for j, name in enumerate(names)}
    for feature in features:
        if isinstance(feature, bool | np.bool_) or feature not in list(places):
            raise ValueError(
                f"categorical_features holds {feature!r}: use names of columns, their "
                f"numbers from 0 to {n_columns - 1}, or a boolean for each"
            )
    declared = np.zeros(n_columns, dtype=bool)
    declared[[places[feature] for feature in features]] = True
    return declared


class TableReader:
    """Columns of numbers, dates and categories, all as numbers.

    A column whose values all read as numbers (or durations) is one of numbers, one
    whose values all read as dates (ISO 8601 if they are strings) becomes five columns,
    any other is categorical. Missing are None, NaN, NaT, pandas' NA and blank strings.
    Nothing is learned here but the spelling of categories.

    Attributes
    ----------
    kinds_ : list
        For each column "number", "date", or the dictionary from category to code.
    source_ : ndarray of int
        The column that each column of the answer comes from.
    """

    def __init__(self, names, categorical):
        self.names = names
        self.categorical = categorical

    def fit(self, X):
        """Find out what each column of X (n, d), an array of any type, holds."""
        self.kinds_ = ["number"] * X.shape[1]
        for j, declared in enumerate(self.categorical):
            if declared or X.dtype.kind not in "biuf":
                self.kinds_[j] = self._kind(_objects(X[:, j]), j, declared)
        widths = [len(DATE_PARTS) if kind == "date" else 1 for kind in self.kinds_]
        self.source_ = np.repeat(np.arange(X.shape[1]), widths)
        return self

    @property
    def is_categorical(self):
        """Which columns of the answer hold codes of categories."""
        kinds = np.array([isinstance(kind, dict) for kind in self.kinds_], dtype=bool)
        return kinds[self.source_]

    def transform(self, X):
        """X (n, d) as float64; NaN for missing values and new categories."""
        plain = X.dtype.kind in "biuf"
        if plain and all(kind == "number" for kind in self.kinds_):
            table = np.asarray(X, dtype=np.float64)
        else:
            columns = [
                X[:, [j]].astype(float)
                if plain and kind == "number"
                else self._read(_objects(X[:, j]), kind, j)
                for j, kind in enumerate(self.kinds_)
            ]
            table = np.hstack(columns)
        if np.isinf(table).any():
            raise ValueError("Input contains infinity; replace it by a number or NaN.")
        return table

    def _name(self, j):
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def _kind(self, column, j, declared):
        values, _ = self._checked(column, j)
        if not declared:
            if self._convert(_number, values, j) is not None:
                return "number"
            if self._convert(_date_parts, values, j) is not None:
                return "date"
        categories = sorted({_category(value) for value in values})
        return {category: code for code, category in enumerate(categories)}

    def _convert(self, convert, values, j):
        """The values converted, or None if one of them cannot be."""
        try:
            return [convert(value) for value in values]
        except (TypeError, ValueError):
            return None
        except OverflowError:
            raise ValueError(
                f"{self._name(j)} holds a number beyond 1.8e308; rescale it, or take "
                "its logarithm"
            ) from None

    def _checked(self, column, j):
        """The values of a column that are not missing, and which are."""
        missing = np.array([_missing(value) for value in column], dtype=bool)
        for value in column[~missing]:
            if isinstance(value, list | dict | set | tuple | np.ndarray):
                raise TypeError(
                    f"{self._name(j)} holds a {type(value).__name__}: argument must be "
                    "a string or a real number, a date or a missing value"
                )
        return column[~missing], missing

    def _read(self, column, kind, j):
        values, missing = self._checked(column, j)
        width = len(DATE_PARTS) if kind == "date" else 1
        table = np.full((len(column), width), np.nan)
        if isinstance(kind, dict):
            table[~missing, 0] = [kind.get(_category(v), np.nan) for v in values]
            return table
        convert = _number if kind == "number" else _date_parts
        found = self._convert(convert, values, j)
        if found is None:
            warn_user(
                f"{self._name(j)} held {kind}s in training and holds something else "
                f"now; what is no {kind} counts as missing"
            )
            nothing = np.full(width, np.nan) if width > 1 else np.nan
            found = [(self._convert(convert, [v], j) or [nothing])[0] for v in values]
        table[~missing] = np.reshape(found, (-1, width))
        return table


def _objects(column):
    """A column as objects; times of NumPy as those of the standard library."""
    if column.dtype.kind in "mM":
        column = column.astype(f"{column.dtype.kind}8[us]")
    return column.astype(object)


def _missing(value):
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    floats = float | np.floating | np.datetime64 | np.timedelta64
    return isinstance(value, floats) and value != value


def _number(value):
    """A value as a float; ValueError if it is none, TypeError if it is no cell."""
    if isinstance(value, np.timedelta64):
        value = value.astype("m8[us]").item()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.datetime64 | date | time):
        raise ValueError("a date")
    return float(value)


def _date_parts(value):
    """Elapsed days, year, season and weekday, whatever the machine's time zone."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, np.datetime64):
        value = value.astype("M8[us]").item()
    if not isinstance(value, date):
        raise ValueError("no date")
    if not isinstance(value, datetime):
        value = datetime.combine(value, time())
    zone = value.tzinfo or UTC
    start = datetime(1970, 1, 1, tzinfo=UTC)
    elapsed = (value.replace(tzinfo=zone) - start) / timedelta(days=1)
    angle = 2 * np.pi * value.timetuple().tm_yday / 365.25
    return elapsed, value.year, np.sin(angle), np.cos(angle), value.weekday()


def _category(value):
    """The spelling of a category; 3, 3.0 and "3" are the same, and 1 and True."""
    if (
        isinstance(value, bool | np.bool_ | float | np.floating)
        and float(value).is_integer()
    ):
        return str(int(value))
    return str(value)

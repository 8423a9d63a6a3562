"""Conversion of columns of any kind to numbers, with missing values as NaN."""

from dataclasses import dataclass, field

import numpy as np

from adakern._utils.warn import warn_user
from adakern._utils.wording import count
from adakern.tables import kinds
from adakern.tables.account import Account
from adakern.tables.cells import (
    Cells,
    as_objects,
    categories,
    sides_of_limits,
    without_decimals,
)
from adakern.tables.dates import HOUR, PARTS, date_parts, has_hours, suggests_date
from adakern.tables.kinds import Column
from adakern.tables.means import (
    MOST_INDICATORS,
    levels_differ,
    means_left_out,
    means_of_levels,
    worth,
)
from adakern.tables.numbers import exceed_float
from adakern.tables.texts import MOST_CHARACTERS, TextVectors


def is_frame(X):
    """Whether X has columns with types, as those of pandas and Polars."""
    # pandas computes the types at each access.
    return hasattr(type(X), "dtypes") and hasattr(X, "columns")


def as_columns(X):
    """Convert X to an array, of objects if needed, and find categorical dtypes."""
    if not is_frame(X):
        words = isinstance(X, list | tuple) and np.asarray(X).dtype.kind == "U"
        # In an array of strings, NaN would be a string.
        return np.asarray(X, dtype=object) if words else X, None
    types = list(X.dtypes)
    categories = ("cat", "Cat", "Enum", "dictionary")
    categorical = np.array([str(t).startswith(categories) for t in types], dtype=bool)
    if hasattr(X, "iloc") and any(t.kind == "O" for t in types):
        # Columns of a data frame of pandas take long, compared with a single row.
        table = X.to_numpy(dtype=object)
        for j in [j for j, t in enumerate(types) if t.kind in "mM"]:
            table[:, j] = as_objects(X.iloc[:, j])
        return table, categorical
    is_polars = hasattr(X, "get_columns")
    columns = X.get_columns() if is_polars else [column for _, column in X.items()]
    arrays = [np.asarray(column) for column in columns]
    for name, array in zip(X.columns, arrays, strict=True):
        if array.ndim > 1:
            raise TypeError(f"column {name!r} has lists or structs: expand it")
    are_numbers = all(array.dtype.kind in "biuf" for array in arrays)
    if are_numbers and not any([*categorical, *map(exceed_float, columns)]):
        return (np.column_stack(arrays) if arrays else np.empty(X.shape)), categorical
    table = np.empty(X.shape, dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = as_objects(column)
    return table, categorical


def in_order_of(names, X):
    """Select a data frame's columns by name; raise if some are missing.

    Also return whether the result has exactly these columns.
    """
    if list(X.columns) == list(names):
        return X, True
    originals = {str(name): name for name in X.columns}
    if len(originals) < len(X.columns) or list(originals) == list(names):
        return X, False
    if missing := [name for name in names if name not in originals]:
        raise ValueError(
            f"X lacks the columns {', '.join(missing)}, which were passed to fit"
        )
    if extra := sorted(set(originals) - set(names)):
        warn_user(
            f"X has columns that were not in training: {', '.join(extra)}; ignored"
        )
    return X[[originals[name] for name in names]], False


def declared_categorical(features, n_columns, names):
    """Convert names, indices or a mask of columns to a boolean mask."""
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
                "categorical_features must have names of columns, indices from 0 to "
                f"{n_columns - 1}, or a boolean per column, got {feature!r}"
            )
    declared = np.zeros(n_columns, dtype=bool)
    declared[[places[feature] for feature in features]] = True
    return declared


@dataclass
class ReadColumn(Column):
    """A training column: its kind, its form, and what was found in it.

    Attributes
    ----------
    codes : dict of str to int
        Code of each category.
    with_limits : bool
        Whether some of its numbers are limits of detection.
    with_hour : bool
        Whether some of its dates have a time of day.
    vectors : TextVectors or None
        Vectorizer of its texts.
    means : ndarray or None
        Target encoding of its categories, if there are many, or of its n-grams.
    ridge : float or None
        Ridge of the target encoding of n-grams.
    name : str
    n_missing : int
        Number of training rows without a value.
    """

    codes: dict = field(default_factory=dict)
    with_limits: bool = False
    with_hour: bool = False
    vectors: TextVectors | None = None
    means: np.ndarray | None = None
    ridge: float | None = None
    name: str = ""
    n_missing: int = 0

    @property
    def width(self):
        """Number of numeric columns that it becomes."""
        if self.kind == "text":
            return self.vectors.n_vectors
        if self.kind == "date":
            return len(PARTS) + self.with_hour
        return 1 + self.with_limits

    def account(self):
        """Return its :class:`~adakern.tables.account.Account`."""
        uses = {
            "date": ", ".join([*PARTS, HOUR][: self.width]),
            "text": f"feature, {self.width} numbers from its character n-grams",
        }
        if self.with_limits:
            uses["numeric"] = "feature, with an indicator of limits"
        if self.means is not None:
            uses["categorical"] = "feature, with target encoding of its levels"
            uses["text"] += ", with target encoding"
        is_changed = self.form or self.kind == "text"
        return Account(
            self.name,
            self.kind,
            self.form,
            self.n_missing,
            len(self.codes) if self.kind == "categorical" else None,
            uses.get(self.kind, "feature"),
            "categorical_features" if is_changed else "",
        )


class TableReader:
    """Converter of columns of numbers, dates, texts and categories to numbers.

    The kind of a column is inferred as for the cells of a file, see
    :func:`adakern.tables.kinds.describe`. Strings that represent numbers become
    numbers. Dates become elapsed days, year, season, weekday and hour. Texts of several
    words that are rarely repeated become a few numbers
    (:class:`adakern.tables.texts.TextVectors`). Any other column is categorical.
    ``fit`` only determines the format of cells, the spelling of categories and the
    text vectors. ``learn_means`` appends target encodings of columns with many
    categories.

    Attributes
    ----------
    columns_ : list of ReadColumn
    source_ : ndarray of int
        Input column of each output column.
    """

    def __init__(self, names, categorical):
        self.names = names
        self.categorical = categorical

    def fit(self, X):
        """Infer the kind of each column of X (n, d), an array of any type."""
        is_plain = X.dtype.kind in "biuf"
        cells = {
            j: self._cells(X, j)
            for j, declared in enumerate(self.categorical)
            if declared
            or not is_plain
            or (self.names is not None and suggests_date(self.names[j]))
        }
        usual = kinds.usual_mark(cells.values()) if cells else "."
        self.columns_ = []
        for j, declared in enumerate(self.categorical):
            # Integers such as 20240131 are dates if the column's name suggests it.
            is_day = j in cells and kinds.form_of_days(cells[j])
            if declared or is_day or not is_plain:
                column = _learned(cells[j], usual, declared)
            else:
                missing = np.isnan(X[:, j])
                column = ReadColumn("numeric", n_missing=int(missing.sum()))
            column.name = str(j if self.names is None else self.names[j])
            self.columns_.append(column)
        return self

    @property
    def source_(self):
        """Input column of each output column."""
        columns = self.columns_
        n_means = [0 if c.means is None else c.means.shape[1] for c in columns]
        repeats = [c.width for c in columns] + n_means
        return np.repeat([*range(len(columns))] * 2, repeats)

    @property
    def first_(self):
        """First output column of each input column: for dates, the day."""
        return np.unique(self.source_, return_index=True)[1]

    @property
    def is_categorical(self):
        """Mask of the output columns that contain category codes."""
        flags = np.zeros(len(self.source_), dtype=bool)
        are_codes = [column.kind == "categorical" for column in self.columns_]
        flags[self.first_] = are_codes
        return flags

    def ngrams(self, X):
        """Frequencies of n-grams (n, N_HASHES) in the texts of X, by column."""
        cells = {
            j: self._cells(X, j)
            for j, column in enumerate(self.columns_)
            if column.kind == "text"
        }
        return {
            j: self.columns_[j].vectors.frequencies(categories(found))[found.codes]
            for j, found in cells.items()
        }

    def learn_means(self, X, ngrams, targets, weights, part):
        """Fit target encodings of texts and of columns with many categories.

        X are rows returned by ``transform``, with :class:`NgramEffects` of columns of
        text, targets (n, k), weights and the part of each row.
        """
        for place, column in zip(self.first_, self.columns_, strict=True):
            codes = (X[:, place], targets, weights, len(column.codes))
            if len(column.codes) > MOST_INDICATORS and levels_differ(*codes):
                column.means = means_of_levels(*codes)
        for j, effects in ngrams.items():
            column = self.columns_[j]
            column.ridge = effects.best_ridge(weights, part)
            if column.ridge is not None:
                column.means = effects.coefficients(weights, column.ridge)

    def means_left_out(self, X, ngrams, targets, weights, part):
        """Target encodings of each row, computed from other parts only, (n, m)."""
        means = [
            means_left_out(X[:, place], targets, weights, part, len(column.codes))
            if column.ridge is None
            else ngrams[j].left_out(weights, part, column.ridge)
            for j, (place, column) in enumerate(
                zip(self.first_, self.columns_, strict=True)
            )
            if column.means is not None
        ]
        return np.hstack([np.empty((len(X), 0)), *means])

    def transform(self, X):
        """Convert X (n, d) to float64; missing values and new categories become NaN."""
        are_plain = all(
            column.kind == "numeric" and column.form[1:] != "%" and column.width == 1
            for column in self.columns_
        )
        if X.dtype.kind in "biuf" and are_plain:
            table = np.asarray(X, dtype=np.float64)
        else:
            parts = [self._read(X, j) for j in range(len(self.columns_))]
            pairs = [*zip(parts, self.columns_, strict=True)]
            values = [part[:, : column.width] for part, column in pairs]
            means = [part[:, column.width :] for part, column in pairs]
            table = np.hstack(values + means)
        if np.isinf(table).any():
            row, place = np.argwhere(np.isinf(table))[0]
            raise ValueError(
                f"Input contains infinity in {self._name(self.source_[place])}, row "
                f"{row} from 0; replace it by a number or NaN."
            )
        return table

    def _name(self, j):
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def _cells(self, X, j):
        return Cells.of(X[:, j], self._name(j))

    def _read(self, X, j):
        """Convert one column to numbers, followed by its target encodings."""
        values, column = X[:, j], self.columns_[j]
        if column.kind == "numeric" and column.form[1:] != "%":
            are_plain = set(map(type, values)) <= {float, int}
            typed = np.array([*values]) if are_plain else values
            if typed.dtype.kind in "biuf":  # integers beyond int64 are objects
                numbers = np.zeros((len(typed), column.width))  # without limits
                numbers[:, 0] = typed
                return numbers
        cells = self._cells(X, j)
        if column.kind == "categorical":
            codes = _codes(cells, column.codes)
            means = [] if column.means is None else [worth(column.means, codes)]
            return np.column_stack([codes, *means])
        if column.kind == "text":
            return _text_numbers(cells, column)
        read, _, notes = kinds.read_new(cells, column.kind, column.form)
        for note in notes:
            warn_user(note)
        if column.kind == "date":
            return date_parts(read, column.with_hour)
        sides = [sides_of_limits(cells)] * column.with_limits
        return np.column_stack([read, *sides])


def _learned(cells, usual, declared):
    """Return the :class:`ReadColumn` of training cells."""
    found, read = kinds.learn(cells, usual, declared=declared)
    known = [value for value in read if value is not None and value == value]
    column = ReadColumn(**vars(found), n_missing=len(read) - len(known))
    if column.kind == "categorical":
        column.codes = {s: code for code, s in enumerate(sorted({*known}))}
    if column.kind == "numeric":
        column.with_limits = bool(sides_of_limits(cells).any())
    if column.kind == "date":
        column.with_hour = has_hours(read)
    if column.kind == "text":
        # Sorted, since singular vectors by a randomised algorithm depend on the order.
        column.vectors = TextVectors().fit(sorted({*known}))
    return column


def _codes(cells, known):
    """Category codes (n,); new categories become missing, with a warning."""
    spellings = categories(cells)
    if not known.keys() >= {*spellings} - {None}:
        # Files saved from a column with missing values have "1.0" instead of "1".
        whole = {without_decimals(s): s for s in known}
        spellings = [
            s if s in known else whole.get(without_decimals(s), s) for s in spellings
        ]
    codes = cells.spread([known.get(s, np.nan) for s in spellings], float)
    are_new = [s is not None and s not in known for s in spellings]
    if any(are_new):
        n_new = cells.spread(are_new, bool).sum()
        warn_user(
            f"{cells.name}: the model does not know the category of {n_new} of "
            f"{count(len(codes), 'row')}, such as {spellings[are_new.index(True)]!r}; "
            "it is treated as missing"
        )
    return codes


def _text_numbers(cells, column):
    """Convert texts to numbers (n, width), each distinct text only once.

    Target encodings of their n-grams are appended, if there are any.
    """
    texts = categories(cells)
    n_long = sum(text is not None and len(text) > MOST_CHARACTERS for text in texts)
    if n_long:
        warn_user(
            f"{cells.name}: only the first {MOST_CHARACTERS:,} characters of a text "
            f"are used; number of longer texts: {n_long}"
        )
    return column.vectors.transform(texts, column.means)[cells.codes]

"""A table of columns of any kind as numbers: categories, dates, texts, gaps."""

from dataclasses import dataclass, field

import numpy as np

from adakern._utils.warn import warn_user
from adakern.tables import kinds
from adakern.tables.account import Account
from adakern.tables.dates import HOUR, PARTS, date_parts, has_hours, says_date
from adakern.tables.kinds import Cells, Column
from adakern.tables.means import (
    MOST_INDICATORS,
    means_left_out,
    means_of_levels,
    say_something,
    worth,
)
from adakern.tables.texts import MOST_CHARACTERS, TextVectors


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
    types = [str(column.dtype) for column in columns]
    categorical = np.array([t.startswith(("cat", "Cat", "Enum")) for t in types])
    arrays = [np.asarray(column) for column in columns]
    if all(a.dtype.kind in "biuf" for a in arrays) and not categorical.any():
        return (np.column_stack(arrays) if arrays else np.empty(X.shape)), categorical
    table = np.empty(X.shape, dtype=object)
    for j, (column, array) in enumerate(zip(columns, arrays, strict=True)):
        # As objects, times in nanoseconds of Polars and Arrow are whole numbers.
        if array.dtype.kind in "mM":
            table[:, j] = array.astype(f"{array.dtype.kind}8[us]").astype(object)
        else:
            table[:, j] = np.asarray(column, dtype=object)
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


@dataclass
class ReadColumn(Column):
    """A column that was learned from: its kind, its form, and what was found in it.

    Attributes
    ----------
    codes : dict of str to int
        The number of each category.
    with_limits : bool
        Whether some of its numbers are limits of what can be measured.
    with_hour : bool
        Whether times of the day were among its dates.
    vectors : TextVectors or None
        What makes numbers of its texts.
    means : ndarray or None
        What each of its many levels is worth.
    name : str
    n_missing : int
        Training rows without a value.
    """

    codes: dict = field(default_factory=dict)
    with_limits: bool = False
    with_hour: bool = False
    vectors: TextVectors | None = None
    means: np.ndarray | None = None
    name: str = ""
    n_missing: int = 0

    @property
    def width(self):
        """How many columns of numbers it becomes."""
        if self.kind == "text":
            return self.vectors.n_vectors
        if self.kind == "date":
            return len(PARTS) + self.with_hour
        return 1 + self.with_limits

    def account(self):
        """What is said of it to people."""
        became = {
            "date": ", ".join([*PARTS, HOUR][: self.width]),
            "text": f"feature, {self.width} numbers by pieces of its words",
        }
        if self.with_limits:
            became["numeric"] = "feature, and which cells are limits"
        if self.means is not None:
            became["categorical"] = "feature, with target encoding of its levels"
        is_changed = self.form or self.kind == "text"
        return Account(
            self.name,
            self.kind,
            self.form,
            self.n_missing,
            len(self.codes) if self.kind == "categorical" else None,
            became.get(self.kind, "feature"),
            "categorical_features" if is_changed else "",
        )


class TableReader:
    """Columns of numbers, dates, texts and categories, all as numbers.

    What a column holds is found as for the cells of a file, see
    :func:`adakern.tables.kinds.describe`: texts that write numbers are numbers, texts
    that write dates become columns of elapsed days, year, season, weekday and hour,
    texts of several words that hardly repeat a few numbers by the pieces of their words
    (:class:`adakern.tables.texts.TextVectors`), any other column is categorical.
    Nothing is learned by ``fit`` but the form of the cells, the spelling of categories
    and which pieces texts share; ``learn_means`` adds columns, after all others, of
    what the levels of categories are worth where these are many.

    Attributes
    ----------
    columns_ : list of ReadColumn
    source_ : ndarray of int
        The column that each column of the answer comes from.
    """

    def __init__(self, names, categorical):
        self.names = names
        self.categorical = categorical

    def fit(self, X):
        """Find out what each column of X (n, d), an array of any type, holds."""
        self.columns_ = []
        for j, declared in enumerate(self.categorical):
            name = self._name(j)
            values = X[:, j]
            is_other = declared or X.dtype.kind not in "biuf"
            # Numbers are days in a column whose name says so.
            if is_other or (says_date(name) and kinds.are_days(Cells.of(values, name))):
                column = self._learned(values, j)
            else:
                column = ReadColumn("numeric", n_missing=int(np.isnan(values).sum()))
            column.name = str(j if self.names is None else self.names[j])
            self.columns_.append(column)
        return self

    @property
    def source_(self):
        """The column that each column of the answer comes from."""
        places = np.arange(len(self.columns_))
        widths = [column.width for column in self.columns_]
        n_means = [
            0 if column.means is None else column.means.shape[1]
            for column in self.columns_
        ]
        return np.append(np.repeat(places, widths), np.repeat(places, n_means))

    @property
    def is_categorical(self):
        """Which columns of the answer hold codes of categories."""
        found = np.array([column.kind == "categorical" for column in self.columns_])
        flags = found[self.source_]
        flags[sum(column.width for column in self.columns_) :] = False
        return flags

    def learn_means(self, X, targets, weights):
        """Learn what targets (n, k) say of the levels of columns that have many, of
        rows as read.
        """
        for place in np.flatnonzero(self.is_categorical):
            column = self.columns_[self.source_[place]]
            known = (X[:, place], targets, weights, len(column.codes))
            if len(column.codes) > MOST_INDICATORS and say_something(*known):
                column.means = means_of_levels(*known)

    def means_left_out(self, X, targets, weights, part):
        """What was learned, of each row by rows of other parts alone, (n, m)."""
        first = np.unique(self.source_, return_index=True)[1]
        means = [
            means_left_out(X[:, place], targets, weights, part, len(column.codes))
            for place, column in zip(first, self.columns_, strict=True)
            if column.means is not None
        ]
        return np.hstack([np.empty((len(X), 0)), *means])

    def transform(self, X):
        """X (n, d) as float64; NaN for missing values and new categories."""
        plain = X.dtype.kind in "biuf"
        if plain and all(column.kind == "numeric" for column in self.columns_):
            table = np.asarray(X, dtype=np.float64)
        else:
            parts = [
                X[:, [j]].astype(float)
                if plain and column.kind == "numeric"
                else self._read(X[:, j], column, j)
                for j, column in enumerate(self.columns_)
            ]
            pairs = zip(parts, self.columns_, strict=True)
            means = [
                worth(c.means, part[:, 0]) for part, c in pairs if c.means is not None
            ]
            table = np.hstack(parts + means)
        if np.isinf(table).any():
            row, place = np.argwhere(np.isinf(table))[0]
            raise ValueError(
                f"Input contains infinity in {self._name(self.source_[place])}, row "
                f"{row} from 0; replace it by a number or NaN."
            )
        return table

    def _name(self, j):
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def _learned(self, values, j):
        cells = Cells.of(values, self._name(j))
        declared = self.categorical[j]
        found = Column("categorical") if declared else kinds.describe(cells)
        if found.kind == "categorical" and not declared and kinds.is_text(cells):
            found = Column("text")
        column = ReadColumn(found.kind, found.form, found.notes)
        read, _ = kinds.read(cells, found.kind, found.form)
        is_missing = [value is None or value != value for value in read]
        column.n_missing = sum(is_missing)
        if column.kind == "categorical":
            spellings = sorted({s for s in read if s is not None})
            column.codes = {s: code for code, s in enumerate(spellings)}
        if column.kind == "numeric":
            column.with_limits = bool(kinds.sides_of_limits(cells).any())
        if column.kind == "date":
            column.with_hour = has_hours(read)
        if column.kind == "text":
            texts = dict.fromkeys(s for s in read if s is not None)
            column.vectors = TextVectors().fit([*texts])
        return column

    def _read(self, values, column, j):
        """The columns of numbers (n, width) of one column."""
        cells = Cells.of(values, self._name(j))
        if column.kind == "categorical":
            return self._codes(cells, column)
        if column.kind == "text":
            return _text_numbers(cells, column)
        read, strays = kinds.read(cells, column.kind, column.form)
        if strays:
            warn_user(kinds.about_strays(cells, column.kind, strays))
        for sentence in kinds.about_new(cells, column.kind, column.form or "."):
            warn_user(sentence)
        if column.kind == "date":
            return date_parts(read, column.with_hour)
        if column.with_limits:
            return np.column_stack([read, kinds.sides_of_limits(cells)])
        return read[:, None]

    def _codes(self, cells, column):
        """The codes (n, 1) of categories; new ones, which are told of, are missing."""
        spellings = kinds.read_categories(cells)
        known = column.codes
        if not known.keys() >= {s for s in spellings if s is not None}:
            # A file that was saved with a gap has "1.0" for "1".
            whole = {kinds.without_decimals(s): s for s in known}
            spellings = [
                s if s in known else whole.get(kinds.without_decimals(s), s)
                for s in spellings
            ]
        codes = [known.get(s, np.nan) for s in spellings]
        codes = np.reshape(np.array(codes, dtype=float), (-1, 1))
        new = [s for s, code in zip(spellings, codes, strict=True) if code != code]
        new = [s for s in new if s is not None]
        if new:
            warn_user(
                f"{cells.name}: the model does not know the category of {len(new)} of "
                f"{len(codes)} rows, such as {new[0]!r}; it is taken for missing"
            )
        return codes


def _text_numbers(cells, column):
    """The numbers (n, width) of texts, of which each is read once."""
    distinct = Cells(cells.name, cells.distinct, np.arange(len(cells.distinct)))
    texts = kinds.read_categories(distinct)
    n_long = sum(text is not None and len(text) > MOST_CHARACTERS for text in texts)
    if n_long:
        warn_user(
            f"{cells.name}: {n_long} texts are longer than {MOST_CHARACTERS:,} "
            "characters; what follows these is not read"
        )
    return column.vectors.transform(texts)[cells.codes]

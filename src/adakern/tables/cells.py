"""Cells of a column, and their values in a given kind and form.

Cells of files and values of data frames are treated alike.
"""

import json
import re
import unicodedata
from collections.abc import Hashable
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Any

import numpy as np

from adakern.tables import dates, numbers

#: Markers of missing values in all columns except the target, where they may be
#: classes.
MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "?", "<na>"}
#: Markers of missing values in columns of numbers and dates; in categorical columns,
#: they are categories.
NO_VALUE = MISSING.union(
    ("n.a.", "n. a.", "n.d.", "none", "-", "--", "---", "–", "—", ".", "...", "*"),
    ("missing", "unknown", "nat", "nil", "(null)", "\\n", "k.a.", "k. a."),
    ("keine angabe", "unbekannt", "non disponible", "n/d"),
    # The World Bank, Eurostat and INSEE.
    ("..", ":", "nd", "nc"),
    # Error values of Excel, and the hashes it displays for numbers that are too wide.
    ("#div/0!", "#value!", "#ref!", "#null!", "#num!", "#name?", "#n/v", "#nv"),
    ("#error!", "#n/a n/a", "#n/a field not applicable", "#n/a invalid security"),
    ("#wert!", "#bezug!", "#zahl!", "#valeur!", "#nombre!", "#nom?"),
    ("#" * n for n in range(3, 21)),
    # Dates of SAP and MySQL that are not set.
    ("00.00.0000", "0000-00-00", "0000-00-00 00:00:00", "00/00/0000"),
    # Stata's extended missing values.
    (f".{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
)
#: Form of a column with the words true and false, in the languages of Excel.
TRUE_OR_FALSE = "true or false"
TRUTHS = {
    **dict.fromkeys(("true", "wahr", "vrai", "verdadero", "vero"), 1.0),
    **dict.fromkeys(("false", "falsch", "faux", "falso"), 0.0),
}
#: Beginning of the form of categories that are merged if their :func:`plain_spelling`
#: is the same; it is followed by a list with the most frequent spelling of each.
ALIKE = "alike"
#: Characters without a glyph, which programs leave at the ends of cells.
_INVISIBLE = " \u00ad\u200b\u200e\u200f\u2060\ufeff"


@dataclass
class Cells:
    """Distinct values of a column.

    Strings are stripped, and missing values are "". A data frame may contain other
    types.

    Attributes
    ----------
    name : str
        Description of the column in messages, with its name in quotes.
    distinct : list
    codes : ndarray of int, shape (n,)
        Index of each row's value in ``distinct``.
    """

    name: str
    distinct: list
    codes: np.ndarray

    @classmethod
    def of(cls, values, name):
        """Construct the cells of an array or list of values."""
        values = list(as_objects(values) if hasattr(values, "dtype") else values)
        try:
            code_of: dict[Any, int] = dict.fromkeys(values, 0)
        except TypeError as error:
            kind = next(type(v) for v in values if not isinstance(v, Hashable))
            raise TypeError(
                f"{name} has a {kind.__name__}: argument must be a string or a real "
                "number, a date or a missing value; expand lists into columns"
            ) from error
        places: dict[Any, int] = {}
        for value in code_of:
            code_of[value] = places.setdefault(_plain(value), len(places))
        codes = np.fromiter(map(code_of.__getitem__, values), np.intp, len(values))
        cells = cls(name, list(places), codes)
        for text in cells.distinct:
            if isinstance(text, complex | np.complexfloating):
                raise ValueError(
                    f"{name} has complex numbers, which are not supported: use their "
                    "real and imaginary parts as two columns"
                )
            if isinstance(text, str) and "\0" in text:
                row = cells.rows_of([text])[0]
                raise ValueError(
                    f"{name} has a NUL character (row {row}, from 0): save the file "
                    "again"
                )
        return cells

    def counts(self, marks=MISSING):
        """Number of occurrences of each string, without markers of missing values."""
        counts = np.bincount(self.codes, minlength=len(self.distinct)).tolist()
        return {
            value: count
            for value, count in zip(self.distinct, counts, strict=True)
            if isinstance(value, str) and value.casefold() not in marks
        }

    def others(self):
        """Distinct values that are not strings."""
        return [value for value in self.distinct if not isinstance(value, str)]

    def rows_of(self, values):
        """Rows of distinct values."""
        # True and 1 are the same key.
        places = {value: place for place, value in enumerate(self.distinct)}
        return np.flatnonzero(np.isin(self.codes, [places[v] for v in values]))

    def spread(self, values, dtype):
        """Expand values, one for each distinct cell, to all rows."""
        out = np.empty(len(self.distinct), dtype=dtype)
        out[:] = values
        return out[self.codes]


def as_objects(column):
    """Convert an array, or a column of a data frame, to an array of objects."""
    array = np.asarray(column)
    # As objects, times in nanoseconds of Polars and Arrow would become integers.
    if array.dtype.kind in "mM":
        return array.astype(f"{array.dtype.kind}8[us]").astype(object)
    # Polars would round integers beside missing values.
    values = [*column] if numbers.exceed_float(column) else column
    return np.asarray(values, dtype=object)


def _plain(value):
    """Make a value comparable: "" if it is missing, and strings are stripped."""
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace").replace("\0", "\\x00")
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, time):  # Excel has cells of times
        return str(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    floats = float | np.floating | np.datetime64 | np.timedelta64
    if isinstance(value, floats) and value != value:
        return ""
    return getattr(value, "start_time", value)  # pandas has periods


def plain_text(text):
    """Remove invisible characters, and a formula that protects text from Excel.

    Letters with accents are written in the usual one of their forms in Unicode (NFC).
    """
    text = unicodedata.normalize("NFC", text.strip())
    if not text.isprintable():
        text = text.strip(_INVISIBLE)
    return text[2:-1] if text[:2] == '="' and text[-1] == '"' else text


def sides_of_limits(cells):
    """Mark the cells (n,) of a numeric column that are limits: -1 below, 1 above."""
    return cells.spread([numbers.limit_side(v) for v in cells.distinct], float)


def number_of(value, form="."):
    """Convert a value to a number; return None if it is not one."""
    if isinstance(value, str):
        if form == TRUE_OR_FALSE:
            return TRUTHS.get(value.casefold())
        if form == numbers.BASE_60:
            return numbers.parse_base_60(value)
        return numbers.parse_number(value, form or ".")
    if isinstance(value, np.timedelta64):
        value = value.astype("m8[us]").item()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if dates.is_date(value):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def number_named(cells, value, form):
    """Call :func:`number_of`; errors about too large numbers name the column."""
    try:
        return number_of(value, form)
    except OverflowError:
        raise ValueError(
            f"{cells.name} has a number beyond 1.8e308; rescale it, or take its "
            "logarithm"
        ) from None


def time_of(value, form):
    """Convert a value to a time; return None if it is not one."""
    if form in (dates.WHOLE, dates.WHOLE_TIME):
        value = dates.parse_whole(value) or value
    if isinstance(value, str):
        value = dates.parse_date(value, form)
    return dates.as_time(value) if dates.is_date(value) else None


def categories(cells, is_target=False, form=""):
    """Return the category of each distinct cell as a string, or None if missing."""
    marks = {""} if is_target else MISSING
    written = _merged_spelling(form) if form.startswith(ALIKE) else spelling
    return [
        None if isinstance(value, str) and value.casefold() in marks else written(value)
        for value in cells.distinct
    ]


def spelling(value):
    """Write a category as a string, the same for 3, 3.0 and "3", and for 1 and True."""
    if (
        isinstance(value, bool | np.bool_ | float | np.floating)
        and float(value).is_integer()
    ):
        return str(int(value))
    return str(value)


def without_decimals(text):
    """Remove decimals that are zero from a category.

    >>> from adakern.tables.cells import without_decimals
    >>> without_decimals("1.0"), without_decimals("1.05"), without_decimals("v1.0")
    ('1', '1.05', 'v1.0')
    """
    match = re.fullmatch(r"(-?\d+)\.0+", text or "")
    return match[1] if match else text


def plain_spelling(value):
    """Convert a category to lower case, without accents and with single blanks.

    >>> from adakern.tables.cells import plain_spelling
    >>> plain_spelling("Saint-Étienne  (Nord)")
    'saint-etienne (nord)'
    """
    letters = unicodedata.normalize("NFKD", spelling(value).casefold())
    plain = "".join(c for c in letters if not unicodedata.combining(c))
    return " ".join(plain.split())


def form_of_merged(cells):
    """Return the form of merged categories, with the most frequent spelling of each.

    >>> from adakern.tables.cells import Cells, form_of_merged
    >>> form_of_merged(Cells.of(["f", "M", "m", "M", "F", "f"], "column 'sex'"))
    'alike ["f", "M"]'
    """
    counts = cells.counts({""})
    names: dict[str, str] = {}
    for text in sorted(counts, key=counts.__getitem__, reverse=True):
        names.setdefault(plain_spelling(text), text)
    return f"{ALIKE} {json.dumps([*names.values()], ensure_ascii=False)}"


def _merged_spelling(form):
    """Return a function from a category to its spelling in :func:`form_of_merged`."""
    # Forms in early model files list no spellings: categories are in lower case.
    names = {
        plain_spelling(name): name for name in json.loads(form[len(ALIKE) :] or "[]")
    }

    def written(value):
        plain = plain_spelling(value)
        return names.get(plain, plain)

    return written


def read_cells(cells, kind, form="", is_target=False):
    """Return the values (n,) of a column, and the distinct cells of another kind.

    Kind and form of the column are given. Cells of another kind are NaN, NaT or None.

    Raises
    ------
    ValueError
        If a number is too large for float64.
    """
    if kind == "numeric":
        plain = None
        if form[:1] != "," and not cells.others():
            plain = numbers.plain_numbers(cells.distinct)
        if plain is not None:
            return cells.spread(plain, float), []
        values = [number_named(cells, value, form) for value in cells.distinct]
        nothing, dtype = np.nan, float
    elif kind == "date":
        values = [time_of(value, form or dates.ISO) for value in cells.distinct]
        nothing, dtype = np.datetime64("NaT"), "M8[us]"
    else:
        return cells.spread(categories(cells, is_target, form), object), []
    strays = [
        cell
        for cell, value in zip(cells.distinct, values, strict=True)
        if value is None and str(cell).casefold() not in NO_VALUE
    ]
    values = [nothing if value is None else value for value in values]
    return cells.spread(values, dtype), strays

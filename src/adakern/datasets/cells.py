"""From the cells of a column, as they are written, to numbers, dates or categories."""

import re

import numpy as np

from adakern.datasets.unpack import TableError

__all__ = ["as_days", "decimal_mark", "read_column", "read_numbers", "texts"]

#: Marks of a missing value in every column but the target, where they may be classes.
MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "?"}
#: Marks that are a missing value beside numbers; beside categories they are one.
NO_NUMBER = MISSING | {"n.a.", "n. a.", "n.d.", "nd", "none", "-", "--", ".", "..."}
NO_NUMBER |= {
    "missing",
    "unknown",
    "#div/0!",
    "#value!",
    "#ref!",
    "#null!",
    "*",
    "<na>",
}
#: Numbers with at most so many values may be codes, beside which a text is a code too.
FEW_NUMBERS = 10

_CURRENCY = r"(?:[$€£¥₹]|CHF|EUR|USD|GBP)?"
_SPACE = "'’\u00a0\u202f "
_DATE_FORMATS = [
    *("%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y"),
    *("%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *(
        "%d %b %Y",
        "%d-%b-%Y",
        "%d-%b-%y",
        "%d %B %Y",
        "%b %d, %Y",
        "%B %d, %Y",
        "%b %Y",
    ),
]


def texts(column):
    """A column of any objects as text without blanks around it, "" where missing."""
    first = column.dropna().head(1)
    if len(first) and isinstance(first.iloc[0], list | dict | tuple | np.ndarray):
        raise TableError(
            f"the column {column.name!r} holds lists; a cell holds one value. Give "
            "each of their values a column of its own."
        )
    return column.map(str, na_action="ignore").astype(object).fillna("").str.strip()


def decimal_mark(fields, separator):
    """The decimal mark of a file, from some of its fields."""
    kinds = {",": [0, 0], ".": [0, 0]}
    for field in fields:
        for mark, counts in kinds.items():
            if re.fullmatch(rf"[-+]?[1-9]\d{{0,2}}(\{mark}\d{{3}})+", field):
                counts[1] += 1  # thousands, or a number with three decimals
            elif re.fullmatch(
                rf"[-+]?[\d.,{_SPACE}]*\{mark}\d+(e[-+]?\d+)?", field, re.I
            ):
                counts[0] += 1
    (commas, either_comma), (points, either_point) = kinds[","], kinds["."]
    if commas or points:
        return "," if commas > points else "."
    return "," if separator == ";" and either_comma > either_point else "."


def read_numbers(cells, decimal):
    """Numbers of text cells, NaN where a cell is none; and one that needed reading."""
    import pandas as pd

    plain = cells.where(cells != "")
    if decimal == ",":
        point = plain.str.contains(".", regex=False, na=False)
        plain = plain.where(~point).str.replace(",", ".", regex=False)
    numbers = pd.to_numeric(plain, errors="coerce")
    rest = cells[numbers.isna().to_numpy() & (cells != "").to_numpy()]
    amounts = {text: _amount(text, decimal) for text in rest.unique()}
    amounts = {text: value for text, value in amounts.items() if value is not None}
    if amounts:
        numbers = numbers.astype(float).fillna(rest.map(amounts))
    return numbers, next(iter(amounts.items()), None)


def _amount(text, decimal):
    """The number in ``$45,123``, ``33%``, ``1'234.5`` or ``(1,200)``; None in others."""
    mark = "." if decimal == "," else ","
    match = re.fullmatch(
        rf"(?P<sign>[-+−(]?)\s*{_CURRENCY}\s*(?P<second>[-+−]?)"
        rf"(?P<number>(?:\d{{1,3}}(?:[{mark}{_SPACE}]\d{{3}})+|\d+)?(?:\{decimal}\d*)?)"
        rf"\s*(?:%|{_CURRENCY})\s*\)?",
        text,
        re.IGNORECASE,
    )
    if not match or not any(c.isdigit() for c in match["number"]):
        return None
    number = re.sub(f"[{mark}{_SPACE}]", "", match["number"]).replace(decimal, ".")
    negative = match["sign"] in ("-", "−", "(") or match["second"] in ("-", "−")
    return -float(number) if negative else float(number)


def as_days(cells):
    """Dates as days since 1970, NaN where a cell is empty; None where one is no date.

    One form is sought that all cells have: days and months of a column never change
    their places from row to row. Also returned: whether they could be exchanged.
    """
    import pandas as pd

    given = cells[cells != ""]
    kinds = given.unique()
    if not len(kinds) or not all(re.search(r"\d{2}", text) for text in kinds[:50]):
        return None, False
    kinds = pd.Series(kinds, index=kinds, dtype=object)
    clock = r"[T ]+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$"
    days = pd.Series(0.0, index=kinds.index)
    dates = None
    if kinds.str.match(r"\d{4}-\d{2}").all():
        dates = _to_dates(kinds, "ISO8601")
    found = []
    if dates is None:
        bare = kinds.str.replace(clock, "", regex=True)
        time = kinds.str.extract(rf"({clock})")[0].str.strip("T ")
        time = time.where(time.isna() | (time.str.count(":") == 2), time + ":00")
        days = pd.to_timedelta(time, errors="coerce").fillna(pd.Timedelta(0))
        days = days / pd.Timedelta(days=1)
        found = [d for f in _DATE_FORMATS if (d := _to_dates(bare, f)) is not None]
        if not found:
            return None, False
        dates = found[0]
    days = days + (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    unsure = len(found) > 1 and not (found[0] == found[1]).all()
    return cells.map(days.to_dict()).astype(float), unsure


def _to_dates(texts, form):
    import pandas as pd

    dates = pd.to_datetime(texts, errors="coerce", utc=True, format=form)
    return None if dates.isna().any() else dates


def read_column(column, decimal, *, is_target=False, kind=None):
    """One column: its values, its kind and sentences about what is not plain in it.

    The kind is "numeric", "date" (days since 1970) or "categorical" (text, or None
    where missing). A column is numeric if all cells but the marks of missing values and
    at most one in twenty others are numbers. In a target, empty cells alone are
    missing, unless it is numeric.
    """
    import pandas as pd

    name, dtype = column.name, column.dtype
    if pd.api.types.is_bool_dtype(dtype) or kind == "categorical":
        pass
    elif pd.api.types.is_numeric_dtype(dtype):
        if dtype.kind == "c":
            raise TableError(f"the column {name!r} holds complex numbers.")
        return column.astype(float) if column.isna().any() else column, "numeric", []
    elif pd.api.types.is_timedelta64_dtype(dtype):
        return column / pd.Timedelta(days=1), "numeric", [f"{name!r} counts days"]
    elif pd.api.types.is_datetime64_any_dtype(dtype):
        dates = pd.to_datetime(column, utc=True)
        days = (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
        return days, "date", []
    cells = texts(column)
    if cells.str.contains("\0", regex=False).any():
        row = int(np.flatnonzero(cells.str.contains("\0", regex=False))[0])
        raise TableError(
            f"the column {name!r} holds a NUL character (row {row} from 0): the file is "
            "damaged, or no text. Save it again from the program that made it."
        )
    low = cells.str.casefold()
    if kind in (None, "numeric"):
        values, notes = _numeric(cells, low, decimal, is_target, sure=kind == "numeric")
        if values is not None:
            return values, "numeric", notes
    missing = low.isin(MISSING)
    if kind in (None, "date"):
        days, unsure = as_days(cells.where(~missing, ""))
        if days is not None:
            either = [f"{name!r}: 03/04/2024 is read as 3 April"] if unsure else []
            return days, "date", either
        if kind == "date":
            raise TableError(f"the column {name!r} holds cells that are no dates.")
    notes = []
    if is_target:
        missing = cells == ""
        kept = sorted(set(cells[low.isin(NO_NUMBER) & ~missing]))
        if kept:
            notes = [
                f"{', '.join(map(repr, kept))} in the target {name!r} "
                f"{'are classes' if len(kept) > 1 else 'is a class'}: empty cells alone "
                "are missing values there"
            ]
    return cells.where(~missing, None), "categorical", notes


def _numeric(cells, low, decimal, is_target, sure):
    """(numbers, sentences), or (None, []) where the column is not one of numbers."""
    marks = low.isin(MISSING if is_target else NO_NUMBER)
    numbers, example = read_numbers(cells.where(~marks, ""), decimal)
    strays = cells[numbers.isna() & ~marks]
    n_numbers = int(numbers.count())
    if not sure:
        if not is_target and set(low[~marks]) == {"true", "false"}:
            return (low == "true").astype(float).where(~marks), []
        few = len(strays) <= max(1, 0.05 * (n_numbers + len(strays)))
        codes = numbers.nunique() <= FEW_NUMBERS
        no_code = strays.str.casefold().isin(NO_NUMBER).all()
        if n_numbers == 0 or (
            len(strays) and not (few and n_numbers >= 5 and (no_code or not codes))
        ):
            return None, []
    notes = []
    if example:
        notes.append(f"{cells.name!r}: {example[0]!r} is read as {example[1]:g}")
    if len(strays):
        shown = ", ".join(map(repr, strays.unique()[:4]))
        notes.append(
            f"{cells.name!r} is numeric: {len(strays)} "
            f"{'cell is' if len(strays) == 1 else 'cells are'} no number and counted as "
            f"missing ({shown}{', ...' if strays.nunique() > 4 else ''})"
        )
    return numbers, notes

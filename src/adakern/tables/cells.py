"""From the cells of a column, as they are written, to numbers, dates or categories."""

import re
import warnings

import numpy as np

from adakern.tables.unpack import TableError

#: Marks of a missing value in every column but the target, where they may be classes.
MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "?"}
#: Marks that are a missing value beside numbers; beside categories they are one.
NO_NUMBER = MISSING | {"n.a.", "n. a.", "n.d.", "none", "-", "--", ".", "...", "*"}
NO_NUMBER |= {"missing", "unknown", "#div/0!", "#value!", "#ref!", "<na>"}
#: Numbers of at most so many values may be codes, and so is a text beside them.
FEW_NUMBERS = 10

_CURRENCY = r"(?:[$€£¥₹]|CHF|EUR|USD|GBP)?"
_SPACE = "'’\u00a0\u202f "
#: Beside those that pandas tells from a date that is written so.
_DATE_FORMATS = ["%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%b %Y", "%B %Y"]


def decimal_mark(fields, separator, usual=None):
    """The decimal mark of a file, from some of its fields."""
    fields = [
        re.sub(rf"^{_CURRENCY}\s*|\s*(%|{_CURRENCY})$", "", cell) for cell in fields
    ]
    sure, either = {}, {}  # "1,234" may be a thousand, "1,5" may not
    for mark in ",.":
        thousands = re.compile(rf"[-+]?[1-9]\d{{0,2}}(\{mark}\d{{3}})+")
        number = re.compile(rf"[-+]?[\d.,{_SPACE}]*\{mark}\d+(e[-+]?\d+)?", re.I)
        either[mark] = sum(bool(thousands.fullmatch(cell)) for cell in fields)
        sure[mark] = sum(bool(number.fullmatch(cell)) for cell in fields) - either[mark]
    if sure[","] or sure["."]:
        return "," if sure[","] > sure["."] else "."
    if usual:
        return usual
    return "," if separator == ";" and either[","] > either["."] else "."


def read_column(column, decimal, *, is_target=False, kind=None, form=None):
    """One column: its values, its kind, the form of its dates, sentences about it.

    The kind is "numeric" (at most one cell in twenty is no number), "date" (days since
    1970) or "categorical"; it is found out where None. In a target that is not numeric,
    empty cells alone are missing.
    """
    import pandas as pd

    name, is_typed = column.name, pd.api.types
    is_date = column.dtype == object and is_typed.infer_dtype(column) in (
        "date",
        "datetime",
    )
    if is_date or is_typed.is_datetime64_any_dtype(column.dtype):
        return _days(pd.to_datetime(column, utc=True)), "date", None, []
    if column.dtype.kind == "m":
        return column / pd.Timedelta(seconds=1), "numeric", None, []
    if kind != "categorical" and column.dtype.kind in "iuf":
        has_gaps = column.isna().any()
        return column.astype(float) if has_gaps else column, "numeric", None, []
    if (
        kind in (None, "numeric")
        and decimal == "."
        and is_typed.is_string_dtype(column)
    ):
        numbers = pd.to_numeric(column, errors="coerce")  # most columns need no more
        if numbers.any() and (numbers.notna() | (column == "")).all():
            return numbers, "numeric", None, []
    cells = _texts(column)
    low = cells.str.casefold()
    if kind in (None, "numeric"):
        values, notes = _numeric(cells, low, decimal, is_target, kind)
        if values is not None:
            return values, "numeric", None, notes
    missing = low.isin(MISSING)
    if kind in (None, "date"):
        if kind and missing.all():
            return cells.map(lambda _: np.nan).astype(float), "date", form, []
        days, form = _as_days(cells.where(~missing, ""), form)
        if days is not None:
            order = f" ({form}: the day comes first)" if form[:2] == "%d" else ""
            return days, "date", form, [f"dates: {name!r}, as days since 1970{order}"]
        if kind == "date":
            raise TableError(f"the column {name!r} holds cells that are no dates.")
    notes = []
    if is_target:
        missing = cells == ""
        if kept := sorted(set(cells[low.isin(NO_NUMBER) & ~missing])):
            notes = [
                f"classes of {name!r}: {', '.join(kept)}; empty cells alone are missing"
            ]
    return cells.where(~missing, None), "categorical", None, notes


def _texts(column):
    """The cells as text without blanks around it, "" where missing."""
    first = column.dropna().head(1)
    if len(first) and isinstance(first.iloc[0], list | dict | tuple | np.ndarray):
        raise TableError(
            f"the column {column.name!r} holds lists; give each value its own column."
        )
    if column.dtype.kind == "f" and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")  # codes beside a gap: "1" and not "1.0"
    cells = column.map(str, na_action="ignore").astype(object).fillna("").str.strip()
    if (damaged := cells.str.contains("\0", regex=False)).any():
        raise TableError(
            f"the column {column.name!r} holds a NUL character (row "
            f"{np.flatnonzero(damaged)[0]} from 0): save the file anew."
        )
    return cells


def _numeric(cells, low, decimal, is_target, kind):
    """(numbers, sentences), or (None, []) where the column is not one of numbers."""
    marks = low.isin(MISSING if is_target else NO_NUMBER)
    known = set(low[~marks])
    if not is_target and known <= {"true", "false"} and (len(known) == 2 or kind):
        return (low == "true").astype(float).where(~marks), []
    numbers, example = _numbers(cells.where(~marks, ""), decimal)
    strays = cells[numbers.isna() & ~marks]
    shown = ", ".join(map(repr, strays.unique()[:4])) + ", ..." * (strays.nunique() > 4)
    n_numbers = int(numbers.count())
    if kind and len(strays) and not n_numbers:
        raise TableError(
            f"the column {cells.name!r} holds {shown}; the model was fitted on numbers."
        )
    if not kind:
        few = n_numbers >= 5 and len(strays) <= max(1, 0.05 * (n_numbers + len(strays)))
        no_code = strays.str.casefold().isin(NO_NUMBER).all()
        is_code = numbers.nunique() <= FEW_NUMBERS and not no_code
        if n_numbers == 0 or (len(strays) and (is_code or not few)):
            return None, []
    notes = []
    if example:
        notes.append(f"{cells.name!r}: {example[0]!r} is read as {example[1]:g}")
    if len(strays):
        cells_are = "1 cell is" if len(strays) == 1 else f"{len(strays)} cells are"
        notes.append(
            f"{cells.name!r} is numeric: {cells_are} no number, thus missing ({shown})"
        )
    return numbers, notes


def _numbers(cells, decimal):
    """Numbers of text cells, NaN where a cell is none; and one that needed reading."""
    import pandas as pd

    plain = cells.where(cells != "")
    if decimal == ",":
        plain = plain.where(~plain.str.contains(".", regex=False, na=False))
        plain = plain.str.replace(",", ".", regex=False)
    numbers = pd.to_numeric(plain, errors="coerce")
    rest = cells[numbers.isna() & (cells != "")]
    amounts = {text: _amount(text, decimal) for text in rest.unique()}
    read = [(text, value) for text, value in amounts.items() if value is not None]
    if read:
        numbers = numbers.astype(float).fillna(rest.map(dict(read)))
    return numbers, next(iter(read), None)


def _amount(text, decimal):
    """The number in ``$45,123``, ``33%``, ``1'234.5`` or ``(1,200)``, or None."""
    mark = "." if decimal == "," else ","
    match = re.fullmatch(
        rf"(?P<sign>[-+−(]?)\s*{_CURRENCY}\s*(?P<second>[-+−]?)"
        rf"(?P<number>(?:\d{{1,3}}(?:[{mark}{_SPACE}]\d{{3}})+|\d+)?(?:\{decimal}\d*)?)"
        rf"\s*(?:%|{_CURRENCY})\s*\)?",
        text,
        re.IGNORECASE,
    )
    if not match or not re.search(r"\d", match["number"]):
        return None
    number = re.sub(f"[{mark}{_SPACE}]", "", match["number"]).replace(decimal, ".")
    negative = {match["sign"], match["second"]} & {"-", "−", "("}
    return -float(number) if negative else float(number)


def _as_days(cells, form=None):
    """Dates of one form (in doubt day first) as days since 1970, and the form; else two
    None.
    """
    import pandas as pd
    from pandas.tseries.api import guess_datetime_format

    texts = [text for text in cells.unique() if text]
    if not texts or not all(re.search(r"\d", text) for text in texts):
        return None, None
    dates = pd.Series(texts, index=texts, dtype=object)
    forms = [form]
    if form is None and dates.str.match(r"\d{4}-\d{2}").all():
        forms = ["ISO8601"]
    elif form is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas' that the other order would not do
            orders = (False,) if re.match(r"\d{4}", texts[0]) else (True, False)
            guessed = [
                guess_datetime_format(texts[0], dayfirst=first) for first in orders
            ]
        forms = [*filter(None, guessed), *_DATE_FORMATS]
    for form in forms:
        days = _days(pd.to_datetime(dates, errors="coerce", utc=True, format=form))
        if not days.isna().any():
            return cells.map(days.to_dict()).astype(float), form
    return None, None


def _days(dates):
    import pandas as pd

    return (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)

"""Inference of the kind of a column: number, date, text or category."""

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from adakern._utils.printable import shortened
from adakern._utils.wording import count, listed
from adakern.tables import dates, numbers
from adakern.tables.cells import (
    MISSING,
    NO_VALUE,
    TRUE_OR_FALSE,
    TRUTHS,
    form_of_merged,
    number_named,
    number_of,
    read_cells,
)

#: Maximum number of distinct numbers that may be codes, to which a text may belong.
FEW_NUMBERS = 10
#: Number of distinct numbers up to which recurring ones may be sizes, scores, floors or
#: versions; a frequent word may then be another one.
MANY_NUMBERS = 30
#: Minimum number of distinct strings of a text column; with fewer, it is categorical.
FEWEST_TEXTS = 50
#: Minimum mean number of words of a text column; names and codes have fewer.
FEWEST_WORDS = 3
#: Cells of rows of subtotals, such as "North Total".
_SUBTOTAL = re.compile(
    r"(?i)(\S+\s){0,2}(totals?|summe|zwischensumme|sous-total|ergebnis|durchschnitt"
    r"|mittelwert|average)(\s\S+){0,2}"
)
#: In a column of numbers or dates, one cell in this many may be of another kind.
ONE_IN = 20


@dataclass
class Column:
    """Kind of a column, and format of its cells.

    Attributes
    ----------
    kind : {"numeric", "date", "categorical", "text"}
    form : str
        Decimal mark and unit of numbers, or format of dates; "" if the values are not
        strings.
    notes : list of str
        Messages about what was inferred.
    """

    kind: str
    form: str = ""
    notes: list = field(default_factory=list)


def describe(cells, *, usual=".", is_target=False):
    """Infer the :class:`Column` of cells.

    Parameters
    ----------
    cells : Cells
    usual : {".", ","}
        Decimal mark to use if both are possible.
    is_target : bool
        In a target that is not numeric, only empty cells are missing.
    """
    texts = cells.counts(MISSING if is_target else NO_VALUE)
    others = cells.others()
    if any(dates.is_date(value) for value in others):
        return _describe_dates(cells, texts) or Column("categorical")
    if not is_target and (form := form_of_days(cells)):
        return Column("date", form, [f"dates: {cells.name}, read as {form}"])
    column = _describe_numbers(cells, texts, usual, is_target)
    amounts = cells.counts(NO_VALUE)
    if is_target and len(amounts) > FEW_NUMBERS:
        # Few distinct numbers are classes, and so is a marker such as "-" among them.
        column = column or _describe_numbers(cells, amounts, usual, is_target)
    if not others:
        column = column or _describe_dates(cells, texts)
        column = column or _describe_base_60(cells, texts)
    column = column or Column("categorical")
    kept = sorted({t for t in cells.counts({""}) if t.casefold() in NO_VALUE})
    if is_target and kept and column.kind == "categorical":
        column.notes = [
            f"classes of {cells.name}: {', '.join(kept)}; only empty cells are missing"
        ]
    return column


def learn(
    cells, usual, *, form="", declared=False, merge=False, target=False, text=True
):
    """Return the :class:`Column` of cells, and their values.

    Parameters
    ----------
    cells : Cells
    usual : {".", ","}
        Decimal mark to use if both are possible.
    form : str
        Form of the cells, if it is given.
    declared : bool
        Whether the column is categorical whatever its cells look like.
    merge : bool
        Whether categories that are spelt alike are merged.
    target : bool
        Whether the column is the target.
    text : bool
        Whether the column may be text.
    """
    column = Column("categorical")
    if form:
        column = column_of_form(cells, form)
    elif not declared:
        column = describe(cells, usual=usual, is_target=target)
    if column.kind == "categorical":
        if merge:
            column.form = form_of_merged(cells)
        elif text and not declared and not target and is_text(cells):
            column.kind = "text"
    values, _ = read_cells(cells, column.kind, column.form, target)
    return column, values


def usual_mark(columns, default="."):
    """Decimal mark of columns (of Cells) in which it is ambiguous.

    It is that of more cells of the other columns, or the default.
    """
    votes: Counter = Counter()
    some_are_open = False
    for cells in columns:
        texts = cells.counts(NO_VALUE)
        if numbers.plain_numbers([*texts]) is not None:
            votes["."] += sum(n for text, n in texts.items() if "." in text)
            continue
        mark, _, sure, is_open = numbers.find_mark(texts)
        some_are_open |= is_open
        votes[mark] += sure
    if votes["."] == votes[","]:
        return default if some_are_open else "."
    return "." if votes["."] > votes[","] else ","


def column_of_form(cells, form):
    """Return the :class:`Column` of cells whose form is given."""
    kind = "numeric" if form.startswith(numbers.MARKS) else "date"
    values, strays = read_cells(cells, kind, form)
    if (values != values).all():
        raise ValueError(
            f"{cells.name} has no cell of the form {form[:60]!r}, but cells such as "
            f"{next(iter(strays), '')!r}; a form is the decimal mark and the unit of "
            "numbers (',' or '.kg'), or the strptime format of dates (%d/%m/%Y)"
        )
    notes = [about_strays(cells, kind, strays)] * bool(strays)
    return Column(kind, form, notes)


def form_of_days(cells):
    """Return the form of dates written as integers, such as 20240131, or "".

    The name of the column must suggest dates, too.
    """
    values = [*cells.counts(NO_VALUE), *cells.others()]
    if not (dates.suggests_date(cells.name) and all(map(dates.parse_whole, values))):
        return ""
    longest = max(map(float, values), default=0)
    return dates.WHOLE * (0 < longest < 1e8) or dates.WHOLE_TIME * (longest > 1e8)


def is_text(cells):
    """Whether most rows of a column that would be categorical have a unique text."""
    texts = cells.counts()
    n_rows = sum(texts.values())
    n_words = sum(len(text.split()) for text in texts)
    many = len(texts) > max(FEWEST_TEXTS, n_rows / 2)
    return many and not cells.others() and n_words >= FEWEST_WORDS * len(texts)


def is_marker(strays, cells):
    """Whether cells of another kind are a single word, which marks missing values."""
    n_rows = len(cells.rows_of(strays))
    are_few = len(cells.distinct) > FEW_NUMBERS and 2 * n_rows <= len(cells.codes)
    return are_few and is_one_word(strays)


def is_one_word(strays):
    """Whether cells of another kind are all the same, without a digit."""
    return len(strays) == 1 and not numbers.has_digit(strays[0])


def about_subtotals(cells):
    """Yield a note if some categories may be names of subtotals."""
    texts = cells.counts()
    totals = [text for text in texts if _SUBTOTAL.fullmatch(text)]
    if totals and len(totals) < len(texts):
        n_rows = count(len(cells.rows_of(totals)), "row")
        yield f"{n_rows} may be subtotals, such as {totals[0]!r} in {cells.name}: kept"


def _most_strays(n):
    """Maximum number of cells of a column that are not of its kind."""
    return max(1, n // ONE_IN) if n > 5 else 0


def _describe_numbers(cells, texts, usual, is_target):
    """Return the column of numbers, or None if it is not numeric."""
    others = cells.others()
    values = [*texts, *others]
    if not is_target and _are_truths(values):
        return Column("numeric", TRUE_OR_FALSE)
    integers = [v for v in others if isinstance(v, int | np.integer)]
    if numbers.are_codes([*texts, *map(str, integers)]):
        return None
    if texts and not others and numbers.plain_numbers(values) is not None:
        return Column("numeric", "." if "." in "".join(values) else usual)
    mark, unit, _, is_open = numbers.find_mark(texts)
    are_durations = any(isinstance(v, timedelta) for v in others)
    form = (mark or usual) + unit if texts else numbers.BASE_60 * are_durations
    read = {v: number_named(cells, v, form) for v in values}
    strays = [value for value, number in read.items() if number is None]
    n = len(cells.rows_of(values))
    n_strays = len(cells.rows_of(strays))
    n_values = len({*read.values()} - {None})
    may_be_codes = n_values <= min(MANY_NUMBERS, (n - n_strays) // 2)
    is_marked = is_marker(strays, cells) and not may_be_codes
    are_marks = all(str(stray).casefold() in NO_VALUE for stray in strays)
    if not n:
        return Column("numeric")
    if n == n_strays or (n_strays > _most_strays(n) and not is_marked):
        return None
    if n_values <= FEW_NUMBERS and not are_marks:
        return None
    notes = _about_numbers(cells.name, texts, form, mark is None and is_open)
    by_sign = {numbers.signs_of(text): text for text in texts}
    if len(by_sign) > 1:
        first, second, *_ = by_sign.values()
        notes.append(
            f"{cells.name}: {first!r} and {second!r} are read as if in the same unit"
        )
    if strays:
        notes.append(about_strays(cells, "numeric", strays))
    return Column("numeric", form, notes)


def _are_truths(values):
    """Whether all values are true or false, and both occur."""
    if not all(str(value).casefold() in TRUTHS for value in values):
        return False
    return len({TRUTHS[str(value).casefold()] for value in values}) == 2


def _describe_base_60(cells, texts):
    """Return the column of durations or angles, or None if it has other cells.

    Cells such as 28:25 alone are of hours or minutes, or results of matches.
    """
    if len(texts) <= FEW_NUMBERS or None in map(numbers.parse_base_60, texts):
        return None
    if all(text.count(":") == 1 for text in texts):
        return None
    notes = _about_numbers(cells.name, texts, numbers.BASE_60, is_doubtful=False)
    return Column("numeric", numbers.BASE_60, notes)


def _about_mark(name, texts, form):
    """Return a note about how the first cell with an ambiguous mark is read."""
    other = numbers.other_form(form)
    readings = ((t, number_of(t, form), number_of(t, other)) for t in texts)
    shown, value, otherwise = next(
        r for r in readings if None not in r and r[1] != r[2]
    )
    mark = "comma" if other[0] == "," else "point"
    return (
        f"{name}: {shown!r} is read as {value:g}; with a decimal {mark} it would be "
        f"{otherwise:g}"
    )


def _about_numbers(name, texts, form, is_doubtful):
    """Return notes about cells that are not plain numbers."""
    notes = []
    limits = [text for text in texts if numbers.limit_side(text)]
    if is_doubtful:
        undo = f" (--form COLUMN={numbers.other_form(form)} reads it so)"
        notes.append(_about_mark(name, texts, form) + undo)
    elif shown := next(
        (t for t in texts if _is_written(t, form) and t not in limits), None
    ):
        notes.append(f"{name}: {shown!r} is read as {number_of(shown, form):g}")
    if limits:
        notes.append(
            f"{name}: limits such as {limits[0]!r} are read as the limit itself; "
            "another column marks cells below (-1) or above (1) a limit"
        )
    return notes


def read_new(cells, kind, form):
    """Return the values of new rows, the cells of another kind, and notes.

    Cells are read in the form of the training rows, or in a form in which more of them
    can be read: with the other decimal mark, as true and false, or as dates such as
    2024-01-31 and 20240131.
    """
    form = form or "." * (kind == "numeric")
    notes = [*about_new(cells, kind, form)]
    read, strays = read_cells(cells, kind, form)
    others = [dates.ISO, dates.WHOLE]
    if kind == "numeric":
        others = [TRUE_OR_FALSE]
        if form[0] in numbers.MARKS:
            others.append(numbers.other_form(form))
    for other in others if strays else []:
        by_other, left = read_cells(cells, kind, other)
        if len(left) < len(strays):
            shown = next(cell for cell in strays if cell not in left)
            value = by_other[cells.rows_of([shown])[0]]
            value = f"{value:g}" if kind == "numeric" else value.astype("M8[s]")
            notes.append(
                f"{cells.name} has a different format from the training rows: "
                f"{shown!r} is read as {value}"
            )
            read, strays = by_other, left
    if strays:
        notes.append(about_strays(cells, kind, strays))
    return read, strays, notes


def about_new(cells, kind, form):
    """Yield notes about numbers and dates of new rows that may have been misread.

    They are read in the form of the training rows, which may not be theirs.
    """
    texts = cells.counts(NO_VALUE)
    if kind == "date":
        yield from _about_order(cells.name, texts, form)
    if kind != "numeric" or form[0] not in numbers.MARKS:
        return
    is_percent = form[1:] == "%"
    for value in [*texts, *(cells.others() if is_percent else [])]:
        number = number_of(value, form)
        if number is not None and ("%" in str(value)) != is_percent:
            here, there = ("no", "one") if is_percent else ("a", "none")
            yield (
                f"{cells.name}: {str(value)!r} is read as {number:g}; it has {here} "
                f"percent sign, and the training rows have {there}"
            )
            break
    marks = [text for text in texts if numbers.other_form(form)[0] in text]
    if marks:
        mark, *_, is_open = numbers.find_mark(texts, form[1:])
        if mark is None and is_open:
            yield _about_mark(cells.name, marks, form)


def _about_order(name, texts, form):
    """Yield a note if all cells are dates with day and month the other way round."""
    other = form.translate(str.maketrans("dm", "md"))
    if other == form or None in (dates.parse_date(text, other) for text in texts):
        return
    read = {text: dates.parse_date(text, form) for text in texts}
    meant = (t for t in texts if read[t] not in (None, dates.parse_date(t, other)))
    if None in read.values() and (shown := next(meant, None)):
        yield (
            f"{name}: all cells are dates as {other}; {shown!r} is read as {form}, "
            f"like the training rows, that is {read[shown]:%Y-%m-%d}"
        )


def _is_written(text, form):
    """Whether a cell is a number with a format that programs do not use."""
    value = number_of(text, form)
    if value is None:
        return False
    try:
        return float(text.replace(",", "." if form[:1] == "," else ",")) != value
    except ValueError:
        return True


def about_strays(cells, kind, strays):
    """Return the note about cells of another kind, which become missing."""
    rows = cells.rows_of(strays)
    n = len(rows)
    noun = "number" if kind == "numeric" else "date"
    shown = listed([shortened(stray) for stray in strays])
    kind = "numeric" if kind == "numeric" else "a date"
    return (
        f"{cells.name} is {kind}: no {noun} in {count(n, 'cell')}, treated as missing "
        f"({shown}; row{'s' * (n > 1)} {listed(rows)} from 0)"
    )


def _describe_dates(cells, texts):
    """Return the column of dates, or None if it does not contain dates."""
    others = cells.others()
    if not all(dates.is_date(value) for value in others):
        return None
    n = sum(texts.values()) + len(others)
    dated = {text: count for text, count in texts.items() if numbers.has_digit(text)}
    if not is_marker([*texts.keys() - dated.keys()], cells):
        dated = texts
    form, other = dates.find_form(dated, _most_strays(n)) if dated else ("", None)
    if form is None:
        return None
    note = f"dates: {cells.name}, read as {form}" if form else f"dates: {cells.name}"
    if other is not None:
        first = "day" if form.startswith("%d") else "month"
        note += f" (the {first} comes first; --form COLUMN={other} would also fit)"
    notes = [note]
    strays = [text for text in texts if dates.parse_date(text, form) is None]
    if strays:
        notes.append(about_strays(cells, "date", strays))
    return Column("date", form, notes)

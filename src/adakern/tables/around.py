"""Detection of titles, units, repeated headers, remarks and totals around a table."""

import re
from collections import Counter

import numpy as np

from adakern._utils.wording import count
from adakern.tables.cells import NO_VALUE

#: Maximum number of lines above a header, and of remarks below a table.
MOST_ABOVE, MOST_REMARKS = 50, 20
#: Number of rows from which to tell whether a column is numeric.
_SAMPLE = 200
#: Note about a row to predict that looks as if it did not belong to the table.
PREDICTED = "predicted like any other"
#: Beginning of cells in the second row below the header of Qualtrics exports.
_QUALTRICS = '{"ImportId"'
_EMPTY = ("", "nan", "None", "NaT")
_TOTAL = re.compile(
    r"(?i)((grand|sub)[ -]?)?(totals?|sum|summe|gesamt|insgesamt|averages?|mean"
    r"|gesamtsumme|gesamtergebnis|zwischensumme|endsumme|mittelwert|durchschnitt"
    r"|total g[eé]n[eé]ral|moyenne|somme|totale|totaal|suma|media|razem|ogółem|toplam"
    r"|celkem|összesen|summa|yhteensä|итого|всего|合计|合計|总计|総計|std|sd|s\.d\."
    r"|std\.? ?dev\.?|standard deviation|standardabweichung|min|max|minimum|maximum"
    r"|median) ?:?"
)
_NUMBER = re.compile(r"[-+]?(\d+[.,]?\d*|[.,]\d+)(e[-+]?\d+)?", re.IGNORECASE)


def is_number(cell):
    """Whether a cell is a plain number, with a decimal point or comma."""
    return bool(_NUMBER.fullmatch(str(cell).strip()))


def header_row(rows, target=None):
    """Index of the header among the first rows (lists of strings) of a file.

    This is the first row that is at least half as full as most rows. A row with the
    name of the target is preferred if only rows of other widths are above it.
    """
    filled = [sum(cell != "" for cell in row) for row in rows]
    several = [n for n in filled if n > 1]
    if not several:
        return 0
    usual = Counter(several).most_common(1)[0][0]
    above = rows[:MOST_ABOVE]
    place = next(k for k, n in enumerate(filled) if n >= max(2, usual / 2))
    named = next((k for k, row in enumerate(above) if target in row), place)
    if all(n != usual for n in filled[:named]):
        place = named
    is_header = target in rows[place] or not any(map(is_number, rows[place]))
    return place if is_header and place < len(above) else 0


def about_above(n):
    """Notes about rows above a header, if there are any."""
    return [f"left out: {count(n, 'line')} above the header"] * bool(n)


def names_recur(first, others):
    """Whether cells of the first row recur in their columns, so it is not a header."""
    others = [row for row in others if row != first]  # a header may be repeated
    seen = [{*column} for column in zip(*others, strict=False)]
    return any(
        cell and cell in column for cell, column in zip(first, seen, strict=False)
    )


def _are_units(columns, n):
    words = np.zeros(n)
    for cells in columns:
        rest = [cell for cell in cells[n:] if cell.casefold() not in NO_VALUE]
        if len(rest) < 3 or sum(map(is_number, rest)) < 0.95 * len(rest):
            continue
        if any(map(is_number, cells[:n])):
            return False
        words += [cell.casefold() not in NO_VALUE for cell in cells[:n]]
    return words.min() >= 2


def n_remarks(frame, target=None):
    """Number of rows at the end that contain a text and hardly anything else."""
    width = frame.shape[1]
    if width < 3:
        return 0
    place = list(frame.columns).index(target) if target in frame else width - 1
    rows = frame.tail(MOST_REMARKS + 1).to_numpy().tolist()
    for n, row in enumerate(reversed(rows)):
        filled = [k for k, cell in enumerate(row) if str(cell).strip() not in _EMPTY]
        if not filled:
            continue
        first = row[filled[0]]
        is_text = isinstance(first, str) and not is_number(first)
        is_first = (frame.iloc[:, filled[0]] == first).sum() == 1
        is_short = len(filled) <= max(1, width // 3) and place not in filled
        if not (is_text and is_first and is_short):
            return n
    return 0


def total_of(frame):
    """Return the cell that marks the last row as a row of totals, or None."""
    last = frame.iloc[-1] if len(frame) > 2 else {}
    filled = [c for c, cell in last.items() if str(cell).strip() not in _EMPTY]
    for column in filled:
        cell = last[column]
        text = cell.strip() if isinstance(cell, str) else ""
        # SAP marks totals by asterisks.
        is_mark = text and column == filled[0] and not text.strip("*Σ∑")
        is_total = is_mark or _TOTAL.fullmatch(text)
        if is_total and (frame[column] == cell).sum() == 1:
            return cell
    return None


def _units(frame, target):
    """Rows below the header with words in otherwise numeric columns.

    Such rows contain units, or the questions and import codes of Qualtrics.
    """
    head = frame.head(_SAMPLE)
    columns = [[str(cell).strip() for cell in head[name]] for name in head]
    n = next((n for n in (2, 1) if _are_units(columns, n)), 0)
    if len(head) > 1 and any(_QUALTRICS in str(cell) for cell in head.iloc[1]):
        n = 2
    return frame.index[:n], f"the {_rows(n)} below the header, {_shown(frame[:n])}"


def _headers(frame, target):
    names = [re.sub(r"Unnamed: \d+", "", str(name)) for name in frame.columns]
    is_header = (frame.to_numpy(dtype=object) == np.array(names, object)).all(axis=1)
    is_header &= len(names) > 1
    description = f"the header, repeated in {count(is_header.sum(), 'row')}"
    return frame.index[is_header], description


def _remarks(frame, target):
    n = n_remarks(frame, target)
    description = f"the last {_rows(n)}, remarks such as {_shown(frame[-1:])}"
    return frame.index[len(frame) - n :], description


def _totals(frame, target):
    totals = []
    while total := total_of(frame[: len(frame) - len(totals)]):
        totals.append(total)
    n = len(totals)
    shown = ", ".join(map(repr, reversed(totals)))
    return frame.index[len(frame) - n :], f"the last {_rows(n)}, {shown}"


def _rows(n):
    return "row" if n == 1 else f"{n} rows"


def _shown(rows):
    """Return the first cell that is not empty."""
    cells = (str(cell).strip() for cell in rows.to_numpy().ravel())
    return repr(next(filter(None, cells), "")[:60])


#: Rows that do not belong to a table, by the name by which they are kept.
OTHERS = {
    "rows:units": _units,
    "rows:headers": _headers,
    "rows:remarks": _remarks,
    "rows:totals": _totals,
}


def without_others(frame, target, notes, *, keep=(), is_typed=False, all_rows=False):
    """Remove rows that do not belong to the table, and renumber the others.

    With ``all_rows``, they are kept and predicted, since each could be a row with
    missing values. Files with typed columns are written by programs, so they are
    searched for totals only.
    """
    rest = frame
    for name in OTHERS if not is_typed else ["rows:totals"]:
        rows, description = OTHERS[name](rest, target)
        if len(rows) and name not in keep:
            are, it = ("is", "it") if len(rows) == 1 else ("are", "them")
            note = f"left out: {description} (--keep {name} keeps {it})"
            if all_rows:
                note = f"{description}, {are} {PREDICTED}"
            notes.append(note)
            rest = rest.drop(index=rows)
    return frame if all_rows else rest.reset_index(drop=True)

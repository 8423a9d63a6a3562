"""Parsing of delimited text to columns of strings."""

import csv
import io
import itertools
import re
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

from adakern._utils.wording import count, listed
from adakern.tables.around import about_above, header_row, is_number, names_recur
from adakern.tables.cells import plain_text
from adakern.tables.unpack import TableError

_SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank"}
#: Separator for a single column: the unit separator, which does not occur in texts.
_NONE = "\x1f"
#: Beginning of the note about short lines.
SHORT = "fewer than"
#: Numbers that no program would use as the name of a row.
_FRACTION = r"[-+]?\d*[.,]\d+"
#: Held while the csv module's limit on the length of a field, a global, is lifted.
_FIELD_LIMIT = threading.Lock()
#: Horizontal line between the rows of a table that is drawn in text.
_RULER = re.compile(r"(?m)^(?=.{0,99}(?:---|===))[-=+|: ]++(?:\r?\n|$)")


@dataclass
class Layout:
    """Format of a text file; values that are None are inferred."""

    separator: str | None = None
    #: Decimal mark of columns in which it is ambiguous.
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    #: Rows to keep although they look as if they did not belong to the table, see
    #: :data:`adakern.tables.around.OTHERS`.
    keep: tuple | list = ()


def delimited(data, name, target, layout, notes):
    """Return (cells, header, layout) of a delimited text file."""
    encoding = layout.encoding or _encoding(data)
    text = _without_rulers(_decode(data, encoding, name, notes), notes)
    if given := re.match(r"sep=(.)\r?\n", text):  # Excel's own hint
        text = text[given.end() :]
    separator = (
        layout.separator
        or (given and given[1])
        or _separator(text, name, target, notes)
    )
    rows, ends = _first_rows(text, separator)
    if above := header_row(rows, target):
        notes += about_above(above)
        text, rows = _below(text, ends[above - 1]), rows[above:]
    first, *others = rows
    if not others:
        raise TableError(f"{name} has no rows.")
    header = layout.header
    if header is None:
        header = _has_header(first, others, target, notes)
    usual = Counter(map(len, others)).most_common(1)[0][0]
    width = len(first) if header else usual
    # Rows may have one more field than the header, without a name.
    is_longer = bool(header) and usual == width + 1
    frame = _parse_fields(text, name, separator, width + is_longer)
    notes += _about_fields(text, separator, width, frame)
    frame = frame.fillna("").iloc[int(header) :]
    if separator == "|":  # cells of drawn tables are padded
        frame = frame.map(str.strip)
    names = first if header else [f"x{i}" for i in range(width)]
    if is_longer and (frame[width].str.strip() == "").all():
        frame = frame.drop(columns=width)
        notes.append("the separator that ends the rows is left out")
    elif is_longer:
        if frame[0].duplicated().any() or frame[0].str.fullmatch(_FRACTION).any():
            raise TableError(
                f"{name}: most lines have {width + 1} fields, and the header {width}: "
                "a field that contains the separator needs quotation marks."
            )
        names = ["", *names]
        notes.append("the first field of each row has no name: it is the row's name")
    inferred = replace(layout, separator=separator, encoding=encoding, header=header)
    return frame, names, inferred


def _decode(data, encoding, name, notes):
    """Decode the text of a file; add a note if the encoding is uncertain."""
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeError) as error:
        raise TableError(f"{name} is not valid {encoding}: {error}.") from None
    if encoding in ("cp1252", "latin-1"):
        notes.append(
            f"encoding: {encoding}, a guess: if letters are wrong, save it as UTF-8"
        )
    elif encoding != "utf-8-sig":
        notes.append(f"encoding: {encoding}")
    text = text.lstrip("\ufeff")
    if "\n" not in text:  # the format "CSV (Macintosh)" of Excel
        text = text.replace("\r", "\n")
    if match := re.search("[\0\x1b]", text):  # escapes occur in iso2022_jp and similar
        line = text[: match.start()].count("\n") + 1
        raise TableError(
            f"{name} has the character {match[0]!r} in line {line}, which is not "
            "text: save it as CSV in UTF-8, Parquet or xlsx."
        )
    return text


def _without_rulers(text, notes):
    """Remove lines of dashes from a text, unless they may be in a quoted field."""
    if '"' in text:
        return text
    text, n = _RULER.subn("", text)
    notes += [f"left out: lines of dashes ({n})"] * bool(n)
    return text


def _parse_fields(text, name, separator, width):
    """Parse all fields as strings, with NaN for the missing fields of short lines."""
    import pandas as pd

    try:
        return pd.read_csv(
            io.BytesIO(text.encode(errors="replace")),
            sep=separator,
            header=None,
            names=range(width),
            dtype=str,
            keep_default_na=False,
            index_col=False,
            skipinitialspace=True,
            # With a single column, an empty line is a row with a missing value.
            skip_blank_lines=width > 1,
        )
    except Exception as error:
        message = str(error).strip()
        if "Expected" in message and "fields in line" in message:
            message += (
                ", lines counted from the header: a field that contains the separator "
                "needs quotation marks"
            )
        if "EOF inside string" in message:
            message += ": a quotation mark is not closed"
        raise TableError(f"{name} cannot be read: {message}.") from error


def _about_fields(text, separator, width, frame):
    """Yield notes about short lines, and about rows within quotation marks."""
    width_read = frame.shape[1]
    n_separators = len(frame) * (width_read - 1) - (width_read - width)
    swallowed = 0
    for column in frame if '"' in text else []:
        cells = frame[column]
        n_separators += int(cells.str.count(re.escape(separator)).sum())
        for cell in cells[cells.str.contains("\n", regex=False, na=False)]:
            n_lines = cell.count("\n")
            is_row = cell.count(separator) == n_lines * (width - 1) > 0
            swallowed += n_lines * is_row
    if text.count(separator) < n_separators:  # pandas does not tell which are missing
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        with _fields_of_any_length():
            n_short = sum(1 < len(line) < width for line in lines)
        if n_short:
            yield (
                f"{SHORT} {width} fields in {count(n_short, 'line')}: others are "
                "missing"
            )
    if swallowed:
        yield (
            f"{count(swallowed, 'row')} within a single cell, between quotation marks: "
            "is a quotation mark not closed?"
        )


def _encoding(data):
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-32" if data.startswith(b"\xff\xfe\0\0") else "utf-16"
    for name in ("utf-8-sig", "cp1252"):
        with suppress(UnicodeDecodeError):
            data.decode(name)
            return name
    return "latin-1"


def _has_header(first, others, target, notes):
    """Whether the first row names the columns."""
    if target in first:
        return True
    if any(map(is_number, first)) or names_recur(first, others):
        notes.append("no header: the columns are x0, x1, ...")
        return False
    notes.append(
        f"the first line is taken as the names of the columns: {listed(first)}"
    )
    return True


def _below(text, n_lines):
    """Remove the first lines of a text."""
    lines = io.StringIO(text, newline="")
    for _ in range(n_lines):
        lines.readline()
    return lines.read()


def _first_rows(text, separator):
    """Return the first thousand non-empty rows, and the last line of each."""
    lines = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True
    )
    rows = []
    ends = []
    with _fields_of_any_length():
        for row in lines:
            cells = list(map(plain_text, row))
            if any(cells):
                rows.append(cells)
                ends.append(lines.line_num)
            if len(rows) == 1000:
                break
    return rows, ends


@contextmanager
def _fields_of_any_length():
    """Lift the limit of the csv module, which other libraries change as well."""
    with _FIELD_LIMIT:
        limit = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _separator(text, name, target, notes):
    """Infer the separator that yields the target and equal numbers of fields."""
    n_lines = sum(
        1 for line in itertools.islice(io.StringIO(text), 1000) if line.strip()
    )
    if n_lines < 2:
        raise TableError(
            f"{name} has {count(n_lines, 'line')}; a table needs a header and a row."
        )
    if text.partition("\n")[0].strip('\r" ') == target:
        return _NONE  # new rows of a single column
    scores = {}
    for separator in _SEPARATORS:
        try:
            rows, _ = _first_rows(text, separator)
            first, *others = rows[header_row(rows, target) :]
        except (csv.Error, ValueError):
            continue
        usual = Counter(map(len, others or [first])).most_common(1)[0][0]
        while others and len(others[-1]) < usual:
            others.pop()  # a remark
        n_usual = sum(len(row) == usual for row in others or [first])
        share = n_usual / max(1, len(others))
        if usual < 2 or share < 0.9:
            continue
        cells = [cell for row in (first, *others) for cell in row]
        marks = set(_SEPARATORS) - {separator, " "}
        whole = [is_number(cell) or not marks & set(cell) for cell in cells]
        scores[separator] = (
            target in first,
            len(first) in (usual, usual - 1),
            separator != " ",
            share == 1,
            sum(whole) / len(cells),
            usual,
        )
    if not scores:
        hint = " Is a quotation mark not closed?" * (text.count('"') % 2)
        raise TableError(
            f"{name} is not a table separated by a comma, semicolon, tab or bar: no "
            f"separator gives all lines the same number of fields, two or more.{hint}"
        )
    best = max(scores, key=scores.__getitem__)
    notes += [f"separator: {_SEPARATORS[best]}"] * (best != ",")
    return best

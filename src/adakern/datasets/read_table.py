"""A table read from a file: its columns, and what they are, without being told."""

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from adakern._utils.hints import did_you_mean
from adakern.datasets.cells import decimal_mark, read_column, texts
from adakern.datasets.unpack import TableError, unpack

__all__ = [
    "Layout",
    "TableError",
    "TableFile",
    "read_columns",
    "read_rows",
    "read_table",
]

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank"}
#: Whole numbers with at most so many values are taken for classes.
MOST_CLASSES = 10
#: Categories of more kinds than this, most of them rare, are names of rows.
MOST_CATEGORIES = 50
#: An identifier with fewer values than this is a category.
FEWEST_GROUPS = 10
_WHO = "patient|subject|person|participant|respondent|household|customer|player|user"
_IDENTIFIER = re.compile(
    rf"(.*[\W_])?((?i:id|ids|index|key|uuid|guid|row|nr|no)|(?i:{_WHO}))|.*[a-z](Id|ID|Nr)"
)
_TIME = re.compile(r"(?i)(.*[\W_])?(year|date|time|timestamp|month|week|day|period)")
_TOTAL = re.compile(r"(?i)((grand|sub)[ -]?)?totals?|sum|summe|gesamt|insgesamt")
_NOT_READ = {
    b"\xd0\xcf\x11\xe0": "an Excel file of before 2007",
    b"SQLite f": "a SQLite database",
    b"\x89HDF": "an HDF5 file",
    b"ARROW1": "a Feather file",
    b"$FL2": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"RDX": "an R file",
    b"%PDF": "a PDF",
    b"\x93NUMPY": "a NumPy file",
    b"\x80\x04\x95": "a pickle",
    b"<!DOCTYPE": "a web page",
    b"<html": "a web page",
}


@dataclass
class Layout:
    """How a text file is written; None is to be found out, or is of no meaning."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None


@dataclass
class TableFile:
    """A table read from a file, as :func:`read_table` gives it.

    Attributes
    ----------
    X : DataFrame
        The features of the rows that have a target: numbers (NaN where missing), text
        (None where missing) and dates as days since 1970.
    y : Series
        The target: numbers, or text for classes that are no numbers.
    task : {"classification", "regression"}
    kinds : dict of str to str
        Feature -> "numeric", "categorical" or "date".
    dropped : dict of str to str
        Column that is no feature -> why.
    groups, times : Series or None
        The columns that say which rows belong together and when they were observed.
    proposed_time : str or None
        A column that may be the time, where none was named.
    notes : list of str
        What was seen and done, a sentence each.
    layout : Layout
    """

    X: Any
    y: Any
    task: str
    kinds: dict[str, str]
    dropped: dict[str, str]
    groups: Any = None
    times: Any = None
    proposed_time: str | None = None
    notes: list[str] = field(default_factory=list)
    layout: Layout = field(default_factory=Layout)


def read_table(path, target, *, task=None, drop=(), group=None, time=None):
    """Read a table from a file, and find out what its columns are.

    Separated values (.csv, .tsv, .txt: comma, semicolon, tab, bar or blanks; decimal
    points or commas; UTF-8, UTF-16 or code page 1252), Parquet and Excel (.xlsx, which
    needs openpyxl), packed (.gz, .bz2, .xz, .zip) or not. Needs pandas.

    A column is numeric if its cells are numbers, up to one in twenty that are none and
    become missing values; ``$45,123`` and ``33%`` are numbers. NA, N/A, NaN, null, ?
    and empty cells are missing values, beside numbers also none, n.a., - and the like.
    In a categorical target empty cells alone are missing: NA and none are classes there.
    Rows without a target are left out, and so is a last row of totals.

    Parameters
    ----------
    path : path-like
    target : str or int
        Name of the column to predict, or its position (0 the first, -1 the last).
    task : {"classification", "regression"}, default=None
        What the target is; None looks at its values.
    drop : sequence of str, default=()
        Columns that are no features, beside those that are found to be none.
    group : str or False, default=None
        The column that says which rows belong together; it is no feature. None takes an
        identifier whose values repeat, False takes none.
    time : str, default=None
        The column that says when a row was observed, dates or numbers.

    Returns
    -------
    TableFile

    Raises
    ------
    TableError
        If the file is no table of rows, has no such column, or nothing to learn from.

    Examples
    --------
    >>> import os, tempfile
    >>> from adakern.datasets import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "prices.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("area;city;price\\n1,5;A;$1.200\\n2,5;B;$900\\n4;A;$950\\n")
    ...     found = read_table(path, "price")
    >>> found.kinds, found.task, found.y.tolist()
    ({'area': 'numeric', 'city': 'categorical'}, 'regression', [1200.0, 900.0, 950.0])
    """
    path = Path(path)
    try:
        return _found(path, target, task, drop, group, time)
    except TableError as error:
        if path.name in str(error):
            raise
        raise TableError(f"{path.name}: {error}") from None


def _found(path, target, task, drop, group, time):
    raw, layout, notes = read_columns(path.read_bytes(), path.name, target=target)
    target = _column(raw, target)
    drop = [_column(raw, name) for name in drop]
    group = group and _column(raw, group)
    time = time and _column(raw, time)
    frame, kinds = typed(raw, layout, target, notes, task)
    frame, y = _with_target(frame, target, notes)
    task = task or _task(y, kinds[target], target, notes)
    if kinds[target] == "date":
        raise TableError(
            f"the target {target!r} holds dates, which are not predicted; give a number, "
            "such as the days since a start."
        )
    if task == "regression" and kinds[target] != "numeric":
        raise TableError(
            f"the target {target!r} holds categories such as {y.iloc[0]!r}, which is no "
            "regression; leave out the task."
        )
    if time is not None and kinds[time] == "categorical":
        raise TableError(f"the time {time!r} holds neither dates nor numbers.")
    for column in filter(None, (group, time)):
        if column == target:
            raise TableError(f"the target {target!r} is group or time too.")
        if frame[column].isna().any():
            raise TableError(
                f"{column!r} is missing in {int(frame[column].isna().sum())} rows; a "
                "group or a time is needed in every row."
            )
    if group is None:
        group = _repeated_identifier(frame, kinds, {target, time, *drop}, notes)
    dropped = dict.fromkeys(drop, "as asked for")
    if group:
        dropped.setdefault(group, "it says which rows belong together")
    for i, column in enumerate(frame.columns):
        if column not in (target, time, *dropped):
            if why := _why_no_feature(frame[column], kinds[column], column, i):
                dropped[column] = why
                notes.append(f"dropped {column!r}: {why}")
    X = frame.drop(columns=[target, *dropped])
    if not X.shape[1]:
        raise TableError("no column is left to learn from.")
    kinds = {column: kinds[column] for column in X.columns}
    notes += _about(X, kinds)
    proposed = None if time else _proposed_time(X, kinds, notes)
    notes.insert(0, f"{len(X)} rows, {X.shape[1]} features, {task} of {target!r}")
    return TableFile(
        X=X,
        y=y,
        task=task,
        kinds=kinds,
        dropped=dropped,
        groups=frame[group] if group else None,
        times=frame[time] if time else None,
        proposed_time=proposed,
        notes=notes,
        layout=layout,
    )


def read_rows(path, kinds):
    """Rows of a file for a model that was fitted on columns of these kinds.

    Parameters
    ----------
    path : path-like
    kinds : dict of str to str
        As :func:`read_table` found them. Other columns of the file are left out.

    Returns
    -------
    DataFrame

    Raises
    ------
    TableError
        If a column is missing, or holds something else than its kind.
    """
    path = Path(path)
    names = list(kinds)
    raw, layout, _ = read_columns(path.read_bytes(), path.name, target=names[0])
    absent = [name for name in names if name not in raw.columns]
    if absent:
        hint = did_you_mean(absent[0], raw.columns)
        raise TableError(
            f"{path.name} has no column {', '.join(map(repr, absent))}, which the model "
            f"was fitted on.{hint} Columns: {_shown(raw.columns)}."
        )
    frame = raw[names].copy()
    for name, kind in kinds.items():
        values = read_column(raw[name], layout.decimal or ".", kind=kind)[0]
        if kind == "numeric" and values.isna().all() and (texts(raw[name]) != "").all():
            raise TableError(
                f"{path.name}: the column {name!r} holds {raw[name].iloc[0]!r}, and the "
                "model was fitted on numbers there."
            )
        frame[name] = values
    return frame


def typed(raw, layout, target, notes, task=None):
    """All columns as numbers, days or categories, with their kinds."""
    import pandas as pd

    columns, kinds = {}, {}
    for name in raw.columns:
        columns[name], kinds[name], said = read_column(
            raw[name], layout.decimal or ".", is_target=name == target
        )
        notes += said
    return pd.DataFrame(columns), kinds


def read_columns(data, name, *, target=None, layout=None):
    """The columns of a file as it has them: (frame, layout, sentences).

    The cells of a text file stay text, the columns of others have their types.
    """
    import pandas as pd

    notes = []
    data = unpack(data, name)
    for start, what in _NOT_READ.items():
        if data.startswith(start):
            raise TableError(
                f"{name} is {what}, which is not read; save it as CSV, Parquet or xlsx."
            )
    if data.startswith(b"PAR1"):
        frame, layout = _library(pd.read_parquet, data, name), Layout()
        if frame.index.name is not None or frame.index.nlevels > 1:
            frame = frame.reset_index()
        frame = frame.reset_index(drop=True)
        frame.columns = _names(frame.columns, target, notes)
    elif data[:4] == b"PK\x03\x04":
        frame, layout = _excel(data, name, target, notes), Layout()
    else:
        frame, layout = _text(data, name, target, layout or Layout(), notes)
    if not len(frame):
        raise TableError(f"{name} holds no rows below its header.")
    return frame, layout, notes


def _library(reader, data, name, **settings):
    try:
        return reader(io.BytesIO(data), **settings)
    except ImportError as error:
        raise TableError(
            f"{name} cannot be read here: {error}. Install that, or save it as CSV."
        ) from None
    except Exception as error:
        raise TableError(f"{name} cannot be read: {error}.") from error


def _excel(data, name, target, notes):
    import pandas as pd

    sheets = _library(
        pd.read_excel, data, name, sheet_name=None, header=None, dtype=object
    )
    first, frame = next(iter(sheets.items()))
    if len(sheets) > 1:
        notes.append(f"{first!r} is read, the first of {len(sheets)} sheets")
    frame = frame.dropna(how="all").reset_index(drop=True)
    if len(frame) < 2:
        raise TableError(f"{name} holds {len(frame)} lines; a table needs more.")
    header = ["" if pd.isna(cell) else str(cell).strip() for cell in frame.iloc[0]]
    frame = frame.iloc[1:].reset_index(drop=True)
    frame.columns = _names(header, target, notes)
    return frame


def _text(data, name, target, layout, notes):
    import pandas as pd

    encoding = layout.encoding or _encoding(data, notes)
    try:
        text = data.decode(encoding)
    except (LookupError, UnicodeError) as error:
        raise TableError(f"{name} is no text in {encoding}: {error}.") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise TableError(
            f"{name} holds a NUL character in line {line}: it is damaged, or no text. "
            "Save it again from the program that made it."
        )
    given = re.match(r"sep=(.)\r?\n", text)
    if given:  # Excel's own hint
        text = text[given.end() :]
    lines = sum(1 for line in islice(io.StringIO(text), 1000) if line.strip())
    if lines < 2:
        raise TableError(f"{name} holds {lines} lines; a table needs more.")
    separator = layout.separator or (given and given[1])
    separator = separator or _separator(text, name, target, notes)
    head = list(islice(_records(text, separator), 1000))
    decimal = layout.decimal
    if decimal is None:
        cells = [cell.strip() for row in head for cell in row]
        decimal = decimal_mark(cells, separator)
        if decimal == ",":
            notes.append("decimal comma")
    header = layout.header
    if header is None:
        header = _has_header(head[0], target, decimal, notes)
    widths, first_line = _widths(text, separator, name)
    width = len(head[0]) if header else widths.most_common(1)[0][0]
    widest = max(widths)
    if widest > width + 1 or (widest > width and not header):
        raise TableError(
            f"{name}: line {first_line[widest]} has {widest} fields and the others "
            f"{width}; is a field with a separator in it without quotation marks?"
        )
    frame = pd.read_csv(
        io.StringIO(text),
        sep=separator,
        header=None,
        names=range(widest),
        dtype=str,
        keep_default_na=False,
        skipinitialspace=True,
        index_col=False,
    ).fillna("")
    frame = frame[(frame != "").any(axis=1)]
    names = [f"x{i}" for i in range(widest)]
    if header:
        frame, names = frame.iloc[1:], [cell.strip() for cell in head[0]]
    if widest == width + 1 and header:
        if (frame[width].str.strip() == "").all():
            frame = frame.drop(columns=width)
            notes.append("a separator at the end of the lines is left out")
        else:
            names = ["", *names]
            notes.append("the first field of each line has no name: it names the row")
    short = sum(count for n, count in widths.items() if n < width)
    if short:
        line = min(first_line[n] for n in widths if n < width)
        notes.append(
            f"{short} {'line has' if short == 1 else 'lines have'} fewer fields (line "
            f"{line}): the last ones are missing values"
        )
    frame = frame.reset_index(drop=True)
    frame.columns = _names(names, target, notes)
    frame = _without_totals(frame, notes)
    return frame, Layout(separator, decimal, encoding, header)


def _encoding(data, notes):
    for start, name in (
        (b"\xff\xfe\0\0", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(start):
            notes.append(f"encoding: {name}")
            return name
    for name in ("utf-8-sig", "cp1252"):
        try:
            data.decode(name)
        except UnicodeDecodeError:
            continue
        if name == "cp1252":
            notes.append("encoding: cp1252, since it is not UTF-8")
        return name
    notes.append("encoding: latin-1, since it is neither UTF-8 nor cp1252")
    return "latin-1"


def _records(text, separator):
    rows = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True
    )
    return (row for row in rows if any(cell.strip() for cell in row))


def _widths(text, separator, name):
    """How many lines have how many fields, and the first line of each such number."""
    widths, first_line = Counter(), {}
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True
    )
    try:
        for row in reader:
            if any(row):
                widths[len(row)] += 1
                first_line.setdefault(len(row), reader.line_num)
    except csv.Error as error:
        raise TableError(
            f"{name} cannot be read from line {reader.line_num} on: {error}. Is a "
            "quotation mark not closed?"
        ) from None
    return widths, first_line


def _separator(text, name, target, notes):
    """The separator that yields the target and gives all lines as many fields."""
    best, found = None, None
    for separator in SEPARATORS:
        try:
            rows = list(islice(_records(text, separator), 500))
        except csv.Error:
            continue
        widths = Counter(map(len, rows[1:] or rows))
        usual, count = widths.most_common(1)[0] if widths else (0, 0)
        if usual < 2 or count < 0.9 * max(1, len(rows) - 1):
            continue
        cells = [cell for row in rows for cell in row]
        others = set(SEPARATORS) - {separator, " "}
        whole = [_is_number(c, ".") or _is_number(c, ",") for c in cells]
        clean = sum(
            is_number or not others & set(cell)
            for is_number, cell in zip(whole, cells, strict=True)
        )
        score = (
            target in [cell.strip() for cell in rows[0]],
            len(rows[0]) in (usual, usual - 1),
            separator != " ",
            count == len(rows[1:]),
            clean / len(cells),
            usual,
        )
        if best is None or score > best:
            best, found = score, separator
    if found is None:
        raise TableError(
            f"{name} is no table separated by a comma, semicolon, tab or bar: no "
            "separator gives all lines the same number of fields, two or more."
        )
    if found != ",":
        notes.append(f"separator: {SEPARATORS[found]}")
    return found


def _has_header(first, target, decimal, notes):
    cells = [cell.strip() for cell in first]
    if isinstance(target, str) and target in cells:
        return True
    if any(_is_number(cell, decimal) for cell in cells):
        notes.append("no header: the columns are called x0, x1, ...")
        return False
    return True


def _is_number(cell, decimal):
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _names(header, target, notes):
    """Names of columns, every one once."""
    names, seen = [], Counter()
    for i, cell in enumerate(header):
        name = str(cell) if str(cell) else f"Unnamed: {i}"
        seen[name] += 1
        if seen[name] > 1 and name == target:
            raise TableError(f"two columns are called {target!r}, the target.")
        if seen[name] > 1:
            again = f"{name}.{seen[name] - 1}"
            notes.append(f"column {i} is called {name!r} as another is, here {again!r}")
            name = again
        names.append(name)
    return names


def _without_totals(frame, notes):
    """The frame without last rows such as "Total": a cell that no other row has."""
    while len(frame) > 2:
        last = frame.iloc[-1]
        totals = [c for c in frame.columns if _TOTAL.fullmatch(str(last[c]).strip())]
        if not totals or (frame[totals[0]] == last[totals[0]]).sum() > 1:
            break
        notes.append(f"left out: the last row, {last[totals[0]]!r} of the others")
        frame = frame.iloc[:-1]
    return frame


def _column(frame, key):
    """The column of this name, or at this position."""
    columns = list(frame.columns)
    if key in columns:
        return key
    if re.fullmatch(r"-?\d+", str(key)) and -len(columns) <= int(key) < len(columns):
        return columns[int(key)]
    hint = did_you_mean(key, columns)
    raise TableError(f"has no column {key!r}.{hint} Columns: {_shown(columns)}.")


def _shown(columns):
    columns = list(columns)
    return ", ".join(map(str, columns[:20])) + (", ..." * (len(columns) > 20))


def _with_target(frame, target, notes):
    given = frame[target].notna()
    if not given.all():
        n = int((~given).sum())
        notes.append(f"left out: {n} {'row' if n == 1 else 'rows'} without a target")
        frame = frame[given].reset_index(drop=True)
    if not len(frame):
        raise TableError(f"the target {target!r} is missing in every row.")
    return frame, frame[target]


def _is_whole(values):
    return bool((values == np.rint(values)).all())


def _repeated_identifier(frame, kinds, others, notes):
    """The identifier whose values repeat, to be kept on one side of every split."""
    found = []
    for name in frame.columns:
        values = frame[name]
        if name in others or values.isna().any() or kinds[name] == "date":
            continue
        if not _IDENTIFIER.fullmatch(name):
            continue
        if kinds[name] == "numeric" and not _is_whole(values):
            continue
        if FEWEST_GROUPS <= values.nunique() < len(values):
            found.append(name)
    if not found:
        return None
    # A patient has visits: rows of the coarser identifier belong together.
    name = min(found, key=lambda name: frame[name].nunique())
    notes.append(
        f"groups: {name!r} has {frame[name].nunique()} values in {len(frame)} rows; rows "
        "of one stay together (--group none: they need not)"
    )
    return name


def _why_no_feature(values, kind, name, position):
    n, values = len(values), values.dropna()
    n_kinds = values.nunique()
    nameless, identifies = name.startswith("Unnamed: "), _IDENTIFIER.fullmatch(name)
    if n_kinds == 0:
        return "empty in every row"
    if n_kinds == 1:
        return f"{values.iloc[0]!r} in every row"
    if kind == "date":
        return ""
    if kind == "numeric":
        whole = _is_whole(values)
        counts = whole and len(values) == n and (values.diff().dropna() == 1).all()
        if counts and (position == 0 or nameless or identifies):
            return "it numbers the rows"
        if whole and n_kinds == n and (nameless or identifies):
            return "an identifier, another number in every row"
        return ""
    if n_kinds > MOST_CATEGORIES and n_kinds > 0.5 * len(values):
        return f"an identifier or free text, {n_kinds} different values"
    if n_kinds == n and n > 20:
        return "an identifier, another in every row"
    return ""


def _about(X, kinds):
    """Sentences about dates, categories and missing values."""
    for name, kind in kinds.items():
        if kind == "date":
            yield f"dates: {name!r}, used as days since 1970"
        elif kind == "categorical":
            known = X[name].dropna().unique()
            shown = ", ".join(known[:4]) + (", ..." * (len(known) > 4))
            yield f"categories: {name!r} has {len(known)} ({shown})"
    n_missing = int(X.isna().sum().sum())
    if n_missing:
        n_rows = int(X.isna().any(axis=1).sum())
        yield (
            f"missing values: {n_missing} in {n_rows} {'row' if n_rows == 1 else 'rows'}"
        )


def _proposed_time(X, kinds, notes):
    """A column of dates, or one that is called so and holds whole numbers."""
    for name, kind in kinds.items():
        named = _TIME.fullmatch(name) and kind == "numeric"
        if kind == "date" or (named and _is_whole(X[name].dropna())):
            notes.append(
                f"time: {name!r} may say when a row was observed; --time {name} tests "
                "on later rows than it trains on"
            )
            return name
    return None


def _task(y, kind, target, notes):
    n_kinds = y.nunique()
    if n_kinds < 2:
        raise TableError(f"the target {target!r} is the same in every row.")
    if kind == "categorical" or n_kinds == 2:
        if n_kinds > max(2, len(y) // 2):
            raise TableError(
                f"the target {target!r} holds {n_kinds} different categories in {len(y)} "
                "rows; as classes they have too few rows each."
            )
        return "classification"
    if _is_whole(y) and n_kinds <= MOST_CLASSES and n_kinds <= len(y) / 5:
        notes.append(
            f"the {n_kinds} whole numbers of {target!r} are taken for classes "
            "(--task regression where they are amounts)"
        )
        return "classification"
    return "regression"

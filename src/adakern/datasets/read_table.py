"""A table read from a file: its columns, and what they are, without being told."""

import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adakern._utils.hints import did_you_mean
from adakern._utils.warn import warn_user
from adakern.datasets.cells import read_column
from adakern.datasets.file_cells import Layout, cells_of_file
from adakern.datasets.unpack import TableError

#: Whole numbers with at most so many values are taken for classes.
_MOST_CLASSES = 10
#: Categories of more kinds than this, most of them rare, are names of rows.
_MOST_CATEGORIES = 50
#: An identifier with fewer values than this is a category.
_FEWEST_GROUPS = 10
_WHO = (
    "patient|subject|person|participant|respondent|individual"
    "|household|customer|player|user"
)
_IDENTIFIER = re.compile(
    rf"(.*[\W_])?(?i:ids?|index|key|uuid|row|nr|{_WHO})|.*[a-z](Id|ID|Nr)"
)
_TIME = re.compile(r"(?i)(.*[\W_])?(year|yr|date|time|month|quarter|week|day|period)")


@dataclass
class TableFile:
    """A table read from a file, as :func:`read_table` gives it.

    Attributes
    ----------
    X : DataFrame
        Numbers (NaN where missing), text (None where missing) and dates as days since
        1970.
    y : Series
        The target: numbers, or text for classes that are no numbers.
    task : {"classification", "regression"}
    kinds : dict of str to str
        Feature -> "numeric", "categorical" or "date".
    date_formats : dict of str to str
        Feature -> how its dates are written, as in ``strptime``.
    dropped : dict of str to str
        Column that is no feature -> why.
    columns : list of str
        All columns of the file, in its order.
    groups, times : Series or None
        The columns that say which rows belong together and when they were observed.
    notes : list of str
        What was seen and done, a sentence each.
    layout : Layout
        How the text file is written.
    """

    X: Any
    y: Any
    task: str
    kinds: dict[str, str]
    date_formats: dict[str, str]
    dropped: dict[str, str]
    columns: list[str]
    groups: Any = None
    times: Any = None
    notes: list[str] = field(default_factory=list)
    layout: Layout = field(default_factory=Layout)


def read_table(path, target, *, task=None, drop=(), group=None, time=None):
    """Read a table from a file, and find out what its columns are.

    Separated values (.csv, .tsv, .txt: comma, semicolon, tab, bar or blanks; decimal
    points or commas; UTF-8, UTF-16 or code page 1252), Parquet and Excel (.xlsx, by
    openpyxl), packed or not.

    A column is numeric if its cells are numbers, ``$45,123`` and ``33%`` too, up to one
    in twenty that become missing values. NA, N/A, NaN, null, ? and empty cells are
    missing, beside numbers also none, n.a., - and the like. In a categorical target
    empty cells alone are missing: NA and none are classes. Rows without a target are
    left out, and so is a last row of totals.

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
        Column of rows that belong together; it is no feature. None takes an identifier
        whose values repeat, False takes none.
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
    ...         _ = file.write("area;city;price\\n1,5;A;$1.200\\n2,5;B;$9\\n4;A;$8\\n")
    ...     found = read_table(path, "price")
    >>> found.kinds, found.task, found.y.tolist()
    ({'area': 'numeric', 'city': 'categorical'}, 'regression', [1200.0, 9.0, 8.0])
    """
    with _named(Path(path)) as (data, name):
        return _found(data, name, target, task, drop, group, time)


def read_rows(path, kinds, date_formats=None, decimal=None):
    """Rows of a file for a model that was fitted on columns of these kinds.

    Parameters
    ----------
    path : path-like
    kinds, date_formats : dict of str to str
        As :func:`read_table` found them. Other columns of the file are left out.
    decimal : str, default=None
        The decimal mark where the file leaves it open ("1.234"): that of the training
        rows.

    Returns
    -------
    DataFrame

    Raises
    ------
    TableError
        If a column is missing, or holds something else than its kind.
    """
    with _named(Path(path)) as (data, name):
        usual = Layout(usual_decimal=decimal)
        raw, layout, notes = cells_of_file(data, name, next(iter(kinds)), usual)
        told = [note for note in notes if note.startswith("left out")]
        frame = raw[
            [find_column(raw, column, by_place=False) for column in kinds]
        ].copy()
        for column, kind in kinds.items():
            form = (date_formats or {}).get(column)
            frame[column], *_, said = read_column(
                raw[column], layout.decimal, kind=kind, form=form
            )
            told += [note for note in said if "thus missing" in note]
        for note in told:
            warn_user(note)
        return frame


@contextmanager
def _named(path):
    """The bytes of a file and its name, which an error of the block tells."""
    try:
        yield path.read_bytes(), path.name
    except TableError as error:
        named = path.name in str(error)
        raise TableError(str(error) if named else f"{path.name}: {error}") from None


def _found(data, name, target, task, drop, group, time):
    frame, kinds, forms, layout, notes = typed_columns(data, name, target)
    target, *drop = (find_column(frame, name) for name in (target, *drop))
    group, time = (name and find_column(frame, name) for name in (group, time))
    given = frame[target].notna()
    if not given.any():
        raise TableError(f"the target {target!r} is missing in every row.")
    if not given.all():
        notes.append(f"left out: {_count((~given).sum(), 'row')} without a target")
    frame = frame[given].reset_index(drop=True)
    task = _checked_task(frame[target], kinds[target], task, notes)
    if (
        task == "classification"
        and kinds[target] == "numeric"
        and not _is_whole(frame[target])
    ):
        frame[target] = frame[target].map(str)
    for column in filter(None, (group, time)):
        if column == target:
            raise TableError(f"the target {target!r} cannot be group or time too.")
        if n_missing := frame[column].isna().sum():
            raise TableError(f"{column!r} is missing in {_count(n_missing, 'row')}.")
    if time and kinds[time] == "categorical":
        raise TableError(f"the time {time!r} holds neither dates nor numbers.")
    if group is None:
        group = _repeated_identifier(frame, kinds, {target, time, *drop}, notes)
    dropped = dict.fromkeys(drop, "as asked for")
    if group:
        dropped.setdefault(group, "it says which rows belong together")
    for i, name in enumerate(frame.columns):
        if name in (target, time, *dropped):
            continue
        if why := _why_no_feature(frame[name], kinds[name], i):
            dropped[name] = why
            notes.append(f"dropped {name!r}: {why}")
    X = frame.drop(columns=[target, *dropped])
    if not X.shape[1]:
        raise TableError("no column is left to learn from.")
    kinds = {name: kinds[name] for name in X.columns}
    notes += _about(X, kinds, time)
    notes.insert(
        0, f"{len(X)} rows, {_count(X.shape[1], 'feature')}, {task} of {target!r}"
    )
    return TableFile(
        X=X,
        y=frame[target],
        task=task,
        kinds=kinds,
        date_formats={name: forms[name] for name in kinds if forms[name]},
        dropped=dropped,
        columns=list(frame.columns),
        groups=frame[group] if group else None,
        times=frame[time] if time else None,
        notes=notes,
        layout=layout,
    )


def typed_columns(data, name, target, layout=None, categorical=()):
    """The frame, kinds and forms of dates by column, the layout and sentences of a
    file; some columns are categorical, whatever their cells look like.
    """
    import pandas as pd

    raw, layout, notes = cells_of_file(data, name, target, layout)
    target, *categorical = (find_column(raw, key) for key in (target, *categorical))
    columns, kinds, forms = {}, {}, {}
    for key in raw.columns:
        kind = "categorical" if key in categorical else None
        found = read_column(
            raw[key], layout.decimal, is_target=key == target, kind=kind
        )
        columns[key], kinds[key], forms[key], said = found
        notes += said
    return pd.DataFrame(columns), kinds, forms, layout, notes


def find_column(frame, key, by_place=True):
    """The column of this name, or at this position."""
    columns = list(frame.columns)
    if isinstance(key, str) and key in columns:
        return key
    if (
        by_place
        and re.fullmatch(r"-?\d+", str(key))
        and -len(columns) <= int(key) < len(columns)
    ):
        return columns[int(key)]
    shown = ", ".join(map(str, columns[:20])) + ", ..." * (len(columns) > 20)
    hint = did_you_mean(str(key), map(str, columns))
    raise TableError(f"no column {key!r} among {len(columns)}.{hint} Columns: {shown}.")


def _count(n, noun):
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _is_whole(values):
    return bool((values == np.rint(values)).all())


def _checked_task(y, kind, task, notes):
    if kind == "date":
        raise TableError(
            f"the target {y.name!r} holds dates, which are not predicted; give a "
            "number, such as the days since a start."
        )
    if task == "regression" and kind != "numeric":
        raise TableError(
            f"the target {y.name!r} holds categories such as {y.iloc[0]!r}, which is "
            "no regression; leave out --task."
        )
    n_kinds = y.nunique()
    if n_kinds < 2:
        raise TableError(f"the target {y.name!r} is the same in every row.")
    if kind == "categorical" and n_kinds > max(2, len(y) // 2):
        raise TableError(
            f"the target {y.name!r} holds {n_kinds} different categories in {len(y)} "
            f"rows, such as {y.iloc[0]!r}; as classes they have too few rows each, and "
            "numbers are written without units and with one decimal mark."
        )
    if task or kind == "categorical" or n_kinds == 2:
        return task or "classification"
    if _is_whole(y) and n_kinds <= _MOST_CLASSES and n_kinds <= len(y) / 5:
        notes.append(
            f"the {n_kinds} whole numbers of {y.name!r} are taken for classes "
            "(--task regression where they are amounts)"
        )
        return "classification"
    return "regression"


def _repeated_identifier(frame, kinds, others, notes):
    """The identifier whose values repeat, to be kept on one side of every split."""
    found = {
        name: frame[name].nunique()
        for name in frame.columns
        if name not in others
        and _IDENTIFIER.fullmatch(name)
        and not re.search(r"(?i)(index|key|row)$", name)
        and kinds[name] != "date"
        and not frame[name].isna().any()
        and (kinds[name] != "numeric" or _is_whole(frame[name]))
    }
    found = {name: n for name, n in found.items() if _FEWEST_GROUPS <= n < len(frame)}
    if not found:
        return None
    # A patient has visits: rows of the coarser identifier belong together.
    name = min(found, key=found.get)
    notes.append(
        f"groups: {name!r} has {found[name]} values in {len(frame)} rows; rows of one "
        "stay together (--group none: they need not)"
    )
    return name


def _why_no_feature(values, kind, position):
    n, values, name = len(values), values.dropna(), values.name
    n_kinds, nameless = values.nunique(), name.startswith("Unnamed: ")
    identifies = nameless or _IDENTIFIER.fullmatch(name)
    first = position == 0 and not _TIME.fullmatch(name)
    if n_kinds == 0:
        return "empty in every row"
    if n_kinds == 1:
        return f"'{values.iloc[0]}' in every row"
    if kind == "numeric" and _is_whole(values):
        if (values.diff().dropna() == 1).all() and len(values) == n:
            return "it numbers the rows" if first or identifies else ""
        return "an identifier, another in every row" * bool(n_kinds == n and identifies)
    if kind == "categorical":
        if n_kinds > _MOST_CATEGORIES and n_kinds > 0.5 * len(values):
            return f"an identifier or free text, {n_kinds} different values"
        return "an identifier, another in every row" * (n_kinds == n > 20)
    return ""


def _about(X, kinds, time):
    """Sentences about categories, missing values and a column that may be the time."""
    for name, kind in kinds.items():
        if kind == "categorical":
            known = X[name].dropna().unique()
            shown = ", ".join(known[:4]) + ", ..." * (len(known) > 4)
            yield f"categories: {name!r} has {len(known)} ({shown})"
    if n_missing := X.isna().sum().sum():
        yield (
            f"missing values: {n_missing} in "
            f"{_count(X.isna().any(axis=1).sum(), 'row')}"
        )
    times = [
        name
        for name, kind in kinds.items()
        if kind == "date"
        or (kind == "numeric" and _TIME.fullmatch(name) and _is_whole(X[name].dropna()))
    ]
    if time or not times:
        return
    yield (
        f"time: --time {times[0]!r} would test on later rows than it trains on, as a "
        "forecast is used"
    )
    if X[times[0]].is_unique:
        return
    for name in X.columns.difference(times, sort=False):
        n_groups = X[name].nunique()
        if 5 <= n_groups <= len(X) / 3 and not X.duplicated([name, times[0]]).any():
            yield (
                f"panel: {name!r} has {n_groups} values, each once at a time; --group "
                f"{name!r} would test on others than it trains on"
            )
            return

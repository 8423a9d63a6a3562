"""Tables read from files, with column types inferred."""

import shlex
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adakern._utils.warn import warn_user
from adakern._utils.wording import count
from adakern.tables import kinds as columns
from adakern.tables.account import Account, AccountTable
from adakern.tables.around import OTHERS, PREDICTED
from adakern.tables.cells import plain_text, sides_of_limits
from adakern.tables.delimited import SHORT, Layout
from adakern.tables.files import cells_of_file
from adakern.tables.meaning import (
    about,
    is_whole,
    repeated_identifier,
    resolve_task,
    why_no_feature,
)
from adakern.tables.typed import (
    LIMITS_OF,
    cells_of,
    columns_of,
    find_column,
    refuse_infinity,
    typed_columns,
)
from adakern.tables.unpack import TableError

#: Maximum number of new rows that may all have a word in place of a number or date. The
#: word marks at most half of the training rows, so more would hardly be due to chance.
MOST_LACKING = 10


@dataclass
class TableFile:
    """A table read from a file by :func:`read_table`.

    Attributes
    ----------
    X : DataFrame
        Features: numbers, strings (NaN if missing) and times in UTC (NaT if missing).
    y : Series or DataFrame
        Target: numbers, or strings for non-numeric classes. Several targets are columns
        of numbers, NaN where missing.
    task : {"classification", "regression"}
        Task inferred from the target, or as given.
    kinds : dict of str to str
        Kind of each feature: "numeric", "categorical", "date" or "text".
    forms : dict of str to str
        Format of each feature: decimal mark and unit of numbers, ``strptime`` format of
        dates.
    dropped : dict of str to str
        Reason for each column that is not a feature.
    columns : list of str
        All columns of the file, in order.
    groups, times : Series or None
        Group labels, and times of observation, of the rows.
    notes : list of str
        Messages about what was inferred and changed.
    layout : Layout
        Encoding and separator of a text file.
    account : AccountTable
        Type and treatment of each column of the file; prints as a table.
    """

    X: Any
    y: Any
    task: str
    kinds: dict[str, str]
    forms: dict[str, str]
    dropped: dict[str, str]
    columns: list[str]
    groups: Any = None
    times: Any = None
    notes: list[str] = field(default_factory=list)
    layout: Layout = field(default_factory=Layout)
    account: AccountTable = field(default_factory=AccountTable)


def read_table(
    path,
    target,
    *,
    task=None,
    drop=(),
    keep=(),
    categorical=(),
    merge=(),
    form=None,
    group=None,
    time=None,
    texts=False,
):
    """Read a table from a file and infer the types of its columns.

    Supported are delimited text (.csv, .tsv, .txt; separated by comma, semicolon, tab,
    bar or blanks; with decimal points or commas; in UTF-8, UTF-16 or code page 1252),
    Parquet, ARFF and Excel (.xlsx, requires openpyxl), compressed or not. Cells of
    Excel that are merged downwards are filled with the first.

    A column is numeric if at least 19 of 20 cells are numbers, including formats such
    as ``$45,123``, ``33%`` and ``12 kg``, or if the other cells are a single word in at
    most half of the rows and there are more than 30 distinct numbers or these seldom
    recur; other cells become missing values. Digits with leading zeros, telephone
    numbers and integers most of which exceed 15 digits are categories. The decimal mark
    is the one with which more cells can be read. NA, N/A, NaN, null, ? and empty cells
    are missing values, in numeric columns also none, n.a., - and the like. In a
    categorical target, only empty cells are missing; NA and none are classes. Rows
    without a target and a final row of totals are dropped. The header is the line with
    the name of the target.

    Parameters
    ----------
    path : path-like
    target : str, int or list of these
        Name or position (0 the first, -1 the last) of the column to predict. Several
        are the targets of one regression.
    task : {"classification", "regression"}, default=None
        Type of the target. If None, inferred from its values.
    drop : sequence of str, default=()
        Columns to drop, in addition to those dropped automatically.
    keep : sequence of str, default=()
        Columns to keep as features even if they look like identifiers, free text or row
        numbers; ``["all"]`` keeps every column not named in ``drop``. Rows that look
        like units, repeated headers, remarks or totals are kept by "rows:units",
        "rows:headers", "rows:remarks" and "rows:totals".
    categorical : sequence of str, default=()
        Columns to treat as categorical even if they look like numbers or dates.
    merge : sequence of str, default=()
        Columns whose categories are merged if they differ only in case, accents or
        blanks; they get the most frequent spelling. ``["all"]`` means all categorical
        columns.
    form : dict of str to str, default=None
        Format of columns, if not that inferred: the decimal mark and unit of numbers,
        such as ``","`` or ``".kg"``, or the ``strptime`` format of dates.
    group : str or False, default=None
        Column of group labels; not used as a feature. If None, an identifier with
        repeated values is used, if there is one; False for no groups.
    time : str, default=None
        Column of observation times, as dates or numbers.
    texts : bool, default=False
        Whether to keep columns of free text as features of the kind "text", which
        :class:`adakern.AdaptiveKernelRegressor` supports. Otherwise they are dropped.

    Returns
    -------
    TableFile

    Raises
    ------
    TableError
        If the file is not a table, lacks a column, or has no usable rows or features.

    Examples
    --------
    >>> import os, tempfile
    >>> from adakern.datasets import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "prices.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("area;city;price\\n1,5;A;$1.200\\n2,5;B;$9\\n4;A;$8\\n")
    ...     table = read_table(path, "price")
    >>> table.kinds, table.task, table.y.tolist()
    ({'area': 'numeric', 'city': 'categorical'}, 'regression', [1200.0, 9.0, 8.0])
    """
    return read_columns(
        path,
        target,
        task=task,
        drop=drop,
        keep=keep,
        categorical=categorical,
        merge=merge,
        form=form,
        group=group,
        time=time,
        texts=texts,
    )[0]


def read_columns(
    path,
    target,
    *,
    task=None,
    drop=(),
    keep=(),
    group=None,
    time=None,
    categorical=(),
    **read,
):
    """Return the result of `read_table`, and the typed columns that it contains."""
    with _file_content(Path(path)) as (data, name):
        layout = Layout(keep=[key for key in keep if key in OTHERS])
        keep = [key for key in keep if key not in OTHERS]
        target = plain_text(target) if isinstance(target, str) else target
        typed = typed_columns(data, name, target, layout, categorical, **read)
        several = target if isinstance(target, list | tuple) else [target]
        keep = [*keep, *categorical]
        roles = _find_roles(typed[0], several, task, drop, keep, group, time)
        return _table_file(typed, roles), typed


def read_rows(path, kinds, forms=None, decimal=None):
    """Read new rows from a file for a fitted model.

    Every row of the file is returned, in order, even if all of its cells are empty.

    Parameters
    ----------
    path : path-like
    kinds, forms : dict of str to str
        As returned by :func:`read_table`. Other columns of the file are ignored.
    decimal : str, default=None
        Decimal mark of numeric columns without a form.

    Returns
    -------
    DataFrame

    Raises
    ------
    TableError
        If a column is missing or has values of another kind.
    """
    import pandas as pd

    with _file_content(Path(path)) as (data, name):
        named = (column for column in kinds if not column.startswith("Unnamed: "))
        raw, _, notes = cells_of_file(data, name, next(named, None), all_rows=True)
        for note in notes:
            if any(mark in note for mark in (PREDICTED, "left out", SHORT)):
                warn_user(note)
        columns = {}
        forms = forms or {}
        add_limits(raw, forms)
        for column, kind in kinds.items():
            form = forms.get(column) or (kind == "numeric" and decimal) or ""
            values = raw[find_column(raw, column, by_place=False)]
            columns[column] = read_as(values, column, kind, form)
        return pd.DataFrame(columns, index=raw.index)


def add_limits(given, forms):
    """Add columns to new rows that mark which cells of other columns are limits."""
    import pandas as pd

    for name, form in forms.items():
        source = form.removeprefix(LIMITS_OF)
        if form.startswith(LIMITS_OF) and name not in given and source in given:
            sides = sides_of_limits(cells_of(given[source], source))
            given[name] = pd.Series(sides, index=given[source].index)


def read_as(values, name, kind, form):
    """Read a column of new rows in the same way as that of the training rows."""
    import pandas as pd

    cells = cells_of(values, name)
    read, strays, notes = columns.read_new(cells, kind, form)
    may_lack_all = len(values) <= MOST_LACKING and columns.is_one_word(strays)
    if pd.isna(read).all() and strays and not may_lack_all:
        row = cells.rows_of(strays[:1])[0]
        written = f", written {form[:60]}" if kind == "date" and form else ""
        noun = "numbers" if kind == "numeric" else "dates"
        raise TableError(
            f"the column {name!r} holds {strays[0]!r} (row {row} from 0); the model "
            f"was fitted on {noun}{written}: write it so, or leave the cell empty."
        )
    for note in notes:
        warn_user(note)
    refuse_infinity(read, cells)
    return pd.Series(read, index=values.index, name=name)


@contextmanager
def _file_content(path):
    """Context with the content and name of a file, which is added to errors."""
    try:
        if path.is_char_device():  # /dev/zero never ends
            raise TableError("it is a device, not a file.")
        yield path.read_bytes(), path.name
    except TableError as error:
        named = path.name in str(error)
        raise TableError(str(error) if named else f"{path.name}: {error}") from None


@dataclass
class _Roles:
    """Requested roles of columns, by name."""

    targets: list
    task: Any
    drop: list
    keep: set
    group: Any
    time: Any


def _find_roles(frame, targets, task, drop, keep, group, time):
    """Resolve requested columns, by name or position, to the :class:`_Roles`."""
    targets = [find_column(frame, key) for key in targets]
    drop = [find_column(frame, key) for key in drop]
    keep = columns_of(frame, keep)
    group = group and find_column(frame, group)
    time = time and find_column(frame, time)
    for i, name in enumerate(targets):
        if name in (group, time, *targets[:i]):
            raise TableError(
                f"the target {name!r} cannot be group, time or another target too."
            )
    return _Roles(targets, task, drop, keep, group, time)


def _table_file(typed, roles):
    """Return the :class:`TableFile` of typed columns and requested roles."""
    frame, columns, layout, notes = typed
    kinds = {name: column.kind for name, column in columns.items()}
    forms = {name: column.form for name, column in columns.items()}
    targets = roles.targets
    time = roles.time
    target, *more = targets
    frame = _with_target(frame, targets, notes)
    task = _task_of(frame, kinds, roles, notes)
    if task == "classification" and kinds[target] == "numeric":
        # Labels as in the file: 1 instead of the 1.0 due to missing values.
        y = frame[target]
        frame[target] = y.astype("int64") if is_whole(y) else y.map(str)
    for column in filter(None, (roles.group, time)):
        if n_missing := frame[column].isna().sum():
            raise TableError(f"{column!r} is missing in {count(n_missing, 'row')}.")
    if time and kinds[time] == "categorical":
        raise TableError(f"the time {time!r} must be dates or numbers.")
    group = roles.group
    if group is None:
        others = {*targets, time, *roles.drop, *roles.keep}
        group = repeated_identifier(frame, kinds, others, notes)
    dropped = _dropped(frame, kinds, roles, group, notes)
    X = frame.drop(columns=[*targets, *dropped])
    if not X.shape[1]:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in dropped.items())
        shown = f" ({reasons})" if reasons else ""
        raise TableError(
            f"no feature column is left{shown}; keep= or --keep keeps a column that "
            "was dropped."
        )
    account = _account(frame, kinds, forms, dropped, roles, group, task)
    kinds = {name: kinds[name] for name in X.columns}
    notes += about(X, kinds, time)
    of = ", ".join(map(repr, targets))
    notes.insert(0, f"{len(X)} rows, {count(X.shape[1], 'feature')}, {task} of {of}")
    return TableFile(
        X=X,
        y=frame[targets] if more else frame[target],
        task=task,
        kinds=kinds,
        forms={name: forms[name] for name in kinds if forms[name]},
        dropped=dropped,
        columns=list(frame.columns),
        groups=frame[group] if group else None,
        times=frame[time] if time else None,
        notes=notes,
        layout=layout,
        account=account,
    )


def _with_target(frame, targets, notes):
    """Select the rows with a target."""
    known = frame[targets].notna()
    for target in targets:
        if not known[target].any():
            raise TableError(f"the target {target!r} is missing in every row.")
    given = known.any(axis=1)
    if not given.all():
        notes.append(f"left out: {count((~given).sum(), 'row')} without a target")
    if n := (given & ~known.all(axis=1)).sum():
        notes.append(f"{count(n, 'row')} without some of the targets")
    return frame[given].reset_index(drop=True)


def _task_of(frame, kinds, roles, notes):
    """Return the task of the target; several targets must be numeric."""
    target, *more = roles.targets
    if not more:
        return resolve_task(frame[target], kinds[target], roles.task, notes)
    for name in roles.targets:
        if roles.task == "classification" or kinds[name] == "categorical":
            raise TableError(
                f"several targets must all be numeric, and {name!r} has classes: fit "
                "a model per target, or use scikit-learn's MultiOutputClassifier in "
                "Python."
            )
        resolve_task(frame[name].dropna(), kinds[name], "regression", notes)
    return "regression"


def _dropped(frame, kinds, roles, group, notes):
    """Return the columns that are not features, with reasons."""
    dropped = dict.fromkeys(roles.drop, "by request")
    if group:
        dropped.setdefault(group, "group of the row")
    equal = frame.index[frame.duplicated()]
    if len(equal):
        notes.append(
            f"duplicates: {count(len(equal), 'row')} equal to an earlier one in every "
            f"column, such as row {equal[0]} (counted from 0); remove what was entered "
            "twice"
        )
    for i, name in enumerate(frame.columns):
        if name in (*roles.targets, roles.time, *dropped, *roles.keep):
            continue
        if why := why_no_feature(frame[name], kinds[name], i, len(frame) - len(equal)):
            dropped[name] = why
            notes.append(f"dropped {name!r}: {why} (--keep {name!r} keeps it)")
    return dropped


def _account(frame, kinds, forms, dropped, roles, group, task):
    """Return the :class:`AccountTable` of all columns of a file."""
    account = AccountTable()
    for name in frame.columns:
        kind = kinds[name]
        form = forms[name]
        use = "feature"
        typed = shlex.quote(str(name))
        option = f"--categorical {typed}" if kind != "categorical" else ""
        if name in roles.targets:
            is_number = task == "classification" and kind == "numeric"
            use = f"target, {task}"
            option = "--task regression" * is_number
        elif name in dropped:
            use = f"dropped: {dropped[name]}"
            option = "--group none" if name == group else f"--keep {typed}"
            if name in roles.drop or name == roles.group:
                option = ""
        elif name == roles.time:
            use = "feature, and the order of the rows"
        elif form.startswith(LIMITS_OF):
            use = "feature, -1 below a limit and 1 above"
            option = f"--drop {typed}"
        elif kind == "text":
            use = "feature, numbers from its character n-grams"
        n_levels = frame[name].nunique() if kind == "categorical" else None
        n_missing = int(frame[name].isna().sum())
        account.append(Account(name, kind, form, n_missing, n_levels, use, option))
    return account

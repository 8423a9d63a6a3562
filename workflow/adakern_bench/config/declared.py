"""A folder of tables as a suite, described by its file SETS.csv.

SETS.csv has one line per table and the columns ``file`` (CSV or Parquet, in the same
folder), ``target``, ``kind`` (random, grouped or time) and ``column`` (that of the
groups or the time). An optional column ``task`` states the task, which is inferred
otherwise. All lines are checked before anything runs, and all problems are reported at
once.
"""

import csv
import json
from pathlib import Path

from adakern._utils.hints import did_you_mean
from adakern._utils.wording import count
from adakern.datasets import TableError
from adakern_bench.base.notes import notes
from adakern_bench.base.paths import raw_folders
from adakern_bench.base.plain_text import bullets
from adakern_bench.config.code_version import code_version
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.entry import DatasetEntry
from adakern_bench.config.infer import inferred
from adakern_bench.config.suite import is_selected

DECLARATION = "SETS.csv"
#: Kind of split -> role of the column that defines it.
ROLES = {"random": None, "grouped": "group", "time": "time"}
COLUMNS = ("file", "target", "kind", "column")
#: Smaller tables are not informative; see docs/results/preregistration.md.
FEWEST_ROWS = 50


def is_needed(config):
    """Whether the suite of a configuration is a folder of tables."""
    return config.suite is not None and bool(config.suite.tables)


def fill_in(config):
    """Add the tables of the folder to the data sets, or raise a ConfigError."""
    suite = config.suite
    folder = _folder(config)
    folds = max(config.search.folds, config.protocol.repeats)
    entries = {}
    problems = []
    with notes(Path(config.data.cache) / "declared.json") as known:
        for row in _declared(folder):
            stem = Path(row["file"]).name.partition(".")[0]
            name = f"{suite.name}-{stem}"
            try:
                if name in config.dataset or name in entries:
                    raise TableError(
                        f"the name {name} is taken: the table is declared twice, or "
                        "another file has the same name"
                    )
                stated = _stated(row, folder, suite.tables, folds, known)
                entries[name] = DatasetEntry(**stated)
            except TableError as error:
                told = str(error).removeprefix(f"{row['file']}: ")
                problems.append(f"{row['file']}: {told}")
    if problems:
        raise ConfigError(
            f"{folder / DECLARATION} has invalid lines:\n{bullets(problems)}\nCorrect "
            "these lines or remove them"
        )
    for name, entry in entries.items():
        if is_selected(suite, name.removeprefix(f"{suite.name}-"), entry.n):
            config.dataset[name] = entry


def _folder(config):
    """Return the folder of tables, below the cache or the mirror."""
    tables = config.suite.tables
    if Path(tables).is_absolute() or ".." in Path(tables).parts:
        raise ConfigError(
            f"suite.tables={tables!r} must be a folder below {config.data.cache}/raw, "
            "or below data.mirror"
        )
    folders = [place / tables for place in raw_folders(config.data)]
    for folder in folders:
        if (folder / DECLARATION).is_file():
            return folder
    raise ConfigError(
        f"suite.tables={tables}: there is no {' or '.join(map(str, folders))} with a "
        f"file {DECLARATION}. Put the tables there, and a {DECLARATION} with the "
        f"columns {', '.join(COLUMNS)} and one line per table"
    )


def _declared(folder):
    """Read the lines of SETS.csv."""
    path = folder / DECLARATION
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
        reader = csv.DictReader(file, restval="")
        lines = list(reader)
    absent = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if absent or not lines:
        raise ConfigError(
            f"{path} has no {' and no '.join(map(repr, absent)) or 'line'}: expected "
            f"the columns {', '.join(COLUMNS)}, separated by commas, and one line per "
            "table"
        )
    return lines


def _stated(row, folder, tables, folds, known):
    """Return the settings of the entry of a line; a TableError says what is wrong."""
    if None in row:  # the key of csv.DictReader for surplus values
        raise TableError(
            f"the line has more values than {DECLARATION} has columns; put names with "
            "a comma in double quotes"
        )
    path = folder / row["file"]
    if path.parent != folder or not path.is_file():
        raise TableError(f"there is no such file in the folder of {DECLARATION}")
    file = path.stat()
    code = code_version("adakern_bench.config.declared")
    seen = [row, tables, folds, file.st_size, file.st_mtime_ns, code]
    note = json.dumps(seen, sort_keys=True)
    if note not in known:
        known[note] = _checked(row, path, f"{tables}/{path.name}", folds)
    return known[note]


def _checked(row, path, place, folds):
    """Return the same as `_stated`, inferred from the file and checked."""
    kind = row["kind"]
    column = row["column"]
    if kind not in ROLES:
        hint = did_you_mean(kind, [*ROLES])
        raise TableError(f"kind must be one of {', '.join(ROLES)}, got {kind!r}.{hint}")
    role = ROLES[kind]
    if bool(role) != bool(column):
        need = f"needs the {role} in column" if role else "needs no column"
        raise TableError(f"kind {kind} {need}, and column is {column!r}")
    options = {"group": False, "task": row.get("task") or None}
    if role:
        options[role] = column
    stated, found, _ = inferred(path, place, row["target"], **options)
    if missing := [note for note in found.notes if note.endswith("without a target")]:
        raise TableError(
            f"the target {row['target']!r} has missing values ({missing[0]})"
        )
    if len(found.X) < FEWEST_ROWS:
        raise TableError(
            f"{count(len(found.X), 'row')}, expected at least {FEWEST_ROWS}"
        )
    values = found.times if found.groups is None else found.groups
    if values is not None and (n := values.nunique()) <= folds:
        raise TableError(
            f"{column!r} has {count(n, 'different value')}, but {folds} folds need at "
            f"least {folds + 1}"
        )
    return stated

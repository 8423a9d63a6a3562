"""Entry of a user's own table, inferred from the file for the user to check and
edit.
"""

import re
from pathlib import Path

from adakern.datasets import TableError
from adakern.tables.read_table import read_columns
from adakern.tables.typed import ALL, find_column
from adakern_bench.base.plain_text import one_line


def inferred(file, path, target, **options):
    """Return (entry, table, columns) of a file; `path` is its path below the
    raw data.
    """
    found, typed = read_columns(file, target, **options)
    if found.groups is not None and found.groups.nunique() < 2:
        raise TableError(
            f"the group column {found.groups.name!r} is {found.groups.iloc[0]!r} in "
            "every row, but methods are tested on unseen groups: use another column, "
            "or --group none"
        )
    columns = list(found.columns)
    y = found.y if hasattr(found.y, "columns") else found.y.to_frame()
    targets = list(y)
    known = y.notna().all(axis=1)
    if not known.all():
        found.notes.append("a comparison leaves out rows in which a target is missing")

    def key(column):
        """Key of a column: its name or, if YAML could misread that, its position."""
        plain = re.fullmatch(r"[^\W\d][^$\\,]*|\d+", column) and column.isprintable()
        return column if plain else columns.index(column)

    def named(column):
        """Key of the column that an option names; "all" stands for every column."""
        is_all = column == ALL and ALL not in columns
        return ALL if is_all else key(find_column(found, column))

    entry = {
        "title": one_line(Path(file).name),
        "task": found.task,
        "files": [{"path": path}],
        "format": "table",
        "separator": found.layout.separator,
        "decimal": found.layout.decimal,
        "encoding": found.layout.encoding,
        "header": found.layout.header,
        "target": [*map(key, targets)] if len(targets) > 1 else key(*targets),
        "drop": [key(column) for column in found.dropped],
        "categorical": list(map(named, options.get("categorical", ()))),
        "merge": list(map(named, options.get("merge", ()))),
        "form": {named(column): v for column, v in options.get("form", {}).items()},
        "keep": list(found.layout.keep),
        "groups": None if found.groups is None else key(found.groups.name),
        "time": None if found.times is None else key(found.times.name),
        "n": int(known.sum()),
    }
    stated = {key: v for key, v in entry.items() if v not in ([], {}, None)}
    return stated, found, typed


def inferred_yaml(name, file, path, target, **options):
    """Return (text of ``conf/dataset/<name>.yaml``, table, columns) of a file."""
    import yaml

    entry, found, typed = inferred(file, path, target, **options)
    text = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=88)
    comment = "".join(f"# - {one_line(note)}\n" for note in found.notes)
    first = (
        "# Written by `adakern compare`, which uses it from now on; you may edit it.\n"
    )
    return f"# @package dataset.{name}\n{first}{comment}{text}", found, typed

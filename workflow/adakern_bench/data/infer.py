"""The entry of a table of one's own, found by looking at the file, to be read and
edited.
"""

import re
from pathlib import Path

from adakern.datasets import read_table
from adakern.tables.read_table import find_column
from adakern_bench.base.plain_text import one_line


def inferred_yaml(name, file, path, target, **options):
    """(text of ``conf/dataset/<name>.yaml``, the table) of a file."""
    import yaml

    found = read_table(file, target, **options)
    columns = list(found.columns)

    def key(column):
        """The column by its name or, where YAML reads another, by its position."""
        plain = re.fullmatch(r"[^\W\d][^$\\,]*|\d+", column) and column.isprintable()
        return column if plain else columns.index(column)

    entry = {
        "title": one_line(Path(file).name),
        "task": found.task,
        "files": [{"path": path}],
        "format": "table",
        "separator": found.layout.separator,
        "decimal": found.layout.decimal,
        "encoding": found.layout.encoding,
        "header": found.layout.header,
        "target": key(found.y.name),
        "drop": [key(column) for column in found.dropped],
        "categorical": [
            key(find_column(found, column)) for column in options.get("categorical", ())
        ],
        "groups": None if found.groups is None else key(found.groups.name),
        "time": None if found.times is None else key(found.times.name),
        "n": len(found.X),
    }
    entry = {key: value for key, value in entry.items() if value not in ([], None)}
    text = yaml.safe_dump(entry, sort_keys=False, allow_unicode=True, width=88)
    comment = "".join(f"# - {one_line(note)}\n" for note in found.notes)
    first = "# Made by `adakern compare`, which goes by it from now on; edit it.\n"
    return f"# @package dataset.{name}\n{first}{comment}{text}", found

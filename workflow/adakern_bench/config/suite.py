"""Suites: many data sets described by one file."""

import csv
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from adakern_bench.config.entry import DatasetEntry


@dataclass
class Suite:
    """Data sets that share a description."""

    #: Prefix of the names of its data sets.
    name: str = ""
    title: str = ""
    #: Number of an OpenML study whose tasks (or data sets) form the suite; replaces
    #: `sets` and `entry`.
    openml: str | None = None
    #: CSV file beside the suite's YAML file with one line per set: the column ``set``
    #: contains its name, the others settings of its entry (the columns of ``drop`` are
    #: separated by blanks; an empty cell sets nothing).
    sets: str = ""
    #: Folder of tables below that of the raw data, or below the mirror, whose SETS.csv
    #: declares them; replaces `sets` and `entry`.
    tables: str | None = None
    #: Entry that all sets have in common; ``{set}`` stands for the name of a set.
    entry: DatasetEntry = field(default_factory=DatasetEntry)
    #: Only these sets; all if empty.
    only: list[str] = field(default_factory=list)
    #: Only sets with a number of rows in this range.
    min_rows: int | None = None
    max_rows: int | None = None


def suite_sets(suite, folder):
    """Name -> settings of each set in the CSV file of a suite, selected or not."""
    with open(Path(folder) / suite.sets, newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        row.pop("set"): {key: _stated(key, v) for key, v in row.items() if v}
        for row in rows
    }


def _stated(key, value):
    if key == "drop":
        return [int(column) for column in value.split()]
    return value if key in ("fingerprint", "sha256", "note") else int(value)


def expand_suite(suite, sets):
    """Return ``<suite>-<set>`` -> entry for the selected ones of all `sets`."""
    return {
        f"{suite.name}-{name}": _entry(suite.entry, name, stated)
        for name, stated in sets.items()
        if is_selected(suite, name, stated.get("n"))
    }


def is_selected(suite, name, n):
    """Whether a suite selects a set of this name with `n` rows."""
    return (not suite.only or name in suite.only) and has_size(suite, n)


def has_size(suite, n):
    """Whether `n` rows are in the range of a suite."""
    return (suite.max_rows is None or n <= suite.max_rows) and (
        suite.min_rows is None or n >= suite.min_rows
    )


def _entry(template, name, stated):
    filled = json.loads(json.dumps(asdict(template)).replace("{set}", name))
    file = filled["files"][0]
    file["sha256"] = stated.pop("sha256", file["sha256"])
    return DatasetEntry(**filled | stated)

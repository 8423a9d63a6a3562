"""Suites: one file that stands for the entries of many data sets."""

import csv
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from adakern_bench.config.entry import DatasetEntry


@dataclass
class Suite:
    """Data sets that come together, described once."""

    #: The names of its data sets begin with it.
    name: str = ""
    title: str = ""
    #: Number of a study of OpenML, whose tasks (or data sets) are the suite; instead of
    #: `sets` and `entry`.
    openml: str | None = None
    #: CSV file beside the suite's own, one line a set: the column ``set`` names it, the
    #: others hold what its entry states (the columns of ``drop`` with blanks between
    #: them; nothing where a cell is empty).
    sets: str = ""
    #: Folder of tables below the folder of raw data, or below the mirror, whose
    #: SETS.csv declares them; instead of `sets` and `entry`.
    tables: str | None = None
    #: What all sets have in common; ``{set}`` stands for the name of a set.
    entry: DatasetEntry = field(default_factory=DatasetEntry)
    #: Only these sets; all where empty.
    only: list[str] = field(default_factory=list)
    #: Only sets of so many rows.
    min_rows: int | None = None
    max_rows: int | None = None


def suite_sets(suite, folder):
    """What is known of the sets of a suite: their rows in its CSV, selected or not."""
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


def expand_suite(suite, folder):
    """``<suite>-<set>`` -> entry, of the sets that are selected."""
    return {
        f"{suite.name}-{name}": _entry(suite.entry, name, stated)
        for name, stated in suite_sets(suite, folder).items()
        if is_selected(suite, name, stated.get("n"))
    }


def is_selected(suite, name, n):
    """Whether a set of `n` rows is among those that a suite asks for."""
    return (
        (not suite.only or name in suite.only)
        and (suite.max_rows is None or n <= suite.max_rows)
        and (suite.min_rows is None or n >= suite.min_rows)
    )


def _entry(template, name, stated):
    filled = json.loads(json.dumps(asdict(template)).replace("{set}", name))
    file = filled["files"][0]
    file["sha256"] = stated.pop("sha256", file["sha256"])
    return DatasetEntry(**filled | stated)

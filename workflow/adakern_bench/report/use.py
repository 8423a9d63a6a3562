"""Commands that fit and use the best method of a comparison on the user's own table."""

import json
import shlex
from collections import Counter
from pathlib import Path

import pandas as pd

from adakern.model_file import written
from adakern.tables.encoding import takes_raw_columns
from adakern.tables.typed import ALL
from adakern_bench.config.entry import DatasetEntry, SourceFile
from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.schema import TASK_RECIPE
from adakern_bench.data.parsers import parse
from adakern_bench.report.tables import read_csv


def _names(entry, path):
    """Position -> name of each column if the entry refers to columns by position, else
    {}.

    Commands look up names first, so a position could be mistaken for a name.
    """
    files = [SourceFile(**file) for file in entry["files"]]
    read = DatasetEntry(**entry | {"files": files})
    keys = [*read.targets, read.groups, read.time]
    keys += [*read.drop, *read.categorical, *read.merge, *read.form]
    if not any(isinstance(key, int) for key in keys):
        return {}
    frame = parse(Path(path).read_bytes(), read, *files)
    return {i: name for i, name in enumerate(frame) if "," not in name}


def _listed(columns, names):
    """Format a column, or several, as the value of an option; None for none."""
    each = columns if isinstance(columns, list) else [columns]
    return ",".join(str(names.get(column, column)) for column in each) or None


def out_of_time(out):
    """Whether most runs timed out, and a sentence about those that did."""
    runs = pd.read_parquet(Path(out) / "records.parquet")["status"]
    cut = int((runs == "timeout").sum())
    others = " and are not compared" * (cut < len(runs))
    text = (
        f"{cut} of {len(runs)} runs ran out of time{others}. Repeat the command to "
        "continue, or increase --minutes."
    )
    return 2 * cut > len(runs), text if cut else ""


def model_lines(out, config, file=None):
    """Commands that fit the best method to all rows and predict new ones, if possible.

    The parameters are those that the searches selected most often.
    """
    ranks = Path(out) / "ranks.csv"
    entries = config.get("dataset", {})
    if len(entries) != 1 or not ranks.exists():
        return []
    ((name, entry),) = entries.items()
    if entry.get("format") != "table":
        return []
    method = read_csv(ranks)["method"][0]
    runs = pd.read_parquet(Path(out) / "records.parquet")
    runs = runs[(runs["dataset"] == name) & (runs["method"] == method)]
    chosen = Counter(runs.loc[runs["status"] == "ok", "chosen"])
    if not chosen:
        return []
    if config["method"][method].get("python"):  # its models cannot be saved
        return []
    recipe = config["method"][method][TASK_RECIPE[entry["task"]]]
    estimator = make_estimator(
        recipe["estimator"],
        json.loads(chosen.most_common(1)[0][0]),
        is_planned=True,
    )
    path = file or f"data/raw/{entry['files'][0]['path']}"
    names = _names(entry, path)
    group, time = (names.get(entry[key], entry[key]) for key in ("groups", "time"))
    options = {
        "--target": _listed(entry["target"], names),
        "--task": entry["task"],
        "--group": "none" if group is None else group,
        "--time": time,
        "--drop": _listed(entry["drop"], names),
        "--keep": _listed([ALL, *entry["keep"]], names),
        "--categorical": _listed(entry["categorical"], names),
        "--merge": _listed(entry["merge"], names),
        "--method": None if takes_raw_columns(estimator) else written(estimator),
        "--output": f"{name.removeprefix('my-')}.skops",
    }
    pairs = [(option, value) for option, value in options.items() if value is not None]
    pairs += [
        ("--form", f"{names.get(column, column)}={form}")
        for column, form in entry["form"].items()
    ]
    interval = " --interval 0.9" * hasattr(estimator, "predict_interval")
    return [
        shlex.join(["adakern", "fit", str(path), *_arguments(pairs)]),
        f"adakern predict {shlex.quote(options['--output'])} new.csv{interval} "
        "> predicted.csv",
    ]


def _arguments(pairs):
    """Options and values as arguments, joined by = if a value looks like an option."""
    arguments = []
    for option, value in pairs:
        value = str(value)
        joined = value.startswith("-")
        arguments += [f"{option}={value}"] if joined else [option, value]
    return arguments

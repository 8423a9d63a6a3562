"""From a comparison on your own table to a model of its best method."""

import json
import shlex
from collections import Counter
from pathlib import Path

import pandas as pd

from adakern.model_file import written
from adakern.tables.encoding import takes_raw_columns
from adakern.tables.typed import ALL
from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.schema import TASK_RECIPE
from adakern_bench.report.tables import read_csv


def _listed(columns):
    """A column, or several, as an option has them; None for none."""
    each = columns if isinstance(columns, list) else [columns]
    return ",".join(map(str, each)) or None


def out_of_time(out):
    """Whether most runs timed out, and a sentence about those."""
    runs = pd.read_parquet(Path(out) / "records.parquet")["status"]
    cut = int((runs == "timeout").sum())
    others = " and are not compared" * (cut < len(runs))
    said = (
        f"{cut} of {len(runs)} runs ran out of time{others}. Repeat the command to "
        "continue, or increase --minutes."
    )
    return 2 * cut > len(runs), said if cut else ""


def model_lines(out, config, file=None):
    """Commands that fit the best method to all rows and predict new ones, if any.

    Its parameters are those chosen most often by the searches.
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
    if config["method"][method].get("python"):  # of which no model is kept
        return []
    recipe = config["method"][method][TASK_RECIPE[entry["task"]]]
    estimator = make_estimator(
        recipe["estimator"],
        json.loads(chosen.most_common(1)[0][0]),
        is_planned=True,
    )
    options = {
        "--target": _listed(entry["target"]),
        "--task": entry["task"],
        "--group": "none" if entry["groups"] is None else entry["groups"],
        "--time": entry["time"],
        "--drop": _listed(entry["drop"]),
        "--keep": _listed([ALL, *entry["keep"]]),
        "--categorical": _listed(entry["categorical"]),
        "--merge": _listed(entry["merge"]),
        "--method": None if takes_raw_columns(estimator) else written(estimator),
        "--output": f"{name.removeprefix('my-')}.skops",
    }
    given = [
        str(word) for pair in options.items() if pair[1] is not None for word in pair
    ]
    for column, form in entry["form"].items():
        given += ["--form", f"{column}={form}"]
    path = file or f"data/raw/{entry['files'][0]['path']}"
    interval = " --interval 0.9" * hasattr(estimator, "predict_interval")
    return [
        shlex.join(["adakern", "fit", str(path), *given]),
        f"adakern predict {options['--output']} new.csv{interval} > predicted.csv",
    ]

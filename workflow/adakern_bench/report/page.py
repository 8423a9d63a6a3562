"""The report of an experiment: a self-contained HTML file."""

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import yaml
from markupsafe import Markup
from pandas.api.types import is_numeric_dtype

from adakern._utils.files import plain, read_json, write_text
from adakern.evaluation import GREATER_IS_BETTER, METRICS, QUANTITIES, RECORDED
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.sweeps import base_name
from adakern_bench.records.read import nested
from adakern_bench.report import figures, tables
from adakern_bench.report.figures import (
    MARKERS,
    MOST_PANELS,
    inline_svg,
    method_styles,
    to_svg,
)
from adakern_bench.report.findings import by_task
from adakern_bench.report.headline import evidence, verdict
from adakern_bench.report.leaderboard import cost_seconds
from adakern_bench.report.paper import plot_critical_difference
from adakern_bench.report.render import rendered
from adakern_bench.report.tables import comparison, heading, read_tables
from adakern_bench.report.use import model_lines
from adakern_bench.report.wording import caption, natural, span

# Task -> (part, metric) of the further tables, in this order.
_DETAILS = {
    task: [
        *(("test", m) for m in metrics if QUANTITIES[m].shown),
        *(("train", m) for m in metrics if not QUANTITIES[m].optional),
        *(("", m) for m in RECORDED if QUANTITIES[m].shown),
    ]
    for task, metrics in METRICS.items()
}
#: Maximum number of pairwise tests listed on the page; ttest.csv has all.
_MOST_TESTS = 1000

_RANKS = (
    "Mean ranks over the data sets, the best on the left. A bar joins methods whose "
    "difference is not significant: their ranks differ by less than Nemenyi's critical "
    "distance, or Friedman's test does not reject."
)
_REPEATS = (
    "on the test part: a point for each repeat, and a line at their mean. "
    "The methods are in the order of the table."
)
_TIMES = (
    "on the test part against the time of search and fit, means over the repeats. "
    "The dashed line joins the methods that no other method beats in both."
)
_SECONDS = "Time of search and fit, mean over the repeats (s)"
_SWATCH = Markup('<i class="swatch" style="color:{}" data-glyph="{}"></i>')
_PARTS = {"test": ", test part", "train": ", training part", "": ""}


def report(
    out,
    config,
    *,
    figures=(),
    winner=None,
    summaries=(),
    provenance=None,
    origin=None,
    rare=(),
):
    """Write the report of one experiment."""
    out = Path(out)
    records = pd.DataFrame(columns=["dataset"])
    results = {}
    if (out / "records.parquet").exists():
        records = pd.read_parquet(out / "records.parquet")
        results = _comparison(out, config, records, rare)
    page = rendered(
        "report.html.j2",
        name=config["name"],
        description=config.get("description", ""),
        published_name=config.get("published", ""),
        title=config.get("title") or config["name"],
        origin=origin or {},
        protocol=protocol_in_words(config, records),
        winner=winner and _winner(winner),
        own_tables=[
            table
            for table in [*map(_own_table, summaries), *_by_target(records)]
            if table["rows"]
        ],
        own_figures=[
            _figure_of_file(path, "own", caption(path)) for path in map(Path, figures)
        ],
        data=_data(config, provenance or {}, records),
        most_panels=MOST_PANELS,
        most_tests=_MOST_TESTS,
        configuration=yaml.safe_dump(plain(config), sort_keys=False, width=88),
        **results,
    )
    write_text(out / "report.html", page)


def protocol_in_words(config, records=None):
    """Describe preparation and protocol, a sentence or two per line."""
    entries = config.get("dataset", {}).items()
    clipped = {name: entry["clip"] for name, entry in entries if entry.get("clip")}
    tasks = sorted({str(entry.get("task")) for _, entry in entries})
    values = {"protocol": config["protocol"], "search": config.get("search", {})}
    values["ran"] = np.inf
    values |= {"clipped": clipped, "tasks": tasks, "several": []}
    if records is not None and "repeat" in records:
        values["ran"] = records["repeat"].nunique()
        if "targets" in records:
            with_targets = records.loc[records["targets"].notna(), "dataset"]
            values["several"] = sorted({*with_targets})
    return rendered("protocol.j2", **values).strip().splitlines()


def _comparison(out, config, records, rare):
    """Values of the template that describe the runs."""
    tables = read_tables(out)
    timed = records.assign(seconds=cost_seconds(records))
    styles = method_styles(records["method"])
    return {
        "verdict": verdict(tables, records),
        "evidence": evidence(tables, records),
        "facts": {
            "data sets": records["dataset"].nunique(),
            "methods": records["method"].nunique(),
            "repeats": span(records.groupby("dataset")["repeat"].nunique()),
            "runs": len(records),
            "failed": int((records["status"] != "ok").sum()),
        },
        "tasks": [_task(task, styles, rare) for task in by_task(tables, timed)],
        "model_lines": model_lines(out, config),
        "methods": _methods(config, records),
        "at_random": _at_random(records),
        "swatches": {
            n: _SWATCH.format(s.colour, MARKERS[s.marker]) for n, s in styles.items()
        },
        "published": _published(tables["published"]),
        "failures": _failures(records),
        "unconverged": _unconverged(records),
        "versions": _versions(records),
    }


def _task(task, styles, rare):
    details = {}
    for part, metric in _DETAILS[task.name]:
        cells = comparison(task.tables, task.name, metric, part)
        if len(cells) and (part, metric) != ("test", task.metric):
            details[part, metric] = _grid(cells, metric, _PARTS[part])
    # If a class is rare, a method that never predicts it has a high accuracy.
    is_accuracy = task.metric == "accuracy"
    here = {*task.runs["dataset"].map(base_name)} if is_accuracy else set()
    unbalanced = sorted(here.intersection(rare))
    tests = task.tests
    return {
        "name": task.name,
        "many": task.runs["dataset"].nunique() > MOST_PANELS,
        "main": _grid(task.cells, task.metric),
        "n_best": task.cells["best"].groupby("method").sum(),
        "ranks": task.ranks,
        "seconds": task.runs.groupby("method")["seconds"].sum(),
        "unbalanced": unbalanced,
        "balanced": details.get(("test", "balanced_accuracy")) if unbalanced else None,
        "details": list(details.values()),
        "ranking": _ranking(task),
        "figures": _task_figures(task, styles),
        "tests": tests if tests["pvalue"].notna().any() else tests[:0],
        "over_sets": task.over_sets.to_dict("records"),
    }


def _grid(cells, metric, part=""):
    return {
        "caption": heading(metric) + part,
        "metric": metric,
        "datasets": list(cells.index.unique("dataset")),
        "methods": set(cells.index.unique("method")),
        "cells": cells.to_dict("index"),
    }


def _ranking(task):
    """Diagram of mean ranks and critical distance; None for one method or data set."""
    ranks = task.ranks
    if len(ranks) < 2 or not np.isfinite(ranks["critical_distance"].iloc[0]):
        return None
    return _figure(
        to_svg(plot_critical_difference(ranks)), f"{task.name}-ranks", _RANKS
    )


def _task_figures(task, styles):
    metric = task.metric
    finished = task.runs[task.runs["status"] == "ok"]
    if not 0 < finished["dataset"].nunique() <= MOST_PANELS:
        return []
    # A constant prediction would hide the differences between the other methods.
    learned = finished[finished["method"] != "dummy"]
    left_out = ""
    if 0 < len(learned) < len(finished):
        finished, left_out = learned, " Not shown: dummy, which predicts a constant."
    label = heading(metric)
    greater = GREATER_IS_BETTER[metric]
    scores = finished.assign(
        score=tables.scaled(metric, finished[f"test_{metric}"].astype(float))
    )
    means = scores.groupby(["dataset", "method"])[["seconds", "score"]].mean()
    repeats = figures.plot_repeats(finished, metric, styles, list(task.ranks["method"]))
    times = figures.plot_fronts(means, _SECONDS, label, styles, greater)
    return [
        _figure(
            to_svg(repeats), f"{task.name}-repeats", f"{label} {_REPEATS}{left_out}"
        ),
        _figure(to_svg(times), f"{task.name}-time", f"{label} {_TIMES}{left_out}"),
    ]


def _figure(svg, prefix, caption):
    return {"svg": inline_svg(svg, prefix, caption), "caption": caption}


def _own_table(path):
    path = Path(path)
    return _shown(caption(path), pd.read_csv(path).fillna({"hint": ""}))


def _shown(title, rows):
    return {
        "caption": title,
        "columns": {
            name: not is_numeric_dtype(kind) for name, kind in rows.dtypes.items()
        },
        "rows": tables.display_table(rows).to_numpy().tolist(),
    }


def _by_target(records):
    """A table of R² on each of several targets, means of the repeats."""
    for name, rows in records.groupby("dataset"):
        if "targets" in rows and (known := rows["targets"].dropna()).size:
            each = [{k: v["r2"] for k, v in json.loads(cell).items()} for cell in known]
            means = pd.DataFrame(each, known.index).groupby(rows["method"]).mean()
            yield _shown(f"R² of each target of {name}", means.reset_index())


def _winner(folder):
    """Pictures of the best method, and what is said where there are none."""
    captions = read_json(folder / "captions.json")
    pictures = [path for path in sorted(folder.glob("*.svg")) if path.stem in captions]
    return {
        "note": captions.get("", ""),
        "figures": [
            _figure_of_file(path, "best", captions[path.stem]) for path in pictures
        ],
    }


def _figure_of_file(path, prefix, text):
    try:
        return _figure(path.read_text(encoding="utf-8"), f"{prefix}-{path.stem}", text)
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{path} is damaged ({error}); remove it, and run again to draw it"
        ) from None


def _methods(config, records):
    """Entry of each method, and the parameters chosen by its searches."""
    entries = config.get("method", {})
    return {
        name: {"entry": entries.get(base_name(name), {}), "chosen": _chosen(rows)}
        for name, rows in records.groupby("method")
    }


def _at_random(records):
    """Methods that chose by random rows where the test part is no random part."""
    if "validates_at_random" not in records:
        return []
    marked = records["validates_at_random"].fillna(False).astype(bool)
    return sorted(records.loc[marked, "method"].unique())


def _chosen(rows):
    """Data set -> the combination of parameters chosen most often."""
    used = nested(rows[rows["status"] == "ok"].set_index("dataset"), "best")
    chosen = {}
    for dataset, point in zip(used.index, used.to_dict("records"), strict=True):
        known = {name: v for name, v in point.items() if pd.notna(v)}
        texts = {k: f"{v:.3g}" if isinstance(v, float) else v for k, v in known.items()}
        if shown := [f"{k} = {v}" for k, v in texts.items()]:
            chosen.setdefault(dataset, Counter())[", ".join(shown)] += 1
    return {dataset: counts.most_common(1)[0][0] for dataset, counts in chosen.items()}


def _published(table):
    """Published numbers by split and metric, test scores first."""
    return [
        {"title": heading(metric) + part, "metric": metric, "rows": rows}
        for split, part in _PARTS.items()
        for metric, rows in table[table["split"] == split].groupby("metric")
    ]


def _failures(records):
    missing = records[records["status"] != "ok"].fillna({"reason": "no reason given"})
    keys = ["dataset", "method", "status", "reason"]
    return missing.groupby(keys)["repeat"].agg(sorted).reset_index().to_dict("records")


def _unconverged(records):
    """Number of runs of each cell that did not converge."""
    stopped = records[(records["status"] == "ok") & records["converged"].eq(False)]
    cells = stopped.groupby(["dataset", "method"], as_index=False)
    return cells.size().to_dict("records")


def _data(config, provenance, records):
    """Entry, size and source of each data set."""
    sizes = records.reindex(columns=["n_train", "n_test", "n_features"]).astype(float)
    sizes = sizes.groupby(records["dataset"].map(base_name)).max()
    names = sorted({*provenance, *sizes.index}, key=natural)
    sizes = (
        sizes.reindex(names)
        .map(lambda n: "" if pd.isna(n) else int(n))
        .to_dict("index")
    )
    entries = config.get("dataset", {})
    return {
        name: {
            "entry": entries.get(name, {}),
            "origin": _origin(provenance.get(name, {})),
            **sizes[name],
        }
        for name in names
    }


def _origin(provenance):
    """Source and fingerprint; files are listed in the configuration."""
    keys = ("source", "loader", "seed", "fingerprint")
    origin = {key: provenance[key] for key in keys if provenance.get(key) is not None}
    return yaml.safe_dump(plain(origin), sort_keys=False, width=60) if origin else ""


def _versions(records):
    columns = nested(records, "version")
    columns["code of the runs"] = records["code_version"]
    versions = {
        name: sorted(columns[name].dropna().astype(str).unique()) for name in columns
    }
    return {name: ", ".join(values) for name, values in versions.items() if values}

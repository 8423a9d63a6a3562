"""The report: one self-contained HTML file that tells what an experiment found."""

import platform
from pathlib import Path

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pandas.api.types import is_numeric_dtype

from adakern._utils.files import atomic_path, plain
from adakern.evaluation import MAIN_METRIC, METRICS, QUANTITIES, RECORDED
from adakern_bench.config.sweeps import base_name
from adakern_bench.report.figures import (
    MOST_PANELS,
    inline_svg,
    plot_critical_difference,
    plot_repeats,
    plot_time_accuracy,
    to_svg,
)
from adakern_bench.report.headline import headline
from adakern_bench.report.leaderboard import cost_seconds
from adakern_bench.report.methods import describe_methods
from adakern_bench.report.palette import FAMILIES, families_of, method_styles, swatch
from adakern_bench.report.protocol import protocol_in_words
from adakern_bench.report.tables import (
    MARK,
    RULE,
    comparison_grids,
    display,
    display_table,
    heading,
    read_tables,
)
from adakern_bench.report.use import model_lines
from adakern_bench.report.wording import count, duration, links, natural, printable

__all__ = ["report"]

# What else a reader may ask of the same runs: (part, metric), in this order.
_DETAILS = {
    task: [("test", m) for m in metrics if m != MAIN_METRIC[task]]
    + [("train", m) for m in metrics if not QUANTITIES[m].optional]
    + [("", m) for m in RECORDED]
    for task, metrics in METRICS.items()
}
#: Tests of pairs that the page still lists; more are in its folder's ttest.csv.
_MOST_TESTS = 1000

_PARTS = {"test": "test part", "train": "training part", "": ""}


def report(
    out,
    config,
    *,
    figures=(),
    summaries=(),
    provenance=None,
    origin=None,
    rare=(),
    wall_seconds=None,
    path=None,
):
    """Write the report of one experiment."""
    out = Path(out)
    has_records = (out / "records.parquet").exists()
    comparison = _comparison(out, config, rare) if has_records else {}
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            name=config["name"],
            description=config.get("description", ""),
            published_name=config.get("published", ""),
            title=config.get("title") or config["name"],
            wall_time=duration(wall_seconds) if wall_seconds is not None else "",
            origin=origin or {},
            protocol=protocol_in_words(config),
            own_tables=[_own_table(Path(table)) for table in summaries],
            own_figures=[_own_figure(Path(figure)) for figure in figures],
            data=_data(config, provenance or {}, comparison),
            configuration=yaml.safe_dump(plain(config), sort_keys=False, width=88),
            platform=f"{platform.system()} {platform.machine()}",
            **comparison,
        )
    )
    with atomic_path(path or out / "report.html") as temporary:
        temporary.write_text(page, encoding="utf-8")


def _environment():
    environment = Environment(
        loader=PackageLoader("adakern_bench.report"),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"display": display, "heading": heading, "count": count}
    environment.globals |= {"mark": MARK, "rule": RULE}
    environment.globals |= {"most_panels": MOST_PANELS, "most_tests": _MOST_TESTS}
    environment.filters |= {"links": links, "duration": duration}
    return environment


def _comparison(out, config, rare):
    """What the page says of the runs."""
    records = pd.read_parquet(out / "records.parquet")
    tables = read_tables(out)
    styles = method_styles(records["method"], families_of(config.get("method", {})))
    records = records.assign(seconds=cost_seconds(records))
    tasks = [_task(task, runs, styles, tables, rare) for task, runs in records.groupby("task")]
    told = [(task["main"], task["ranks"], task["tests"]) for task in tasks]
    return {
        "records": records,
        "headline": headline(told, records),
        "facts": {
            "data sets": records["dataset"].nunique(),
            "methods": records["method"].nunique(),
            "repeats": records["repeat"].nunique(),
            "runs": len(records),
            "failed": int((records["status"] != "ok").sum()),
        },
        "tasks": tasks,
        "model_lines": model_lines(out, config),
        "methods": describe_methods(out, config, records, styles),
        "swatches": {name: Markup(swatch(style)) for name, style in styles.items()},
        "published": _published(tables["published"]),
        "failures": _failures(records),
        "unconverged": _unconverged(records),
        "versions": _versions(records),
    }


def _task(task, records, styles, tables, rare):
    summary, ttest = tables["summary"], tables["ttest"]
    ranks = tables["ranks"][tables["ranks"]["task"] == task]
    (main,) = comparison_grids(summary, ttest, {task: MAIN_METRIC[task]}.get)
    details = {
        (part, metric): (f"{heading(metric)}, {_PARTS[part]}".rstrip(", "), grid)
        for part, metric in _DETAILS[task]
        if QUANTITIES[metric].shown
        for grid in comparison_grids(summary, ttest, {task: metric}.get, part)
    }
    # Where a class is rare, to predict it never is accurate and worth nothing.
    unbalanced = sorted(set(rare) & set(records["dataset"].map(base_name)))
    balanced = details.get(("test", "balanced_accuracy")) if unbalanced else None
    present = {styles[method].family for method in ranks["method"]}
    return {
        "name": task,
        "main": main,
        "ranks": ranks,
        "seconds": records.groupby("method")["seconds"].sum(),
        "unbalanced": unbalanced,
        "balanced": balanced,
        "order": list(ranks["method"]),
        "families": {name: c for name, c in FAMILIES.items() if name in present},
        "details": list(details.values()),
        "figures": _task_figures(task, records, ranks, styles),
        "tests": ttest[ttest["task"] == task],
    }


def _task_figures(task, records, ranks, styles):
    metric = MAIN_METRIC[task]
    finished = records[records["status"] == "ok"].rename(columns={f"test_{metric}": "score"})
    drawn = {
        "critical difference": (
            plot_critical_difference(ranks, task, styles),
            "Average rank of each method over the data sets (1 is the best). Methods "
            "under one bar do not differ by Nemenyi's test at the 5 % level.",
        )
    }
    if 0 < finished["dataset"].nunique() <= MOST_PANELS:
        means = finished.groupby(["dataset", "method"])[["seconds", "score"]].mean()
        drawn["repeats"] = (
            plot_repeats(records, task, styles, list(ranks["method"])),
            f"{heading(metric)} on the test part, a point a repeat and a line at their "
            "mean; boxes, from ten repeats on, are quartiles. The methods stand in the "
            "order of the table.",
        )
        drawn["time"] = (
            plot_time_accuracy(means, task, styles),
            f"{heading(metric)} on the test part against the time of search and fit, "
            "means over the repeats. The dashed line joins the methods that no other "
            "beats in both.",
        )
    return {
        name: {
            "svg": inline_svg(to_svg(figure), f"{task}-{name}".replace(" ", "-"), text),
            "caption": text,
        }
        for name, (figure, text) in drawn.items()
        if figure is not None
    }


def _own_table(path):
    rows = pd.read_csv(path)
    texts = [not is_numeric_dtype(kind) for kind in rows.dtypes]
    columns = list(zip(rows.columns, texts, strict=True))
    return {"caption": _caption(path), "columns": columns, "rows": display_table(rows)}


def _caption(path):
    return path.stem.replace("_", " ").replace("-", " ").capitalize()


def _own_figure(path):
    caption = _caption(path)
    svg = inline_svg(path.read_text(encoding="utf-8"), f"own-{path.stem}", caption)
    return {"svg": svg, "caption": caption}


def _published(table):
    """Published numbers by part and metric, scores on the test part first."""
    order = {"test": 0, "train": 1, "": 2}
    groups = table.groupby(["split", "metric"])
    return [
        {
            "title": f"{heading(metric)}, {_PARTS[split]}".rstrip(", "),
            "metric": metric,
            "rows": rows.to_dict("records"),
            "has_setting": bool((rows["setting"] != "").any()),
        }
        for (split, metric), rows in sorted(groups, key=lambda g: order[g[0][0]])
    ]


def _failures(solves):
    missing = solves[solves["status"] != "ok"]
    keys = ["dataset", "method", "status", "reason"]
    grouped = missing.fillna({"reason": "no reason given"}).groupby(keys)["repeat"]
    return [
        dict(zip(keys, key, strict=True)) | {"repeats": sorted(repeats)} for key, repeats in grouped
    ]


def _unconverged(solves):
    if "converged" not in solves:
        return []
    stopped = solves[(solves["status"] == "ok") & (solves["converged"].eq(False))]
    counts = stopped.groupby(["dataset", "method"]).size()
    return [
        {"dataset": dataset, "method": method, "n": n} for (dataset, method), n in counts.items()
    ]


def _data(config, provenance, comparison):
    """What is known of each data set: its entry, its size, where it came from."""
    entries, solves = config.get("dataset", {}), comparison.get("records")
    solved = [] if solves is None else solves["dataset"].map(base_name)
    names = {*provenance, *solved}
    return [
        {
            key: entries.get(name, {}).get(key) or ""
            for key in ("title", "licence", "citation", "homepage", "note")
        }
        | {"name": name, "origin": _origin(provenance.get(name, {}))}
        | _sizes(solves, name)
        for name in sorted(names, key=natural)
    ]


def _sizes(solves, name):
    columns = ["n_train", "n_test", "n_features"]
    rows = pd.DataFrame(columns=columns)
    if solves is not None:
        rows = solves.loc[solves["dataset"].map(base_name) == name, columns]
    return {column: _whole(rows[column].max()) for column in columns}


def _origin(provenance):
    """Source, files and fingerprint; of places only those that others can reach."""
    origin = {
        key: provenance[key]
        for key in ("source", "loader", "seed", "fingerprint")
        if provenance.get(key) is not None
    }
    files = [
        {k: v for k, v in file.items() if k != "from" or str(v).startswith("http")}
        for file in provenance.get("files", [])
    ]
    if files:
        origin["files"] = files
    return yaml.safe_dump(plain(origin), sort_keys=False, width=60) if origin else ""


def _versions(solves):
    columns = [name for name in solves.columns if name.startswith("version_")]
    versions = {
        name.removeprefix("version_"): sorted(solves[name].dropna().astype(str).unique())
        for name in columns
    }
    versions["code of the runs"] = sorted(solves["code_version"].dropna().unique())
    return {name: ", ".join(map(str, found)) for name, found in versions.items() if found}


def _whole(value):
    return "" if pd.isna(value) else int(value)

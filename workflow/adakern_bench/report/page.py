"""The report: one self-contained HTML file that tells what an experiment found."""

import platform
from pathlib import Path

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pandas.api.types import is_numeric_dtype

from adakern._utils.files import atomic_path, plain
from adakern.evaluation import MAIN_METRIC, METRICS
from adakern_bench.config.sweeps import base_name
from adakern_bench.report.figures import (
    MOST_PANELS,
    inline_svg,
    plot_boxes,
    plot_critical_difference,
    plot_time_accuracy,
    to_svg,
)
from adakern_bench.report.headline import headline
from adakern_bench.report.methods import describe_methods
from adakern_bench.report.palette import FAMILIES, families_of, method_styles, swatch
from adakern_bench.report.protocol import protocol_in_words
from adakern_bench.report.standings import standings
from adakern_bench.report.tables import (
    LABELS,
    MARKS,
    comparison_grids,
    display,
    read_tables,
)
from adakern_bench.report.wording import duration, links, printable

__all__ = ["report"]

# What else a reader may ask of the same solves: (part, metric), in this order.
_DETAILS = {
    task: [("test", m) for m in metrics if m != MAIN_METRIC[task]]
    + [("train", m) for m in metrics]
    + [("", "fit_seconds"), ("", "predict_seconds"), ("", "peak_memory_bytes")]
    + [("", "rank"), ("", "n_support"), ("", "n_iter")]
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
    wall_seconds=None,
    path=None,
):
    """Write the report of one experiment.

    Parameters
    ----------
    out : Path
        Folder that `compare` wrote. Without its tables, as where an experiment has
        no solves, the report has no comparison.
    config : mapping
        The resolved configuration (`adakern_bench.config.schema.Config` as a dict).
    figures : iterable of Path
        SVG files of the experiment's own figures, shown in this order.
    summaries : iterable of Path
        CSV files of the experiment's own tables, shown before them.
    provenance : mapping of str to mapping, default=None
        Data set -> where its table came from, beside what its entry in `config` says.
    origin : mapping of str to str, default=None
        Date, machine, commit and command, shown at the top.
    wall_seconds : float, default=None
        Of the whole run. The time spent in solves is always given.
    path : Path, default=None
        The HTML file; ``report.html`` in `out` by default.
    """
    out = Path(out)
    has_solves = (out / "records.parquet").exists()
    comparison = _comparison(out, config) if has_solves else {}
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
    environment.globals |= {"display": display, "labels": LABELS, "marks": MARKS}
    environment.globals |= {"most_panels": MOST_PANELS, "most_tests": _MOST_TESTS}
    environment.filters |= {"links": links, "duration": duration}
    return environment


def _comparison(out, config):
    """What the page says of the solves."""
    solves = pd.read_parquet(out / "records.parquet")
    tables = read_tables(out)
    styles = method_styles(solves["method"], families_of(config.get("method", {})))
    tasks = [
        _task(task, solves, styles, tables) for task in sorted(solves["task"].unique())
    ]
    return {
        "solves": solves,
        "headline": headline(
            [(task["main"], task["standings"], task["tests"]) for task in tasks], solves
        ),
        "facts": _facts(solves),
        "tasks": tasks,
        "methods": describe_methods(out, config, solves, styles),
        "swatches": {name: Markup(swatch(style)) for name, style in styles.items()},
        "published": _published(tables["published"]),
        "failures": _failures(solves),
        "unconverged": _unconverged(solves),
        "versions": _versions(solves),
    }


def _facts(solves):
    return {
        "data sets": solves["dataset"].nunique(),
        "methods": solves["method"].nunique(),
        "repeats": solves["repeat"].nunique(),
        "solves": len(solves),
        "without result": int((solves["status"] != "ok").sum()),
    }


def _task(task, solves, styles, tables):
    summary, ttest, ranks = (tables[name] for name in ("summary", "ttest", "ranks"))
    (main,) = comparison_grids(summary, ttest, {task: MAIN_METRIC[task]}.get)
    table = standings(main, ranks, solves)
    details = [
        (f"{LABELS[metric]}, {_PARTS[part]}".rstrip(", "), grid)
        for part, metric in _DETAILS[task]
        for grid in comparison_grids(summary, ttest, {task: metric}.get, part)
    ]
    return {
        "name": task,
        "main": main,
        "standings": table,
        "order": [row.method for row in table],
        "families": _families(styles[row.method] for row in table),
        "details": details,
        "figures": _task_figures(task, solves, ranks, styles, table),
        "ranks": ranks[ranks["task"] == task].to_dict("records"),
        "rank_note": ranks.loc[ranks["task"] == task, "note"].iloc[0],
        "tests": ttest[ttest["task"] == task],
    }


def _families(styles):
    """Family -> colour, of the methods of one task."""
    present = {style.family for style in styles}
    return {name: colour for name, colour in FAMILIES.items() if name in present}


def _task_figures(task, solves, ranks, styles, table):
    label = LABELS[MAIN_METRIC[task]]
    finished = (solves["task"] == task) & (solves["status"] == "ok")
    drawn = {
        "critical difference": (
            plot_critical_difference(ranks, task, styles),
            "Average rank of each method over the data sets (1 is the best). Methods "
            "under one bar do not differ by Nemenyi's test at the 5 % level.",
        )
    }
    if 0 < solves.loc[finished, "dataset"].nunique() <= MOST_PANELS:
        drawn["repeats"] = (
            plot_boxes(solves, task, styles, [row.method for row in table]),
            f"{label} on the test part, every repeat a mark; boxes are quartiles. The "
            "methods stand in the order of the table.",
        )
        drawn["time"] = (
            plot_time_accuracy(solves, task, styles),
            f"{label} on the test part against the time of search and fit, means over "
            "the repeats. The dashed line joins the methods that no other beats in "
            "both.",
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
    cells = [
        [f"{value:.4g}" if isinstance(value, float) else value for value in row]
        for row in rows.itertuples(index=False)
    ]
    texts = [not is_numeric_dtype(kind) for kind in rows.dtypes]
    columns = list(zip(rows.columns, texts, strict=True))
    return {"caption": _caption(path), "columns": columns, "rows": cells}


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
            "title": f"{LABELS.get(metric, metric)}, {_PARTS[split]}".rstrip(", "),
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
        dict(zip(keys, key, strict=True)) | {"repeats": sorted(repeats)}
        for key, repeats in grouped
    ]


def _unconverged(solves):
    if "converged" not in solves:
        return []
    stopped = solves[(solves["status"] == "ok") & (solves["converged"].eq(False))]
    counts = stopped.groupby(["dataset", "method"]).size()
    return [
        {"dataset": dataset, "method": method, "n": n}
        for (dataset, method), n in counts.items()
    ]


def _data(config, provenance, comparison):
    """What is known of each data set: its entry, its size, where it came from."""
    entries, solves = config.get("dataset", {}), comparison.get("solves")
    solved = [] if solves is None else solves["dataset"].map(base_name)
    names = {*provenance, *solved}
    return [
        {
            key: entries.get(name, {}).get(key) or ""
            for key in ("title", "licence", "citation", "homepage", "note")
        }
        | {"name": name, "origin": _origin(provenance.get(name, {}))}
        | _sizes(solves, name)
        for name in sorted(names)
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
        name.removeprefix("version_"): sorted(
            solves[name].dropna().astype(str).unique()
        )
        for name in columns
    }
    versions["code of the solves"] = sorted(solves["code_version"].dropna().unique())
    return {
        name: ", ".join(map(str, found)) for name, found in versions.items() if found
    }


def _whole(value):
    return "" if pd.isna(value) else int(value)

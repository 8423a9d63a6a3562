"""The report: one self-contained HTML file that tells what an experiment found."""

import html
import platform
import re
from pathlib import Path

import pandas as pd
import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from adakern._utils.files import atomic_path
from adakern.bench.config.sweeps import base_name
from adakern.bench.report.figures import (
    plot_boxes,
    plot_critical_difference,
    plot_time_accuracy,
    to_svg,
)
from adakern.bench.report.tables import (
    LABELS,
    MARKS,
    comparison_grids,
    display,
    read_tables,
)
from adakern.bench.report.wording import duration, printable, protocol_in_words
from adakern.evaluation import MAIN_METRIC, METRICS

__all__ = ["inline_svg", "report"]

# What else a reader may ask of the same solves: (part, metric), in this order.
_DETAILS = {
    task: [("test", m) for m in metrics if m != MAIN_METRIC[task]]
    + [("train", m) for m in metrics]
    + [("", "fit_seconds"), ("", "predict_seconds"), ("", "peak_memory_bytes")]
    + [("", "rank"), ("", "n_support"), ("", "n_iter")]
    for task, metrics in METRICS.items()
}
_PARTS = {"test": "test part", "train": "training part", "": ""}


def report(
    out,
    config,
    *,
    figures=(),
    summaries=(),
    provenance=None,
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
        The resolved configuration (`adakern.bench.config.schema.Config` as a dict).
    figures : iterable of Path
        SVG files of the experiment's own figures, shown in this order.
    summaries : iterable of Path
        CSV files of the experiment's own tables, shown before them.
    provenance : mapping of str to mapping, default=None
        Data set -> where its table came from, beside what its entry in `config` says.
    wall_seconds : float, default=None
        Of the whole run. The time spent in solves is always given.
    path : Path, default=None
        The HTML file; ``report.html`` in `out` by default.
    """
    out = Path(out)
    comparison = _comparison(out) if (out / "records.parquet").exists() else {}
    environment = Environment(
        loader=PackageLoader("adakern.bench.report"),
        autoescape=True,
        finalize=printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"display": display, "labels": LABELS, "marks": MARKS}
    page = environment.get_template("report.html.j2").render(
        name=config["name"],
        description=config.get("description", ""),
        published_name=config.get("published", ""),
        title=config.get("title") or config["name"],
        wall_time=duration(wall_seconds) if wall_seconds is not None else "",
        protocol=protocol_in_words(config),
        own_tables=[_own_table(Path(table)) for table in summaries],
        own_figures=[_own_figure(Path(figure)) for figure in figures],
        methods=_methods(config, comparison),
        data=_data(config, provenance or {}, comparison),
        configuration=yaml.safe_dump(_plain(config), sort_keys=False, width=88),
        platform=f"{platform.system()} {platform.machine()}",
        **comparison,
    )
    with atomic_path(path or out / "report.html") as temporary:
        temporary.write_text(page, encoding="utf-8")


def _comparison(out):
    """What the page says of the solves."""
    solves = pd.read_parquet(out / "records.parquet")
    tables = read_tables(out)
    return {
        "solves": solves,
        "facts": _facts(solves),
        "tasks": [
            _task(task, solves, **tables) for task in sorted(solves["task"].unique())
        ],
        "published": _published(tables["published"]),
        "failures": _failures(solves),
        "unconverged": _unconverged(solves),
        "versions": _versions(solves),
    }


def _facts(solves):
    facts = {
        "data sets": solves["dataset"].nunique(),
        "methods": solves["method"].nunique(),
        "repeats": solves["repeat"].nunique(),
        "solves": len(solves),
        "without result": int((solves["status"] != "ok").sum()),
        "in fits": duration(solves["fit_seconds"].sum()),
    }
    if "search_seconds" in solves and solves["search_seconds"].notna().any():
        facts["in searches"] = duration(_search_seconds(solves))
    return facts


def _search_seconds(solves):
    """Total time of the searches; one whose result was handed on counts once."""
    keys = ["dataset", "repeat", "search_seconds"]
    return solves[keys].dropna().drop_duplicates()["search_seconds"].sum()


def _task(task, solves, summary, ttest, ranks, published):
    main = comparison_grids(summary, ttest, {task: MAIN_METRIC[task]}.get)
    details = [
        (f"{LABELS[metric]}, {_PARTS[part]}".rstrip(", "), grid)
        for part, metric in _DETAILS[task]
        for grid in comparison_grids(summary, ttest, {task: metric}.get, part)
    ]
    return {
        "name": task,
        "main": main[0],
        "details": details,
        "figures": _task_figures(task, solves, summary, ranks),
        "ranks": ranks[ranks["task"] == task].to_dict("records"),
        "rank_note": ranks.loc[ranks["task"] == task, "note"].iloc[0],
        "tests": ttest[ttest["task"] == task].to_dict("records"),
    }


def _task_figures(task, solves, summary, ranks):
    label = LABELS[MAIN_METRIC[task]]
    finished = (solves["task"] == task) & (solves["status"] == "ok")
    drawn = {
        "critical difference": (
            plot_critical_difference(ranks, task),
            "Average rank of each method over the data sets (1 is the best). Methods "
            "under one bar do not differ by Nemenyi's test at the 5 % level.",
        )
    }
    if finished.any():
        drawn["repeats"] = (
            plot_boxes(solves, task),
            f"{label} on the test part, every repeat a dot; boxes are quartiles.",
        )
        drawn["time"] = (
            plot_time_accuracy(summary, task),
            f"{label} on the test part against the time of one fit, means over the "
            "repeats.",
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
    return {"caption": _caption(path), "columns": list(rows.columns), "rows": cells}


def _caption(path):
    return path.stem.replace("_", " ").replace("-", " ").capitalize()


def _own_figure(path):
    caption = _caption(path)
    svg = inline_svg(path.read_text(encoding="utf-8"), f"own-{path.stem}", caption)
    return {"svg": svg, "caption": caption}


def inline_svg(svg, prefix, label):
    """An SVG file's text made fit to stand inside a page.

    Its black follows the page's text colour, its ids cannot clash with those of another
    figure, it scales down to the page's width and has a text alternative.
    """
    svg = svg[svg.index("<svg") :]
    for ink in ("#000000", "#262626", "#b0b0b0", "#cccccc"):
        svg = svg.replace(ink, "currentColor")
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}-", svg)
    svg = re.sub(r'href="#', f'href="#{prefix}-', svg)
    label = html.escape(label, quote=True)
    # Matplotlib leaves the colour of text to the default, which is black.
    opening = f'<svg role="img" aria-label="{label}" fill="currentColor" '
    return svg.replace("<svg ", opening, 1)


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


def _methods(config, comparison):
    solves = comparison.get("solves")
    names = [] if solves is None else sorted(solves["method"].unique())
    known = config.get("method", {})
    return [
        {"name": name}
        | {
            key: known.get(base_name(name), {}).get(key, "")
            for key in ("description", "reference")
        }
        for name in names
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
    return yaml.safe_dump(_plain(origin), sort_keys=False, width=60) if origin else ""


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


def _plain(value):
    """Mappings, sequences and scalars that YAML can say, from anything."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _whole(value):
    return "" if pd.isna(value) else int(value)

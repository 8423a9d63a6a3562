"""What a report says of each method: what it is, what its searches chose and saw."""

import re
from collections import Counter

import pandas as pd

from adakern_bench.config.sweeps import base_name
from adakern_bench.report.curves import read_search, search_curves
from adakern_bench.report.figures import MOST_PANELS, inline_svg, to_svg
from adakern_bench.report.sweep import SEARCH_SCORE, plot_search

__all__ = ["describe_methods"]


def describe_methods(out, config, records, styles):
    """One panel for each method that was run, in alphabetical order.

    Keys `name`, `family`, `description`, `reference`, `chosen` (data set -> the
    parameters that its searches chose most often) and `curves` (figures).
    """
    panels = []
    for name, rows in records.groupby("method"):
        entry = config.get("method", {}).get(base_name(name), {})
        rows = rows[rows["status"] == "ok"]
        panels.append(
            {key: entry.get(key, "") for key in ("description", "reference")}
            | {
                "name": name,
                "family": styles[name].family,
                "chosen": _chosen(rows),
                "curves": list(_search_figures(out, name, rows)),
            }
        )
    return panels


def _chosen(rows):
    """Data set -> the parameters that its searches chose most often, all together."""
    used = rows.set_index("dataset").filter(regex="^best_").dropna(axis=1, how="all")
    found = {}
    for dataset, point in zip(used.index, used.to_dict("records"), strict=True):
        shown = [f"{name[5:]} = {_short(v)}" for name, v in point.items() if pd.notna(v)]
        if shown:
            found.setdefault(dataset, Counter())[", ".join(shown)] += 1
    return {dataset: counts.most_common(1)[0][0] for dataset, counts in found.items()}


def _short(value):
    try:
        return f"{float(value):.3g}"
    except ValueError:
        return value


def _search_figures(out, method, rows):
    for task, of_task in rows.groupby("task"):
        tables = {d: read_search(out, d, method) for d in of_task["dataset"].unique()}
        curves = {d: search_curves(t) for d, t in tables.items() if t is not None}
        curves = {dataset: by_name for dataset, by_name in curves.items() if by_name}
        if 0 < len(curves) <= MOST_PANELS:
            text = (
                f"{SEARCH_SCORE[task]} of {method}: for each value of a parameter, the "
                "best point that has it, mean over the repeats."
            )
            prefix = re.sub(r"\W", "-", f"search-{task}-{method}")
            svg = to_svg(plot_search(curves, task))
            yield {"svg": inline_svg(svg, prefix, text), "caption": text}

"""Figures and tables of a sweep, for use in the YAML file of an experiment.

figures:
  tau:
    function: adakern_bench.report.sweep.plot_sweep
    params: {x: tau, y: [accuracy, rank]}
"""

import re
from itertools import product

import pandas as pd

from adakern.evaluation import METRICS
from adakern.evaluation.quantities import main_metric
from adakern_bench.report.contrast import check_swept
from adakern_bench.report.figures import COLOURS, add_legend, grid, panels, scale_for
from adakern_bench.report.tables import heading, scaled
from adakern_bench.report.wording import in_natural_order

#: Styles of the lines of a figure, in this order.
_STYLES = [{"color": c, "ls": dashes} for dashes, c in product("-:", COLOURS)]
_SCORES = {metric for metrics in METRICS.values() for metric in metrics}


def plot_sweep(records, x, y=None, log=(), metric=None):
    """Plot scores and costs against a swept value, with standard deviations.

    There is a column of panels per data set, a row per quantity and a line per method;
    with a single method, one column with a line per data set. Methods without a number
    on the x axis, such as one that is not swept or the point "svm" of an axis of
    multiples of C^2, are dashed horizontal lines.
    """
    points = _points(records, x)
    if points["line"].nunique() == 1:
        points = points.assign(line=points["panel"], panel=points["line"])
    return _plot(points, _quantities(records, y, metric), " / ".join(_names(x)), log)


def plot_lines(frame, x, y, line, log=()):
    """Plot columns `y` of a special computation against its column `x`.

    There is a line per value of the column `line`, and a panel per data set and column.
    """
    points = frame.assign(
        panel=frame["dataset"], line=frame[line], x=frame[x], level=""
    )
    return _plot(points, {name: name for name in _names(y)}, x, log)


def _plot(points, quantities, xlabel, log=()):
    """Plot `points`, a frame with the columns panel, line, x and level and a column per
    quantity.
    """
    parts = points.groupby("panel", sort=False)
    lines = {
        line: _STYLES[k % len(_STYLES)]
        for k, line in enumerate(points["line"].unique())
    }
    shape = len(quantities), len(parts)
    if 1 in shape:
        figure, axes = panels([panel for _ in quantities for panel in parts.groups])
        axes = axes.reshape(shape)
    else:
        figure, axes = grid(*shape, sharey="row", sharex="col")
    for row, (quantity, column) in zip(axes, quantities.items(), strict=True):
        for axis, (panel, part) in zip(row, parts, strict=True):
            shown = scaled(quantity, part[column].astype(float))
            _draw_lines(axis, part.assign(y=shown).dropna(subset="y"), lines)
            axis.set(xscale=scale_for(part["x"].dropna()), title=panel)
            if quantity in log:
                axis.set_yscale("log", nonpositive="mask")
        row[0].set_ylabel(heading(quantity))
    figure.supxlabel(xlabel, fontsize=9)
    add_legend(figure)
    return figure


def _draw_lines(axis, points, lines):
    """Draw the means of column ``y`` with a band of one standard deviation.

    Lines without x values are dashed.
    """
    for line, part in points.groupby("line", sort=False):
        for level, values in part[part["x"].isna()].groupby("level")["y"]:
            name = ", ".join(filter(None, [line, level]))
            axis.axhline(
                values.mean(), color=lines[line]["color"], ls="--", lw=1, label=name
            )
        curve = part.groupby("x")["y"].agg(["mean", "std"]).fillna({"std": 0.0})
        if len(curve):
            axis.plot(curve["mean"], label=line, marker="o", ms=3, **lines[line])
            low = curve["mean"] - curve["std"]
            high = curve["mean"] + curve["std"]
            axis.fill_between(
                curve.index, low, high, color=lines[line]["color"], alpha=0.12, lw=0
            )


def sweep_table(records, y=None, metric=None):
    """Mean and standard deviation of scores and costs at each point of a sweep.

    One row per data set, method and point: the number ``n`` of finished runs, and
    ``<quantity>_mean`` and ``<quantity>_std``.
    """
    quantities = _quantities(records, y, metric)
    keys = [
        "base_dataset",
        "base_method",
        *(n for n in records if n.startswith("sweep_")),
    ]
    groups = records[records["status"] == "ok"].groupby(keys, sort=False, dropna=False)
    table = groups.size().rename("n").to_frame()
    for quantity, column in quantities.items():
        table[f"{quantity}_mean"] = groups[column].mean().astype(float)
        table[f"{quantity}_std"] = groups[column].std().astype(float)
    table = table.reset_index().sort_values(keys, key=in_natural_order)
    return table.rename(columns=lambda name: re.sub("^(base|sweep)_", "", name))


def _points(records, x):
    """Finished runs with their panel, line, and position on the x axis."""
    # An override may have removed some of the axes, of which methods have one each.
    x = [name for name in _names(x) if f"sweep_{name}" in records] or _names(x)
    for name in x:
        check_swept(records, name)
    finished = records[records["status"] == "ok"]
    values = finished[[f"sweep_{name}" for name in x]].bfill(axis=1).iloc[:, 0]
    number = pd.to_numeric(values, errors="coerce").astype(float)
    level = values.astype(object).where(number.isna() & values.notna(), "").astype(str)
    return finished.assign(
        x=number,
        level=level,
        panel=finished["dataset"].map(lambda name: _without(name, x)),
        line=finished["method"].map(lambda name: _without(name, x)),
    )


def _without(name, axes):
    """Name of a data set or method, without the axes that the figure shows."""
    base, _, point = name.partition("@")
    others = [part for part in point.split(",") if part.partition("=")[0] not in axes]
    return f"{base}@{','.join(others)}" if any(others) else base


def _names(x):
    return [x] if isinstance(x, str) else list(x)


def _quantities(records, y, metric):
    """Quantity -> column of the records."""
    if y is None:
        y = [main_metric(task, metric) for task in sorted(records["task"].unique())]
    columns = {q: f"test_{q}" if q in _SCORES else q for q in _names(y)}
    for quantity, column in columns.items():
        if column not in records:
            raise ValueError(f"the records have no quantity {quantity!r}")
    return columns

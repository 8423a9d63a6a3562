"""General figures of a comparison, drawn from its tables.

Matplotlib's object interface only: no global figure, no back end to choose. The same
tables give the same bytes.
"""

import html
import io
import re
from itertools import product

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from matplotlib.transforms import Bbox

from adakern._utils.files import atomic_path
from adakern.evaluation import FEWEST, GREATER_IS_BETTER, MAIN_METRIC, pareto_front
from adakern_bench.report.palette import FAMILIES
from adakern_bench.report.tables import heading, scaled
from adakern_bench.report.wording import in_natural_order, natural

__all__ = [
    "MOST_PANELS",
    "SEARCH_SCORE",
    "STYLE",
    "add_legend",
    "colour",
    "inline_svg",
    "label_points",
    "plot_critical_difference",
    "plot_repeats",
    "plot_search",
    "plot_time_accuracy",
    "save_svg",
    "to_svg",
]

STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "none",
    "svg.hashsalt": "adakern",
}
_DASHES, _DOTS = ("-", "--", ":", "-."), "osD^v"
#: Up to this many methods all points carry their names.
_FEW = 10
#: Repeats from which on boxes show more than the points themselves.
_BOXES_FROM = 10
#: Ratio of the largest to the smallest error from which on their axis is logarithmic.
_DECADES = 20
#: What searches maximise.
SEARCH_SCORE = {
    "classification": "Accuracy in the search (%)",
    "regression": "Negative mean squared error in the search",
}
#: Data sets up to which a figure that has a panel for each is drawn.
MOST_PANELS = 20


def save_svg(figure, path):
    """Save a figure as SVG, whole or not at all; the same figure, the same bytes."""
    with atomic_path(path) as temporary:
        temporary.write_text(to_svg(figure), encoding="utf-8")


def to_svg(figure):
    """The figure as SVG text, transparent, with text as text."""
    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None}
    with matplotlib.rc_context(STYLE):
        figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", metadata=nothing
        )
    # Hundredths of a point: nobody sees more, and files are half as large.
    return re.sub(
        r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path.group()), buffer.getvalue()
    )


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


def plot_repeats(records, task, styles, order):
    """The main test metric on every repeat, a panel a data set and a row a method.

    Methods stand in the given order, the mean of each is a line. From ten repeats on
    there are boxes of quartiles behind the points.
    """
    metric = MAIN_METRIC[task]
    records = records[(records["task"] == task) & (records["status"] == "ok")]
    methods = [name for name in order if name in set(records["method"])]
    datasets = sorted(records["dataset"].unique(), key=natural)
    with matplotlib.rc_context(STYLE):
        figure, axes = _grid(len(datasets), 3.4, 0.75 + 0.27 * len(methods), "y")
        for axis, dataset in zip(axes, datasets, strict=False):
            here = records[records["dataset"] == dataset].groupby("method")
            scores = here[f"test_{metric}"].apply(lambda v: scaled(metric, v.to_numpy()))
            for i, method in enumerate(methods, start=1):
                if method in scores:
                    _draw_repeats(axis, i, scores[method], styles[method])
            _log_if_wide(axis.set_xscale, metric, np.concatenate(list(scores)))
            axis.set_title(dataset, fontsize=9, fontweight="bold")
            axis.set_yticks(range(1, len(methods) + 1), methods)
            axis.grid(axis="y", visible=False)
        axes[0].invert_yaxis()  # shared by all panels
        figure.supxlabel(heading(metric), fontsize=9)
    return figure


def _draw_repeats(axis, row, values, style):
    if len(values) >= _BOXES_FROM:
        axis.boxplot(
            [values],
            positions=[row],
            orientation="horizontal",
            widths=0.6,
            patch_artist=True,
            manage_ticks=False,
            showfliers=False,
            medianprops={"linewidth": 0},
            boxprops={"facecolor": style.colour, "alpha": 0.45, "edgecolor": "none"},
        )
    axis.plot([values.mean()] * 2, [row - 0.3, row + 0.3], color="#000000", lw=1.4)
    heights = row + 0.16 * np.linspace(-1, 1, len(values) + 2)[1:-1]
    axis.plot(values, heights, style.marker, markersize=2.8, color=style.colour)


def _log_if_wide(set_scale, metric, values):
    """A logarithmic axis for errors that span more than a decade."""
    is_error = not GREATER_IS_BETTER[metric] and (values > 0).all()
    if is_error and values.max() > _DECADES * values.min():
        set_scale("log")


def plot_time_accuracy(means, task, styles):
    """Time of search and fit against the main test metric, a panel per data set.

    `means` has a row for each data set and method, with columns `seconds` and `score`.
    The line joins the methods that no other beats in both (the Pareto front). They
    carry their names; where there are few methods, all do.
    """
    metric = MAIN_METRIC[task]
    means = means.assign(score=scaled(metric, means["score"]))
    datasets = sorted(means.index.unique(0), key=natural)
    few = means.index.unique(1).size <= _FEW
    with matplotlib.rc_context(STYLE):
        figure, axes = _grid(len(datasets), 3.5, 2.5, "x")
        axes[0].set_xscale("log")
        axes[0].xaxis.set_minor_formatter(NullFormatter())
        axes[0].set_xlim(*_decades(means["seconds"]))
        named = []
        for axis, dataset in zip(axes, datasets, strict=False):
            points = means.loc[dataset].sort_values("seconds")
            sign = -1 if GREATER_IS_BETTER[metric] else 1
            front = points[pareto_front(points["seconds"], sign * points["score"])]
            axis.plot(*front.to_numpy().T, color="#7f7f7f", lw=1, ls="--", zorder=1)
            for name, point in points.sort_index(key=in_natural_order).iterrows():
                style = {"marker": styles[name].marker, "color": styles[name].colour}
                axis.plot(*point, linestyle="none", label=name, **style)
            _log_if_wide(axis.set_yscale, metric, points["score"].to_numpy())
            axis.margins(y=0.2)
            axis.set_title(dataset, fontsize=9, fontweight="bold")
            axis.tick_params(labelbottom=True)
            named.append((axis, points, list(points.index if few else front.index)))
        figure.supxlabel("Time of search and fit, mean of the repeats (s)", fontsize=9)
        figure.supylabel(heading(metric), fontsize=9)
        if not few:
            add_legend(figure, 5)
        for axis, points, shown in named:
            label_points(axis, points, shown)
    return figure


def label_points(axis, points, names=None):
    """Names beside their points, where they overlap nothing and stay inside the axes.

    `points` has the names as its index, and columns for x and y. A name that has no
    room is left to the legend or the table.
    """
    axis.figure.draw_without_rendering()  # the layout is final from here on
    points = points.dropna()
    centres = dict(zip(points.index, axis.transData.transform(points), strict=True))
    room = axis.get_window_extent()
    taken = [Bbox.from_extents(*(xy - 3), *(xy + 3)) for xy in centres.values()]
    for name in points.index if names is None else names:
        offset = {"xytext": (5, 0), "textcoords": "offset points"}
        text = axis.annotate(name, points.loc[name], va="center", fontsize=7.5, **offset)
        for y, x in product((0, 7, -7, 14, -14, 21, -21), (5, -5)):
            text.set(position=(x, y), ha="left" if x > 0 else "right")
            box = text.get_window_extent()
            inside = room.contains(*box.min) and room.contains(*box.max)
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
        else:
            text.remove()


def plot_critical_difference(ranks, styles):
    """Demsar's diagram: average ranks of one task, bars over methods that do not differ.

    None where no Friedman test could be made, or on fewer than five data sets:
    Nemenyi's distance says next to nothing there.
    """
    ranks = ranks.dropna(subset=["average_rank", "critical_distance"])
    if ranks.empty or ranks["n_datasets"].iloc[0] < FEWEST:
        return None
    from scikit_posthocs import critical_difference_diagram

    average = ranks.set_index("method")["average_rank"].sort_values(kind="stable")
    apart = np.abs(np.subtract.outer(average.to_numpy(), average.to_numpy()))
    alike = (apart <= ranks["critical_distance"].iloc[0]) * 1.0
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(7.5, 1.2 + 0.2 * len(average)))
        critical_difference_diagram(
            average.to_dict(),
            # It only asks which side of the level a p-value is on.
            pd.DataFrame(alike, index=average.index, columns=average.index),
            ax=figure.add_axes((0.22, 0.05, 0.56, 0.85)),
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            color_palette={name: styles[name].colour for name in average.index},
            crossbar_props={"color": "#000000"},
        )
    return figure


def plot_search(curves, task, style):
    """How the score of a method's cross-validation depends on each parameter.

    `curves` maps data set and parameter to scores by value.
    """
    names = sorted({name for by_axis in curves.values() for name in by_axis})
    lines = dict(zip(curves, product(_DOTS, _DASHES), strict=False))
    with matplotlib.rc_context(STYLE):
        figure, axes = _grid(len(names), 3.0, 2.0)
        for axis, name in zip(axes, names, strict=False):
            shown = {d: by_axis[name] for d, by_axis in curves.items() if name in by_axis}
            for dataset, curve in shown.items():
                line = "".join(lines[dataset])
                scores = scaled(MAIN_METRIC[task], curve.to_numpy())
                axis.plot(curve.index, scores, line, ms=3, color=style.colour, label=dataset)
            values = [value for curve in shown.values() for value in curve.index]
            if all(isinstance(v, float) and v > 0 for v in values):
                axis.set_xscale("log")
                axis.xaxis.set_minor_formatter(NullFormatter())
            axis.set_xlabel(name)
        figure.supylabel(SEARCH_SCORE[task], fontsize=9)
        add_legend(figure)
    return figure


def add_legend(figure, n_columns=4):
    """One legend above all panels."""
    handles = {}
    for axis in figure.axes:
        handles |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside upper center",
        ncols=min(n_columns, len(handles)),
        frameon=False,
    )


def _grid(n, width, height, share=None):
    """A figure of n panels, without a row that is almost empty."""
    n_columns = 2 if n in (2, 4) else min(3, n)
    width *= 2 if n == 1 else 1  # as wide as the page's text
    n_rows = -(-n // n_columns)
    figure = Figure(figsize=(width * n_columns, 0.7 + height * n_rows), layout="constrained")
    axes = figure.subplots(
        n_rows, n_columns, squeeze=False, sharex=share == "x", sharey=share == "y"
    ).ravel()
    for axis in axes[n:]:
        axis.set_visible(False)
    return figure, axes


def _decades(seconds):
    """Limits of a logarithmic axis: whole powers of ten around the values."""
    exponents = np.log10(np.maximum(seconds.dropna(), 1e-6))
    return 10 ** np.floor(exponents.min() - 0.05), 10 ** np.ceil(exponents.max() + 0.05)


def colour(i):
    """The i-th of the colours, from the first again behind the last."""
    return list(FAMILIES.values())[i % len(FAMILIES)]

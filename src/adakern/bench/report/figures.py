"""General figures of a comparison, drawn from its tables.

Matplotlib's object interface only: no global figure, no back end to choose. The same
tables give the same bytes.
"""

import io

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from adakern._utils.files import atomic_path
from adakern.bench.report.tables import LABELS, SCALES
from adakern.evaluation import MAIN_METRIC

__all__ = [
    "STYLE",
    "colour",
    "plot_boxes",
    "plot_critical_difference",
    "plot_time_accuracy",
    "save_svg",
    "to_svg",
]

# Okabe and Ito's colours, told apart by colour-blind readers too; all are readable on
# white and on near-black.
_COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#8c6d31",
    "#7f7f7f",
)
_MARKERS = "osD^vP*X"
STYLE = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "none",
    "svg.hashsalt": "adakern",
}


def save_svg(figure, path):
    """Save a figure as SVG, whole or not at all; the same figure, the same bytes."""
    with atomic_path(path) as temporary:
        temporary.write_text(to_svg(figure), encoding="utf-8")


def to_svg(figure):
    """The figure as SVG text, transparent, with text as text."""
    buffer = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            bbox_inches="tight",
            metadata={"Date": None, "Creator": None},
        )
    return buffer.getvalue()


def plot_boxes(solves, task):
    """Box plots of the main test metric over the repeats, one panel per data set."""
    metric = MAIN_METRIC[task]
    column = f"test_{metric}"
    solves = _finished(solves, task, column)
    methods = sorted(solves["method"].unique())
    datasets = sorted(solves["dataset"].unique())
    n_rows, n_columns = _panels(len(datasets))
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(3.4 * n_columns, 0.7 + n_rows * (0.75 + 0.27 * len(methods))),
            layout="constrained",
        )
        axes = figure.subplots(n_rows, n_columns, squeeze=False, sharey=True)
        for axis in axes.flat[len(datasets) :]:
            axis.set_visible(False)
        for axis, dataset in zip(axes.flat, datasets, strict=False):
            here = solves[solves["dataset"] == dataset]
            scores = [
                here.loc[here["method"] == method, column].to_numpy()
                * SCALES.get(metric, 1)
                for method in methods
            ]
            _draw_boxes(axis, scores)
            axis.set_title(dataset, fontsize=9, fontweight="bold")
            axis.set_yticks(range(1, len(methods) + 1), methods)
            axis.grid(axis="y", visible=False)
        axes[0, 0].invert_yaxis()  # shared by all panels
        figure.supxlabel(LABELS[metric], fontsize=9)
    return figure


def _draw_boxes(axis, scores):
    boxes = axis.boxplot(
        scores,
        orientation="horizontal",
        widths=0.6,
        patch_artist=True,
        medianprops={"color": "#000000", "linewidth": 1.4},
        flierprops={"marker": "", "markersize": 0},
    )
    for i, (box, values) in enumerate(zip(boxes["boxes"], scores, strict=True)):
        box.set(facecolor=colour(i), alpha=0.45, edgecolor="none")
        # The repeats themselves: of ten, a box alone hides more than it shows.
        spread = 0.16 * np.linspace(-1, 1, len(values)) if len(values) > 1 else 0
        height = np.full(len(values), i + 1.0) + spread
        axis.plot(values, height, "o", markersize=2.6, color=colour(i))


def plot_time_accuracy(summary, task):
    """Mean time to fit against the mean of the main test metric, panel by data set."""
    metric = MAIN_METRIC[task]
    rows = summary[(summary["task"] == task) & (summary["n"] > 0)]
    means = rows[
        ((rows["split"] == "test") & (rows["metric"] == metric))
        | (rows["metric"] == "fit_seconds")
    ].pivot(index=["dataset", "method"], columns="metric", values="mean")
    methods = sorted(means.index.get_level_values("method").unique())
    datasets = sorted(means.index.get_level_values("dataset").unique())
    n_rows, n_columns = _panels(len(datasets))
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(3.4 * n_columns, 0.9 + 2.1 * n_rows), layout="constrained"
        )
        axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
        for axis in axes.flat[len(datasets) :]:
            axis.set_visible(False)
        handles = {}
        for axis, dataset in zip(axes.flat, datasets, strict=False):
            for i, method in enumerate(methods):
                if (dataset, method) not in means.index:
                    continue
                point = means.loc[(dataset, method)]
                (handles[method],) = axis.plot(
                    point["fit_seconds"],
                    point[metric] * SCALES.get(metric, 1),
                    linestyle="none",
                    marker=_MARKERS[i % len(_MARKERS)],
                    color=colour(i),
                    label=method,
                )
            axis.margins(y=0.15)
            axis.set_title(dataset, fontsize=9, fontweight="bold")
            axis.tick_params(labelbottom=True)
        axes[0, 0].set_xscale("log")
        axes[0, 0].xaxis.set_minor_formatter(NullFormatter())
        axes[0, 0].set_xlim(*_decades(means["fit_seconds"]))
        figure.supxlabel(LABELS["fit_seconds"], fontsize=9)
        figure.supylabel(LABELS[metric], fontsize=9)
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside upper center",
            ncols=min(5, len(handles)),
            frameon=False,
        )
    return figure


def plot_critical_difference(ranks, task):
    """Demsar's diagram: average ranks, and bars over methods that do not differ.

    Returns
    -------
    Figure or None
        None where no Friedman test could be made.
    """
    ranks = ranks[ranks["task"] == task].dropna(subset=["average_rank"])
    ranks = ranks.sort_values(["average_rank", "method"])
    if ranks.empty or not np.isfinite(ranks["critical_distance"].iloc[0]):
        return None
    average = ranks["average_rank"].to_numpy()
    distance = ranks["critical_distance"].iloc[0]
    bars = _groups(average, distance)
    k = len(average)
    half = -(-k // 2)
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(7, 1.15 + 0.24 * half + 0.13 * len(bars)))
        axis = figure.add_axes((0.2, 0.02, 0.6, 0.96))
        axis.axis("off")
        axis.set_xlim(1, k)
        depth = 0.6 + 0.35 * len(bars)
        axis.set_ylim(-depth - 0.6 * half, 1.5)
        _draw_scale(axis, k, min(distance, k - 1), distance)
        for i, (left, right) in enumerate(bars):
            axis.plot(
                [average[left] - 0.04, average[right] + 0.04],
                [-0.35 * (i + 1)] * 2,
                color="#000000",
                linewidth=3,
                solid_capstyle="round",
            )
        for i, (rank, method) in enumerate(zip(average, ranks["method"], strict=True)):
            is_left = i < half
            y = -depth - 0.6 * (i if is_left else k - 1 - i)
            edge = 1 if is_left else k
            axis.plot([rank, rank, edge], [0, y, y], color="#000000", linewidth=0.8)
            axis.annotate(
                f"{method} ({rank:.2f})",
                (edge, y),
                xytext=(-4 if is_left else 4, 0),
                textcoords="offset points",
                ha="right" if is_left else "left",
                va="center",
            )
    return figure


def _draw_scale(axis, k, length, distance):
    axis.plot([1, k], [0, 0], color="#000000", linewidth=1)
    for rank in range(1, k + 1):
        axis.plot([rank, rank], [0, 0.15], color="#000000", linewidth=1)
        axis.text(rank, 0.22, str(rank), ha="center", va="bottom")
    axis.plot([1, 1 + length], [1, 1], "|-", color="#000000", linewidth=1)
    cut = " (longer than the scale)" if length < distance else ""
    axis.text(1, 1.12, f"critical distance {distance:.2f}{cut}", ha="left", va="bottom")


def _groups(average, distance):
    """Longest runs of sorted ranks that span no more than the critical distance."""
    runs = []
    for left in range(len(average)):
        right = int(np.searchsorted(average, average[left] + distance, "right")) - 1
        if right > left and not any(right <= end for _, end in runs):
            runs.append((left, right))
    return runs


def _finished(solves, task, column):
    return solves[(solves["task"] == task) & (solves["status"] == "ok")].dropna(
        subset=[column]
    )


def _panels(n):
    """Rows and columns of n panels, without a row that is almost empty."""
    n_columns = 2 if n in (2, 4) else min(3, n)
    return -(-n // n_columns), n_columns


def _decades(seconds):
    """Limits of a logarithmic axis: whole powers of ten around the values."""
    exponents = np.log10(np.maximum(seconds.dropna(), 1e-6))
    return 10 ** np.floor(exponents.min() - 0.05), 10 ** np.ceil(exponents.max() + 0.05)


def colour(i):
    """The i-th of the colours, from the first again behind the last."""
    return _COLOURS[i % len(_COLOURS)]

"""General figures of a comparison, drawn from its tables.

Matplotlib's object interface only: no global figure, no back end to choose. The same
tables give the same bytes.
"""

import html
import io
import re

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from adakern._utils.files import atomic_path
from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC
from adakern_bench.report.palette import FAMILIES
from adakern_bench.report.standings import cost_seconds
from adakern_bench.report.tables import LABELS, SCALES

__all__ = [
    "MIN_DATASETS",
    "MOST_PANELS",
    "SEARCH_SCORE",
    "STYLE",
    "colour",
    "inline_svg",
    "plot_boxes",
    "plot_critical_difference",
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
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "none",
    "svg.hashsalt": "adakern",
}
_DASHES, _DOTS = ("-", "--", ":", "-."), "osD^"
#: Up to this many methods all points carry their names.
_FEW = 10
#: Fewest data sets for a critical-difference diagram.
MIN_DATASETS = 5
#: What searches maximise.
SEARCH_SCORE = {
    "classification": "Accuracy in the search (%)",
    "regression": "Negative mean squared error in the search",
}
#: Data sets up to which a figure that has a panel for each is drawn.
MOST_PANELS = 20


def save_svg(figure, path):
    """Save a figure as SVG, whole or not at all; the same figure, the same bytes.

    Parameters
    ----------
    figure : Figure
        Of matplotlib.
    path : Path
        The file.
    """
    with atomic_path(path) as temporary:
        temporary.write_text(to_svg(figure), encoding="utf-8")


def to_svg(figure):
    """The figure as SVG text, transparent, with text as text.

    Parameters
    ----------
    figure : Figure
        Of matplotlib.
    """
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


def inline_svg(svg, prefix, label):
    """An SVG file's text made fit to stand inside a page.

    Its black follows the page's text colour, its ids cannot clash with those of another
    figure, it scales down to the page's width and has a text alternative.

    Parameters
    ----------
    svg : str
        A picture.
    prefix : str
        Put before its ids.
    label : str
        What it shows, for screen readers.
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


def plot_boxes(solves, task, styles, order):
    """Box plots of the main test metric over the repeats, one panel per data set.

    Parameters
    ----------
    solves : DataFrame
    task : str
    styles : mapping of str to adakern_bench.report.palette.Style
    order : list of str
        Methods from the top to the bottom.
    """
    metric = MAIN_METRIC[task]
    column = f"test_{metric}"
    solves = _finished(solves, task, column)
    methods = [name for name in order if name in set(solves["method"])]
    datasets = sorted(solves["dataset"].unique())
    with matplotlib.rc_context(STYLE):
        figure, axes = _grid(len(datasets), 3.4, 0.75 + 0.27 * len(methods), "y")
        for axis, dataset in zip(axes, datasets, strict=False):
            here = solves[solves["dataset"] == dataset]
            scores = [
                here.loc[here["method"] == method, column].to_numpy()
                * SCALES.get(metric, 1)
                for method in methods
            ]
            _draw_boxes(axis, scores, [styles[method] for method in methods])
            axis.set_title(dataset, fontsize=9, fontweight="bold")
            axis.set_yticks(range(1, len(methods) + 1), methods)
            axis.grid(axis="y", visible=False)
        axes[0].invert_yaxis()  # shared by all panels
        figure.supxlabel(LABELS[metric], fontsize=9)
    return figure


def _draw_boxes(axis, scores, styles):
    boxes = axis.boxplot(
        scores,
        orientation="horizontal",
        widths=0.6,
        patch_artist=True,
        medianprops={"color": "#000000", "linewidth": 1.4},
        flierprops={"marker": "", "markersize": 0},
    )
    rows = zip(boxes["boxes"], scores, styles, strict=True)
    for i, (box, values, style) in enumerate(rows):
        box.set(facecolor=style.colour, alpha=0.45, edgecolor="none")
        # The repeats themselves: of ten, a box alone hides more than it shows.
        spread = 0.16 * np.linspace(-1, 1, len(values)) if len(values) > 1 else 0
        height = np.full(len(values), i + 1.0) + spread
        axis.plot(values, height, style.marker, markersize=2.8, color=style.colour)


def plot_time_accuracy(solves, task, styles):
    """Time of search and fit against the main test metric, a panel per data set.

    The line joins the methods that no other beats in both (the Pareto front). They
    carry their names; where there are few methods, all do.

    Parameters
    ----------
    solves : DataFrame
        One row for each solve.
    task : {"classification", "regression"}
        Whose solves are shown.
    styles : dict
        Colour and marker by method.
    """
    metric = MAIN_METRIC[task]
    column = f"test_{metric}"
    solves = _finished(solves, task, column)
    solves = solves.assign(
        seconds=cost_seconds(solves), score=solves[column] * SCALES.get(metric, 1)
    )
    means = solves.groupby(["dataset", "method"])[["seconds", "score"]].mean()
    datasets = sorted(solves["dataset"].unique())
    names = sorted(solves["method"].unique())
    few = len(names) <= _FEW
    with matplotlib.rc_context(STYLE):
        figure, axes = _grid(len(datasets), 3.5, 2.5, "x")
        axes[0].set_xscale("log")
        axes[0].xaxis.set_minor_formatter(NullFormatter())
        axes[0].set_xlim(*_decades(means["seconds"]))
        handles = {}
        for axis, dataset in zip(axes, datasets, strict=False):
            points = means.loc[dataset].sort_values("seconds")
            front = _pareto(points["score"], GREATER_IS_BETTER[metric])
            axis.plot(
                *points.loc[front, ["seconds", "score"]].to_numpy().T,
                color="#7f7f7f",
                linewidth=1,
                linestyle="--",
                zorder=1,
            )
            for name, point in points.iterrows():
                (handles[name],) = axis.plot(
                    point["seconds"],
                    point["score"],
                    linestyle="none",
                    marker=styles[name].marker,
                    color=styles[name].colour,
                )
            axis.margins(y=0.2)
            axis.set_title(dataset, fontsize=9, fontweight="bold")
            axis.tick_params(labelbottom=True)
            _label_points(axis, points, list(points.index) if few else front)
        figure.supxlabel("Time of search and fit (s)", fontsize=9)
        figure.supylabel(LABELS[metric], fontsize=9)
        if not few:
            _legend(figure, {name: handles[name] for name in names}, 5)
    return figure


def _pareto(scores, greater_is_better):
    """Names on the Pareto front of scores sorted by rising time."""
    front, best = [], None
    for name, score in scores.items():
        if best is None or (score > best if greater_is_better else score < best):
            front.append(name)
            best = score
    return front


def _label_points(axis, points, names):
    """Names beside their points, moved up or down where they would overlap."""
    low, high = np.log10(axis.get_xlim())
    bottom, top = axis.get_ylim()
    width, height = 3.0, 2.0  # of a panel in inches, about
    x = (np.log10(points["seconds"]) - low) / (high - low) * width
    y = (points["score"] - bottom) / (top - bottom) * height
    taken = [(a - 0.05, b, 0.1) for a, b in zip(x, y, strict=True)]
    shifts = [sign * step for step in (0, 0.12, 0.24, 0.36, 0.48) for sign in (1, -1)]
    for name in names:
        length = 0.062 * len(name)
        on_left = x[name] + length + 0.12 > width
        start = x[name] - length - 0.08 if on_left else x[name] + 0.08
        shift = next(
            (
                dy
                for dy in shifts
                if 0.05 < y[name] + dy < height - 0.03
                and not any(
                    abs(y[name] + dy - b) < 0.11
                    and a < start + length
                    and start < a + n
                    for a, b, n in taken
                )
            ),
            0,
        )
        taken.append((start, y[name] + shift, length))
        axis.annotate(
            name,
            points.loc[name, ["seconds", "score"]],
            xytext=(-6 if on_left else 6, 72 * shift),
            textcoords="offset points",
            ha="right" if on_left else "left",
            va="center",
            fontsize=7.5,
        )


def plot_critical_difference(ranks, task, styles):
    """Demsar's diagram: average ranks, and bars over methods that do not differ.

    Parameters
    ----------
    ranks : DataFrame
        Mean rank of each method.
    task : {"classification", "regression"}
        Whose solves are shown.
    styles : dict
        Colour and marker by method.

    Returns
    -------
    Figure or None
        None where no Friedman test could be made, or on fewer than five data sets:
        Nemenyi's distance says next to nothing there.
    """
    ranks = ranks[ranks["task"] == task].dropna(subset=["average_rank"])
    if ranks.empty or ranks["n_datasets"].iloc[0] < MIN_DATASETS:
        return None
    distance = ranks["critical_distance"].iloc[0]
    if not np.isfinite(distance):
        return None
    from scikit_posthocs import critical_difference_diagram

    average = ranks.set_index("method")["average_rank"].sort_values(kind="stable")
    names = average.index
    apart = np.abs(np.subtract.outer(average.to_numpy(), average.to_numpy()))
    # The diagram only asks which side of the level a p-value is on.
    pvalues = pd.DataFrame((apart <= distance) * 1.0, index=names, columns=names)
    with matplotlib.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(7.5, 1.2 + 0.2 * len(names)))
        axis = figure.add_axes((0.22, 0.05, 0.56, 0.85))
        critical_difference_diagram(
            average.to_dict(),
            pvalues,
            cd=distance,
            ax=axis,
            label_fmt_left="{label} ({rank:.2f})",
            label_fmt_right="({rank:.2f}) {label}",
            color_palette={name: styles[name].colour for name in names},
            crossbar_props={"color": "#000000"},
        )
        _above_the_axis(axis.lines[-1], axis.texts[-1])
    return figure


def _above_the_axis(bar, label):
    """Move the bar of the critical distance off the numbers of the axis."""
    bar.set(ydata=[1.6, 1.6], clip_on=False)
    label.set(y=1.75, va="bottom")


def plot_search(curves, task, style):
    """How the score of a method's cross-validation depends on each parameter.

    Parameters
    ----------
    curves : mapping of str to mapping of str to Series
        Data set -> parameter -> for each of its values (the index) the score of the
        best point that has it, mean over the repeats.
    task : str
    style : adakern_bench.report.palette.Style
    """
    axes_names = sorted({name for by_axis in curves.values() for name in by_axis})
    with matplotlib.rc_context(STYLE):
        figure, axes = _grid(len(axes_names), 3.0, 2.0)
        handles = {}
        for axis, name in zip(axes, axes_names, strict=False):
            shown = {
                d: by_axis[name] for d, by_axis in curves.items() if name in by_axis
            }
            for i, (dataset, curve) in enumerate(shown.items()):
                (handles[dataset],) = axis.plot(
                    curve.index,
                    curve.to_numpy() * SCALES.get(MAIN_METRIC[task], 1),
                    _DASHES[i % len(_DASHES)],
                    marker=_DOTS[i // len(_DASHES) % len(_DOTS)],
                    markersize=3,
                    color=style.colour,
                )
            values = [value for curve in shown.values() for value in curve.index]
            if all(isinstance(v, float) and v > 0 for v in values):
                axis.set_xscale("log")
                axis.xaxis.set_minor_formatter(NullFormatter())
            axis.set_xlabel(name)
        figure.supylabel(SEARCH_SCORE[task], fontsize=9)
        _legend(figure, handles, 4)
    return figure


def _legend(figure, handles, n_columns):
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
    n_rows = -(-n // n_columns)
    figure = Figure(
        figsize=(width * n_columns, 0.7 + height * n_rows), layout="constrained"
    )
    axes = figure.subplots(
        n_rows, n_columns, squeeze=False, sharex=share == "x", sharey=share == "y"
    ).ravel()
    for axis in axes[n:]:
        axis.set_visible(False)
    return figure, axes


def _finished(solves, task, column):
    return solves[(solves["task"] == task) & (solves["status"] == "ok")].dropna(
        subset=[column]
    )


def _decades(seconds):
    """Limits of a logarithmic axis: whole powers of ten around the values."""
    exponents = np.log10(np.maximum(seconds.dropna(), 1e-6))
    return 10 ** np.floor(exponents.min() - 0.05), 10 ** np.ceil(exponents.max() + 0.05)


def colour(i):
    """The i-th of the colours, from the first again behind the last.

    Parameters
    ----------
    i : int
        Place in the palette.
    """
    return list(FAMILIES.values())[i % len(FAMILIES)]

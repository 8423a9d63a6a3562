"""General figures of a comparison, and helpers of all figures.

They use Matplotlib's object interface, without global figure and back end. The same
tables give the same bytes.
"""

import io
import re
from itertools import cycle, product, zip_longest
from typing import NamedTuple
from xml.etree import ElementTree

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, StrMethodFormatter

from adakern._utils.files import atomic_path, write_text
from adakern._utils.printable import printable
from adakern.evaluation import GREATER_IS_BETTER, pareto_front
from adakern_bench.report.tables import heading, scaled
from adakern_bench.report.wording import in_natural_order, natural

#: Okabe and Ito's colours, distinguishable by colour-blind readers, and a grey; all are
#: legible on white and on near-black.
COLOURS = [
    "#d55e00",
    "#0072b2",
    "#56b4e9",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#8c6d31",
    "#7f7f7f",
]
#: Matplotlib's markers, and their characters in text.
MARKERS = dict(zip("osD^vP*X<>", "●■◆▲▼✚★✖◀▶", strict=True))

STYLE = {
    "font.size": 9,
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "none",
    "svg.hashsalt": "adakern",
    "pdf.fonttype": 42,  # embeds TrueType fonts, as journals require
}
#: Minimum ratio of the largest to the smallest value for a logarithmic axis.
_DECADES = 20
#: Elements and attributes that a page takes over from an SVG file by Matplotlib, and
#: functions in their values that it does not, as they could load a file.
_ELEMENTS = re.compile("defs|g|a|path|use|t(ext|span)|clipPath|rect|image|pattern")
_ATTRIBUTES = re.compile(
    "style|x|y|d|transform|width|height|viewBox|clip-path|patternUnits"
)
_OTHER_FUNCTION = re.compile(
    r"(?<!matrix)(?<!translate)(?<!scale)(?<!rotate)(?<!rgb)(?<!rgba)\((?!#)|\\"
)
#: Maximum number of data sets of figures with a panel for each.
MOST_PANELS = 20


class Style(NamedTuple):
    """Colour and marker of a method."""

    colour: str
    marker: str


def method_styles(names):
    """Styles of methods, the same in every figure of these methods."""
    styles = [Style(colour, marker) for marker, colour in product(MARKERS, COLOURS)]
    return dict(zip(sorted(set(names)), cycle(styles), strict=False))


def grid(n_rows, n_columns, width=3.4, height=2.6, **options):
    """Make a figure and its axes, row by row; width and height are per panel."""
    size = (0.8 + width * n_columns, 0.8 + height * n_rows)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def panels(titles, width=3.4, height=2.6, **options):
    """Make a figure with a panel per title, in rows of at most three."""
    n = len(titles)
    n_columns = 2 if n in (2, 4) else min(3, n)
    width *= 2 if n == 1 else 1  # the width of the page's text
    figure, axes = grid(-(-n // n_columns), n_columns, width, height, **options)
    for axis, title in zip_longest(axes.flat, titles):
        axis.set(title=title or "", visible=title is not None)
    return figure, axes.ravel()[:n]


def scale_for(values):
    """Name of an axis scale: logarithmic for a wide range, symlog if zeros occur."""
    positive = values[values > 0]
    if not len(positive) or positive.max() <= _DECADES * positive.min():
        return "linear"
    return "symlog" if (values <= 0).any() else "log"


def plain_ticks(*sides):
    """Use few ticks, with labels such as 48,000 rather than 4.8e+04."""
    for side in sides:
        side.set_major_locator(MaxNLocator(5))
        side.set_major_formatter(StrMethodFormatter("{x:,.6g}"))


def add_legend(figure, n_columns=4):
    """Add a legend above all panels."""
    handles = {}
    for axis in figure.axes:
        handles |= dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
    place = {"loc": "outside upper center", "ncols": min(n_columns, len(handles))}
    figure.legend(handles.values(), handles.keys(), frameon=False, fontsize=9, **place)


def save_svg(figure, path):
    """Save a figure as SVG, atomically; the same figure gives the same bytes."""
    write_text(path, to_svg(figure))


def save_pdf(figure, path):
    """Save a figure as PDF, in the style of the SVG."""
    with atomic_path(path) as temporary, matplotlib.rc_context(STYLE):
        figure.savefig(
            temporary,
            format="pdf",
            bbox_inches="tight",
            metadata={"CreationDate": None},
        )


def to_svg(figure):
    """Return a figure as transparent SVG, with text as text."""
    file = io.StringIO()
    nothing = {"Date": None, "Creator": None}  # they would change the bytes
    for axis in figure.axes:
        axis.title.set(fontsize=9, fontweight="bold")
    with matplotlib.rc_context(STYLE):
        figure.savefig(
            file, format="svg", transparent=True, bbox_inches="tight", metadata=nothing
        )
    # Hundredths of a point are precise enough and halve the size of the files.
    return re.sub(
        r' d="[^"]*"',
        lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path.group()),
        printable(file.getvalue()),
    )


def inline_svg(svg, prefix, label):
    """Prepare the text of an SVG file for inclusion in a page.

    Black becomes the text colour of the page, ids are made unique, the figure scales
    down to the width of the page, and has a text alternative. Whatever Matplotlib does
    not write is left out, such as a script in somebody else's results.
    """
    black = re.compile("#(000000|262626|b0b0b0|cccccc)")
    root = ElementTree.fromstring(black.sub("currentColor", svg))
    for element in root.iter():
        element.tag = _local_name(element.tag)
        element[:] = [
            part for part in element if _ELEMENTS.fullmatch(_local_name(part.tag))
        ]
        given = {_local_name(name): value for name, value in element.items()}
        element.attrib.clear()
        for name, value in given.items():
            if name == "href" and re.match("#|data:image/png;base64,", value):
                element.set(name, re.sub("^#", lambda _: f"#{prefix}-", value))
            elif name == "id":
                element.set(name, f"{prefix}-{value}")
            elif _ATTRIBUTES.fullmatch(name) and not _OTHER_FUNCTION.search(value):
                element.set(name, value.replace("url(#", f"url(#{prefix}-"))
    root.attrib.pop("style", None)  # it could cover the page
    # Matplotlib sets the ends of lines in an element <style>, which is left out, and
    # does not write the colour of black text.
    root.set("stroke-linejoin", "round")
    root.set("stroke-linecap", "butt")
    root.set("fill", "currentColor")
    root.set("role", "img")
    root.set("aria-label", label)
    return ElementTree.tostring(root, encoding="unicode")


def _local_name(name):
    return name.rpartition("}")[2]


def plot_repeats(records, metric, styles, order):
    """Plot a test metric of every repeat, with a panel per data set.

    Each method is a row, in the given order, with a line at its mean.
    """
    records = records[records["status"] == "ok"]
    methods = [name for name in order if name in set(records["method"])]
    datasets = sorted(records["dataset"].unique(), key=natural)
    figure, axes = panels(datasets, 3.4, 0.75 + 0.27 * len(methods), sharey=True)
    for axis, dataset in zip(axes, datasets, strict=True):
        here = records[records["dataset"] == dataset]
        scores = scaled(metric, here[f"test_{metric}"].astype(float))
        for method, values in scores.groupby(here["method"]):
            _draw_repeats(
                axis, methods.index(method) + 1, values.to_numpy(), styles[method]
            )
        _scale_scores(axis.xaxis, axis.set_xscale, scores, GREATER_IS_BETTER[metric])
        axis.set_yticks(range(1, len(methods) + 1), methods)
        axis.grid(axis="y", visible=False)
    axes[0].invert_yaxis()  # shared by all panels
    figure.supxlabel(heading(metric), fontsize=9)
    return figure


def _draw_repeats(axis, row, values, style):
    axis.plot([values.mean()] * 2, [row - 0.3, row + 0.3], color="#000000", lw=1.4)
    heights = row + 0.16 * np.linspace(-1, 1, len(values) + 2)[1:-1]
    axis.plot(values, heights, style.marker, markersize=2.8, color=style.colour)


def _scale_scores(side, set_scale, values, greater_is_better):
    """Choose the scale of scores: logarithmic for errors in a wide range."""
    is_linear = greater_is_better or not (values > 0).all()
    scale = "linear" if is_linear else scale_for(values)
    set_scale(scale)
    if scale == "linear":
        plain_ticks(side)


def plot_fronts(points, xlabel, ylabel, styles, greater_is_better):
    """Plot time against a score, with a panel per value of the first index level.

    `points` has a row per value and method, and the columns `seconds` and `score`. The
    line connects the Pareto front: methods that no other method beats in both.
    """
    parts = sorted(points.index.unique(0), key=natural)
    figure, axes = panels(parts, 3.5, 2.5)
    for axis, part in zip(axes, parts, strict=True):
        here = points.loc[part].sort_values("seconds")
        losses = -here["score"] if greater_is_better else here["score"]
        front = here[pareto_front(here["seconds"], losses)]
        axis.plot(*front.to_numpy().T, color="#7f7f7f", lw=1, ls="--", zorder=1)
        for name, point in here.sort_index(key=in_natural_order).iterrows():
            axis.plot(
                *point, styles[name].marker, color=styles[name].colour, label=name
            )
        axis.set_xscale("log")
        _scale_scores(axis.yaxis, axis.set_yscale, here["score"], greater_is_better)
        few = here["seconds"].max() < 30 * here["seconds"].min()
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter("")  # labels in between would overlap
    figure.supxlabel(xlabel, fontsize=9)
    figure.supylabel(ylabel, fontsize=9)
    add_legend(figure, 5)
    return figure

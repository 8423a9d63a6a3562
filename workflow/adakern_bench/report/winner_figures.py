"""Figures of the best method of a table, each with a caption."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, num2date
from matplotlib.figure import Figure
from scipy.stats import binomtest
from sklearn.metrics import ConfusionMatrixDisplay, precision_recall_curve

from adakern._utils.printable import as_written
from adakern._utils.wording import count
from adakern.adaptive.coverage import coverage_by, coverage_lines
from adakern_bench.report.figures import COLOURS, STYLE, plain_ticks
from adakern_bench.report.tables import heading

#: Size of each figure in inches, two of which fit in a row of the page.
SIZE = (5.4, 3.7)
#: Maximum number of values of a column in a partial dependence plot, and of such plots.
MOST_VALUES, MOST_DEPENDENCES = 20, 4
#: Number of bins of calibration curves, and of spans of time.
N_BINS, N_SPANS = 10, 6
#: Maximum number of columns in the figure of importances.
MOST_BARS = 12
#: Style of reference lines: the ideal, or a chosen value.
GUIDE = {"color": "#7f7f7f", "ls": "--", "lw": 1}
#: Names of columns and classes may contain a $.
PLAIN_TEXT = {"text.parse_math": False}
_SHARES = [0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1]


def draw_all(best, columns):
    """Name -> (figure, caption) of every figure that applies to the table."""
    pictures = {
        "1 errors": _errors,
        "2 thresholds": _thresholds,
        "3 gains": _gains,
        "4 calibration": _calibration,
        "5 over time": _over_time,
        "6 distance in time": _distance,
        "7 columns": _bars,
        "8 dependence": _dependences,
    }
    figures = {}
    with matplotlib.rc_context(STYLE | PLAIN_TEXT):
        for name, draw in pictures.items():
            figure = Figure(figsize=SIZE, layout="constrained")
            if caption := draw(figure.subplots(), best, columns):
                figures[name.replace(" ", "_")] = figure, caption
    return figures


def _has_probabilities(best):
    return hasattr(best.pipeline, "predict_proba")


def _errors(axis, best, columns):
    """Plot the confusion matrix, or predicted against true values."""
    n = len(best.y)
    predicted = best.pipeline.predict(best.X)
    if best.event is None:
        axis.plot(predicted, best.y, ".", markersize=4, alpha=0.6)
        ends = [min(predicted.min(), best.y.min()), max(predicted.max(), best.y.max())]
        axis.plot(ends, ends, **GUIDE)
        axis.set(title="Predicted and true", xlabel="predicted", ylabel="true")
        plain_ticks(axis.xaxis, axis.yaxis)
        off = np.abs(best.y - predicted)
        return (
            f"{best.method} on {count(n, 'test row')} of one split: the absolute error "
            f"is at most {as_written(np.median(off), 3)} for half of them and at most "
            f"{as_written(np.quantile(off, 0.9), 3)} for nine in ten."
        )
    ConfusionMatrixDisplay.from_predictions(
        best.y, predicted, ax=axis, colorbar=False, cmap="Blues"
    )
    axis.set(title="Confusion matrix", aspect="auto")
    axis.grid(visible=False)
    is_event = best.y == best.event
    called = predicted == best.event
    return (
        f"{best.method} on {count(n, 'test row')} of one split: of "
        f"{count(is_event.sum(), 'row')} of class '{best.event}', "
        f"{(is_event & called).sum():,} are predicted as such; of the other rows, "
        f"{(called & ~is_event).sum():,}."
    )


def _events(best):
    """Indicators and probabilities of the event, for two classes; otherwise None."""
    if best.event is None or not _has_probabilities(best):
        return None
    truth = best.observed()
    is_binary = len(best.pipeline.classes_) == 2
    return (truth, best.expected(best.X)) if is_binary and truth.any() else None


def _found(truth, p):
    """Number of events among the first rows, the most probable first."""
    return np.cumsum(truth[np.argsort(-p, kind="stable")])


def _thresholds(axis, best, columns):
    """Plot precision and recall against the threshold of the probability."""
    if (events := _events(best)) is None:
        return None
    truth, p = events
    precision, recall, at = precision_recall_curve(truth, p)
    precision, recall = precision[:-1], recall[:-1]
    where = np.abs(precision - recall).argmin()
    axis.step(at, precision, where="post", label="precision", color=COLOURS[1])
    axis.step(at, recall, where="post", label="recall", color=COLOURS[0])
    axis.axvline(at[where], **GUIDE)
    axis.set(title=f"Threshold for {best.event}", xlabel="threshold", ylim=(0, 1.02))
    _share_axis(axis.xaxis, axis.set_xscale, max(at.max(), 0.02))
    _percent_ticks(axis.yaxis)
    axis.legend(frameon=False)
    return _cost_of_thresholds(best.event, truth, p, at[where])


def _cost_of_thresholds(event, truth, p, balanced):
    """Caption that explains the consequences of a threshold."""
    n = len(truth)
    events = int(truth.sum())
    called = p >= balanced
    n_found = int(truth[called].sum())
    # Number of rows to inspect to find nine in ten.
    needed = 1 + int(np.searchsorted(_found(truth, p), np.ceil(0.9 * events)))
    return (
        f"Precision is the share of rows predicted as '{event}' that are '{event}'; "
        f"recall is the share of '{event}' that is predicted as such. They are closest "
        f"at a threshold of {_percent(balanced)}: of {count(called.sum(), 'row')} "
        f"predicted as '{event}', {n_found:,} are, out of {events:,} in the test part. "
        f"To find nine in ten, {needed:,} of {n:,} rows must be inspected. A threshold "
        "scores better on the rows that it was chosen on than on new ones."
    )


def _gains(axis, best, columns):
    """Plot the fraction of events that is among the most probable rows."""
    if (events := _events(best)) is None:
        return None
    truth, p = events
    gains = np.append(0, _found(truth, p)) / truth.sum()
    looked_at = np.linspace(0, 1, len(gains))
    axis.plot(looked_at, gains, color=COLOURS[1])
    axis.plot([0, 1], [0, 1], **GUIDE)
    first = int(np.ceil(0.1 * len(truth)))
    lift = gains[first] * len(truth) / first
    axis.plot(looked_at[first], gains[first], "o", color=COLOURS[0])
    axis.set(
        title=f"Cumulative gains for {best.event}",
        xlabel="share of the rows inspected, the most probable first",
        ylabel=f"share of {best.event} found",
    )
    _percent_ticks(axis.xaxis, axis.yaxis)
    return (
        f"The tenth of the rows with the highest probability contains "
        f"{_percent(gains[first])} of '{best.event}', {lift:.1f} times as many as a "
        "random tenth (lift). The dashed line is a random order."
    )


def _calibration(axis, best, columns):
    """Plot the calibration of probabilities, or the coverage of intervals."""
    if best.event is not None and _has_probabilities(best):
        return _draw_calibration(axis, best)
    if hasattr(best.model, "predict_interval"):
        return _draw_coverage(axis, best)
    return None


def _draw_calibration(axis, best):
    """Plot observed against predicted frequency of the event, in groups of rows."""
    p = best.expected(best.X)
    truth = best.observed()
    parts = np.array_split(np.argsort(p, kind="stable"), min(N_BINS, len(p)))
    for part in parts:
        n = len(part)
        k = int(truth[part].sum())
        low, high = binomtest(k, n).proportion_ci(method="wilson")
        axis.plot([p[part].mean()] * 2, [low, high], color=COLOURS[1], lw=1.2)
        axis.plot(p[part].mean(), k / n, "o", color=COLOURS[1], markersize=4)
    top = max(0.05, *(line.get_ydata().max() for line in axis.lines), p.max())
    axis.plot([0, top], [0, top], **GUIDE)
    axis.set(
        title=f"Calibration of {best.event}",
        xlabel=f"predicted probability of {best.event}",
        ylabel="observed share",
    )
    _share_axis(axis.xaxis, axis.set_xscale, top)
    _share_axis(axis.yaxis, axis.set_yscale, top)
    return (
        f"Test rows in {count(len(parts), 'group')} by predicted probability of "
        f"'{best.event}', with 95 % intervals: one that crosses the dashed line agrees "
        f"with the prediction. The mean predicted probability is {_percent(p.mean())}, "
        f"the observed share {_percent(truth.mean())}. The axes have a square-root "
        "scale, which makes small shares visible."
    )


def _draw_coverage(axis, best):
    levels = np.arange(0.1, 1.0, 0.1)
    held = []
    data = best.data
    for level in levels:
        low, high = np.asarray(best.model.predict_interval(data.X_test, level)).T
        inside = (data.restore(low) <= data.y_test) & (
            data.y_test <= data.restore(high)
        )
        held.append(inside.mean())
    # For the last level, 90 %.
    by_kind = " ".join(coverage_lines(coverage_by(inside, _kinds(best))))
    by_kind = f" Lowest coverage by category or group: {by_kind.strip()}." * bool(
        by_kind
    )
    axis.plot(levels, held, "o", color=COLOURS[1])
    axis.axline((0, 0), slope=1, **GUIDE)
    axis.set(
        title="Coverage of intervals", xlabel="requested coverage", ylabel="coverage"
    )
    _percent_ticks(axis.xaxis, axis.yaxis)
    return (
        f"Intervals of 90 % contain {_percent(held[-1])} of the test targets, those "
        f"of 50 % contain {_percent(held[4])}.{by_kind}"
    )


def _kinds(best):
    """Name -> categories of each test row: categorical columns, and the groups."""
    X = best.X.select_dtypes(exclude=["number", "datetime"])
    kinds = {str(name): column.to_numpy() for name, column in X.items()}
    return kinds if best.groups is None else kinds | {"group": best.groups}


def _over_time(axis, best, columns):
    """Plot predicted and true means over time."""
    if best.times is None:
        return None
    shown = _spans(best, min(60, len(np.unique(best.times))))
    axis.plot(shown["true"], "o-", markersize=3, label="true", color="0.4")
    axis.plot(
        shown["expected"], "o-", markersize=3, label="predicted", color=COLOURS[0]
    )
    of = "" if best.event is None else f": share of {best.event}"
    axis.set(title=f"Predicted and true over time{of}")
    if best.times_are_dates:
        locator = AutoDateLocator(maxticks=7)
        axis.xaxis.set_major_locator(locator)
        axis.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    else:
        plain_ticks(axis.xaxis)
    plain_ticks(axis.yaxis)
    axis.legend(frameon=False)
    return (
        f"Means over the test rows of each time. The method was fitted to rows up to "
        f"{_time(best, best.learned_until)}."
    )


def _distance(axis, best, columns):
    """Plot the error against the distance in time from the training part."""
    if best.times is None:
        return None
    n_spans = min(N_SPANS, len(np.unique(best.times)))
    shown = _spans(best, n_spans)
    distance = shown.index - best.learned_until
    axis.errorbar(
        *(distance, shown["error"], 1.96 * shown["sem"].fillna(0.0)),
        fmt="o-",
        color=COLOURS[1],
        elinewidth=1,
    )
    unit = " (days)" if best.times_are_dates else ""
    what = "absolute error" if best.event is None else "squared error of probability"
    axis.set(
        title="Error by distance in time",
        xlabel=f"time since the last training row{unit}",
        ylabel=f"mean {what}",
    )
    axis.set_ylim(bottom=0)
    plain_ticks(axis.xaxis, axis.yaxis)
    first, last = shown["error"].iloc[[0, -1]]
    sure = abs(last - first) > 1.96 * np.hypot(*shown["sem"].iloc[[0, -1]])
    chance = "" if sure else ", a difference that may be due to chance"
    day = "days" if best.times_are_dates else "units of time"
    if n_spans < 2 or not first > 0:
        return "All test rows have the same time, or the error is zero."
    return (
        f"The error on the latest test rows, {distance[-1]:,.0f} {day} after the last "
        f"training row, is {last / first:.2g} times that on the first, "
        f"{distance[0]:,.0f} {day} after it{chance}. Bars are 95 % intervals of the "
        "mean."
    )


def _spans(best, n_spans):
    """Means over the test rows of each span of time, indexed by the mean time."""
    expected = best.expected(best.X)
    truth = best.observed()
    off = np.abs(truth - expected)
    rows = pd.DataFrame(
        {
            "time": best.times,
            "true": truth,
            "expected": expected,
            "error": off if best.event is None else off**2,
        }
    )
    place = rows["time"].rank(method="dense")  # keeps rows of the same time together
    span = np.ceil(place * n_spans / place.max())
    means = rows.groupby(span).mean()
    means["sem"] = rows.groupby(span)["error"].sem()
    return means.set_index("time")


def _time(best, value):
    return f"{num2date(value):%Y-%m-%d}" if best.times_are_dates else f"{value:,.6g}"


def worse_by(metric):
    """Name of the column of importances, with the unit."""
    return f"{heading(metric)}: worse if permuted by"


def _bars(axis, best, columns):
    """Plot permutation importances."""
    shown = columns[:MOST_BARS][::-1]
    axis.barh(
        shown["column"],
        shown[worse_by(best.metric)],
        xerr=shown["std"],
        color=COLOURS[1],
        error_kw={"elinewidth": 1, "ecolor": "#7f7f7f"},
    )
    axis.set(title="Permutation importance", xlabel=worse_by(best.metric))
    axis.grid(axis="y", visible=False)
    plain_ticks(axis.xaxis)
    return (
        "How much worse the predictions of the test part are if a column is permuted, "
        "mean and standard deviation of three permutations. Columns with the same "
        "information have a low importance each."
    )


def _dependences(axis, best, columns):
    """Plot partial dependence: the mean prediction as a function of one column."""
    drawn = {}
    for name in columns["column"]:
        values = _values(best.X[name])
        if len(values) > 1:
            drawn[name] = values
        if len(drawn) == MOST_DEPENDENCES:
            break
    if not drawn:
        return None
    figure = axis.figure
    axis.remove()
    figure.get_layout_engine().set(w_pad=0.12)
    n_rows = 1 if len(drawn) == 1 else 2
    axes = figure.subplots(n_rows, -(-len(drawn) // n_rows), squeeze=False, sharey=True)
    for axis in axes.flat[len(drawn) :]:
        axis.set_visible(False)
    for axis, (name, values) in zip(axes.flat, drawn.items(), strict=False):
        means = [best.expected(best.X.assign(**{name: v})).mean() for v in values]
        if pd.api.types.is_numeric_dtype(best.X[name]):
            axis.plot(values, means, color=COLOURS[1])
            plain_ticks(axis.xaxis)
        else:
            labels = [str(v)[:10] for v in values]
            axis.plot(labels, means, "o", color=COLOURS[1], clip_on=False)
            axis.tick_params("x", rotation=90 if len(values) > 3 else 0, labelsize=8)
        axis.set_xlabel(name)
        if best.event is None:
            plain_ticks(axis.yaxis)
        else:
            axis.yaxis.set_major_formatter(_percent)
    what = "prediction" if best.event is None else f"probability of {best.event}"
    figure.suptitle(f"Mean {what}", fontsize=9, fontweight="bold")
    return (
        f"Partial dependence: the mean {what} over the test rows if a column had this "
        "value in all of them."
    )


def _values(column):
    """Values of a column for partial dependence; [] if it has too many categories."""
    known = column.dropna()
    if not pd.api.types.is_numeric_dtype(column):
        values = sorted(known.unique())
        return values if len(values) <= MOST_VALUES else []
    if known.nunique() <= MOST_VALUES:
        return np.unique(known)
    low, high = np.quantile(known, [0.05, 0.95])
    return np.linspace(low, high, MOST_VALUES)


def _percent(share, _place=None):
    return f"{100 * share:.3g} %"


def _percent_ticks(*sides):
    for side in sides:
        side.set_major_formatter(_percent)


def _share_axis(side, set_scale, top):
    """Use a square-root scale for shares, which makes small ones visible."""
    set_scale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0)), np.square))
    side.axes.set(**{f"{side.axis_name}lim": (0, min(1.0, 1.05 * top))})
    side.set_ticks([share for share in _SHARES if share <= 1.05 * top])
    _percent_ticks(side)

"""One value of a swept parameter against the others, over many data sets.

tables:
  against_uniform:
    function: adakern_bench.report.contrast.contrast
    params: {parameter: selection, reference: uniform}

What it is worth to tune on rows that are tested on (``protocol.tuning=both``) is such a
contrast: ``{parameter: tuning, reference: nested}``.
"""

import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC, compare_over_sets, holm_correction
from adakern_bench.report.figures import STYLE, add_legend, colour
from adakern_bench.report.wording import natural

__all__ = ["contrast", "plot_contrast"]

#: Differences that are practically none: a point of accuracy, a hundredth of an error.
ROPE = 0.01


def contrast(records, parameter, reference):
    """Scores with each value of a swept parameter beside those with one of them.

    One row for each task, method, point of the other axes and value, over the
    `n_datasets` that finished with both values: the means of the main metric with the
    `value` and with the `reference`; `relative_error`, the median of the error as a
    share of the reference's (the error is 1 - accuracy, or the root mean squared
    error); on how many sets it is `better`, `worse` and `tied`; the two-sided
    `p_value` of Wilcoxon's signed-rank test of the differences of accuracy, or of the
    relative differences of errors (NaN with fewer than five sets, or where none
    differs); `holm_p_value`, adjusted over all rows of one task; and the posterior
    probabilities `p_better`, `p_equal` and `p_worse` of the Bayesian signed-rank test,
    where "equal" is within a point of accuracy or a hundredth of the error.
    """
    axis = f"sweep_{parameter}"
    if axis not in records:
        hint = "; run the experiment with protocol.tuning=both"
        raise ValueError(
            f"nothing is swept over {parameter!r}; the records have "
            f"{swept_names(records)}{hint if parameter == 'tuning' else ''}"
        )
    values = sorted(records[axis].dropna().unique(), key=natural)
    if reference not in values:
        raise ValueError(
            f"{reference!r} is no value of {parameter!r}; use one of {', '.join(map(str, values))}"
        )
    others = [name for name in records if name[:6] == "sweep_" and name != axis]
    point = ["task", "base_method", *others]
    scores = _scores(records.dropna(subset=axis), [*point, "base_dataset"], axis)
    rows = [
        dict(zip(point, where, strict=True))
        | {parameter: value}
        | _compared(where[0], of_point[value], of_point[reference])
        for where, of_point in scores.groupby(level=point, sort=False, dropna=False)
        for value in values
        if value != reference
    ]
    table = pd.DataFrame(rows)
    table["holm_p_value"] = table.groupby("task")["p_value"].transform(holm_correction)
    shown = {name: name.removeprefix("sweep_") for name in others}
    return table.rename(columns=shown | {"base_method": "method"})


def swept_names(records):
    """The swept parameters of some records, in words."""
    names = [name.removeprefix("sweep_") for name in records if name[:6] == "sweep_"]
    return ", ".join(names) or "no sweep"


def _scores(records, keys, axis):
    """Mean scores, a row for each of the keys and a column for each value."""
    metric = records["task"].map(MAIN_METRIC)
    columns = records[[f"test_{name}" for name in metric.unique()]]
    scores = columns.bfill(axis=1).iloc[:, 0].where(records["status"] == "ok")
    # One failed repeat fails the cell: a mean over the others is another number.
    cells = scores.groupby([records[key] for key in [*keys, axis]], dropna=False)
    return cells.agg(lambda repeats: repeats.mean(skipna=False)).unstack(axis)


def _compared(task, scores, of_reference):
    """The numbers of one value: each data set is one pair."""
    greater = GREATER_IS_BETTER[MAIN_METRIC[task]]
    pairs = pd.DataFrame({"value": scores, "reference": of_reference}).dropna()
    errors = 1 - pairs if greater else pairs
    gain = pairs["value"] - pairs["reference"]
    if not greater:  # in the units of each target: made comparable
        gain = (-2 * gain / pairs.sum(axis=1)).fillna(0.0)
    # Equal scores of other repeats have means that differ in the last digit.
    gain = gain.round(12)
    found = compare_over_sets(gain, 0 * gain, rope=ROPE)._asdict()
    del found["difference"]  # of differences made comparable
    share = (errors["value"] / errors["reference"]).where(gain != 0, 1.0)
    numbers = {"n_datasets": found.pop("n_datasets"), **pairs.mean()}
    numbers |= {"relative_error": share.median()} | found
    return {{"pvalue": "p_value"}.get(name, name): value for name, value in numbers.items()}


def plot_contrast(records, x, parameter, reference):
    """Median errors as shares of the reference's, against another swept parameter `x`.

    A panel for each method, a line for each value of `parameter`; `reference` is the
    line at 1.
    """
    table = contrast(records, parameter, reference)
    methods = list(table["method"].unique())
    values = list(table[parameter].unique())
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(1 + 3.4 * len(methods), 3.6), layout="constrained")
        panels = figure.subplots(1, len(methods), squeeze=False, sharey=True)[0]
        for panel, method in zip(panels, methods, strict=True):
            panel.axhline(1, color="0.4", lw=1, ls="--", label=str(reference))
            for k, value in enumerate(values):
                part = table[(table["method"] == method) & (table[parameter] == value)]
                line = part.sort_values(x)[[x, "relative_error"]].to_numpy().T
                panel.plot(*line, "o-", ms=3, color=colour(k), label=str(value))
            panel.set_xscale("log")
            panel.set_title(method, fontsize=9, fontweight="bold")
        panels[0].set_ylabel(f"error / error with {reference}, median of sets")
        figure.supxlabel(x, fontsize=9)
        add_legend(figure)
    return figure

"""One value of a swept parameter against the others, over many data sets.

tables:
  against_uniform:
    function: adakern_bench.report.contrast.contrast
    params: {parameter: selection, reference: uniform}
"""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import wilcoxon

from adakern.evaluation import GREATER_IS_BETTER, holm_correction
from adakern_bench.report.figures import STYLE, colour
from adakern_bench.report.leaderboard import LEADING_METRIC

__all__ = ["contrast", "plot_contrast"]


def contrast(records, parameter, reference):
    """Errors with each value of a swept parameter beside those with one of them.

    Parameters
    ----------
    records : DataFrame
        As in ``records.parquet``.
    parameter : str
        The swept parameter whose values are compared.
    reference : str or float
        The value that the others are compared with.

    Returns
    -------
    DataFrame
        One row for each task, method, point of the other axes and value, over the
        `n_datasets` that finished with both values: `relative_error`, the median of
        the error as a share of the reference's (the error is 1 - accuracy, or the
        RMSE); on how many sets it is `better` and `worse`; the two-sided `p_value` of
        Wilcoxon's signed-rank test, NaN where no set differs; and `holm_p_value`,
        adjusted over the values at one point.

    Raises
    ------
    ValueError
        If nothing is swept over the parameter, or the reference is none of its values.
    """
    axis = f"sweep_{parameter}"
    if axis not in records:
        swept = [
            name.removeprefix("sweep_") for name in records if name[:6] == "sweep_"
        ]
        raise ValueError(
            f"nothing is swept over {parameter!r}; the records have "
            f"{', '.join(swept) or 'no sweep'}"
        )
    values = list(records[axis].dropna().unique())
    if reference not in values:
        raise ValueError(
            f"{reference!r} is no value of {parameter!r}; use one of "
            f"{', '.join(map(str, values))}"
        )
    others = [name for name in records if name[:6] == "sweep_" and name != axis]
    point = ["task", "base_method", *others]
    errors = _errors(records.dropna(subset=axis), [*point, "base_dataset"], axis)
    rows = []
    for where, of_point in errors.groupby(level=point, sort=False, dropna=False):
        compared = [
            {parameter: value} | _compared(of_point[value], of_point[reference])
            for value in values
            if value != reference
        ]
        holm = holm_correction([row["p_value"] for row in compared])
        named = dict(zip(point, where, strict=True))
        rows += [
            named | row | {"holm_p_value": p}
            for row, p in zip(compared, holm, strict=True)
        ]
    shown = {name: name.removeprefix("sweep_") for name in others}
    return pd.DataFrame(rows).rename(columns=shown | {"base_method": "method"})


def plot_contrast(records, x, parameter, reference):
    """Median errors as shares of the reference's, against another swept parameter.

    Parameters
    ----------
    records : DataFrame
        As in ``records.parquet``.
    x : str
        The swept parameter of the horizontal axis, a number.
    parameter : str
        As in :func:`contrast`; a line for each value.
    reference : str or float
        As in :func:`contrast`, the line at 1.

    Returns
    -------
    matplotlib.figure.Figure
        A panel for each method.
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
                line = part.sort_values(x)
                panel.plot(
                    line[x],
                    line["relative_error"],
                    "o-",
                    ms=3,
                    color=colour(k),
                    label=str(value),
                )
            panel.set_xscale("log")
            panel.set_title(method, fontsize=9, fontweight="bold")
        panels[0].set_ylabel(f"error / error with {reference}, median of sets")
        figure.supxlabel(x, fontsize=9)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper center", ncols=4, frameon=False
        )
    return figure


def _errors(records, keys, axis):
    """Mean errors, a row for each of the keys and a column for each value."""
    metric = records["task"].map(LEADING_METRIC)
    columns = records[[f"test_{name}" for name in metric.unique()]]
    scores = columns.bfill(axis=1).iloc[:, 0].where(records["status"] == "ok")
    error = scores.where(~metric.map(GREATER_IS_BETTER), 1 - scores)
    # One failed repeat fails the cell: a mean over the others is another number.
    cells = error.groupby([records[key] for key in [*keys, axis]], dropna=False)
    return cells.agg(lambda repeats: repeats.mean(skipna=False)).unstack(axis)


def _compared(errors, of_reference):
    """The numbers of one value: each data set is one pair."""
    pairs = pd.DataFrame({"error": errors, "reference": of_reference}).dropna()
    # Equal scores of other repeats have means that differ in the last digit.
    difference = (pairs["error"] - pairs["reference"]).round(12)
    differs = difference != 0
    share = (pairs["error"] / pairs["reference"]).where(differs, 1.0)
    return {
        "n_datasets": len(pairs),
        "relative_error": share.median(),
        "better": int((difference < 0).sum()),
        "worse": int((difference > 0).sum()),
        "p_value": wilcoxon(difference).pvalue if differs.any() else np.nan,
    }

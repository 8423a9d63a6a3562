"""Compare the values of a swept parameter over data sets.

tables:
  against_uniform:
    function: adakern_bench.report.contrast.contrast
    params: {parameter: selection, reference: uniform}

The effect of tuning on test rows (``protocol.tuning=both``) is such a contrast:
``{parameter: tuning, reference: nested}``.
"""

import pandas as pd

from adakern.evaluation import GREATER_IS_BETTER
from adakern.evaluation.quantities import main_metric
from adakern.evaluation.ranking import FEWEST_SETS, are_tied
from adakern.evaluation.significance import (
    SetComparison,
    compare_over_sets,
    holm_correction,
)
from adakern_bench.report.leaderboard import by_dataset, cell_means
from adakern_bench.report.wording import natural


def contrast(records, parameter, reference, metric=None):
    """Compare the scores with each value of a swept parameter with a reference value.

    One row per task, method, point of the other axes and value, over the `n_datasets`
    that finished with both values: the means of the metric with the `value` and with
    the `reference`; `relative_error`, the median ratio of the error to that with the
    reference (the error is 1 - accuracy, or the root mean squared error); the number
    of data sets on which it is `better`, `worse` and `tied`; the two-sided `p_value`
    of Wilcoxon's signed-rank test of the differences of accuracy, or of the relative
    differences of errors (NaN with fewer than six data sets, or if none differs);
    `holm_p_value`, adjusted over all rows of a task; and the posterior probabilities
    `p_better`, `p_equal` and `p_worse` of the Bayesian signed-rank test, where "equal"
    is within a point of accuracy or 1 % of the error.
    """
    check_swept(records, parameter)
    axis = f"sweep_{parameter}"
    values = sorted(records[axis].dropna().unique(), key=natural)
    # An axis with non-numeric values is stored as text.
    reference = {str(value): value for value in values}.get(str(reference), reference)
    if reference not in values:
        raise ValueError(
            f"{reference!r} is not a value of {parameter!r}; use one of "
            f"{', '.join(map(str, values))}"
        )
    records = records.dropna(subset=axis)
    tables = [
        _contrast(runs, parameter, reference, values, main_metric(task, metric))
        for task, runs in records.groupby("task")
    ]
    return pd.concat(tables, ignore_index=True)


def _contrast(runs, parameter, reference, values, metric):
    """Rows of one task."""
    (task,) = runs["task"].unique()
    axis, rows = f"sweep_{parameter}", []
    point = [
        "base_method",
        *(name for name in runs if name[:6] == "sweep_" and name != axis),
    ]
    scores = cell_means(runs, [*point, "base_dataset", axis], metric).unstack(axis)
    for where, found in scores.groupby(level=point, sort=False, dropna=False):
        head = {"task": task} | dict(zip(point, where, strict=True))
        for value in values:
            if value != reference:
                compared = _compared(found[value], found[reference], metric)
                rows.append(head | {parameter: value} | compared)
    if not rows:  # only the reference
        return pd.DataFrame(columns=["task", "method", parameter])
    table = pd.DataFrame(rows).rename(
        columns={"base_method": "method", "pvalue": "p_value"}
    )
    table = table.rename(columns=lambda name: name.removeprefix("sweep_"))
    del table["difference"]  # relative errors in regression, accuracies otherwise
    return table.assign(holm_p_value=holm_correction(table["p_value"]))


def check_swept(records, name):
    """Raise ConfigError if a parameter is not swept, naming those that are."""
    if f"sweep_{name}" not in records:
        names = [
            column.removeprefix("sweep_")
            for column in records
            if column[:6] == "sweep_"
        ]
        hint = (
            "; run the experiment with protocol.tuning=both" if name == "tuning" else ""
        )
        raise ValueError(
            f"nothing is swept over {name!r}; the records have "
            f"{', '.join(names) or 'no sweep'}{hint}"
        )


def _compared(scores, of_reference, metric):
    """Results for one value; each data set is one pair."""
    pairs = pd.DataFrame({"value": scores, "reference": of_reference}).dropna()
    errors = (1 - pairs if GREATER_IS_BETTER[metric] else pairs).round(12)
    relative = (errors["value"] / errors["reference"]).fillna(1.0).median()
    found = over_sets(scores, of_reference, metric)._asdict()
    return {**pairs.mean(), "relative_error": relative, **found}


def over_sets(ours, theirs, metric):
    """One method against another, each data set a pair; errors by relative
    differences."""
    pairs = pd.DataFrame({"ours": ours, "theirs": theirs}).dropna()
    unit = 1.0 if GREATER_IS_BETTER[metric] else pairs.abs().max(axis=1)
    gain = (pairs["ours"] - pairs["theirs"]).mask(
        are_tied(pairs["ours"], pairs["theirs"], unit), 0.0
    )
    if not GREATER_IS_BETTER[metric]:  # relative differences
        gain = (-2 * gain / pairs.sum(axis=1)).fillna(0.0)
    return compare_over_sets(gain, 0 * gain)


def against_all(records, leader, metric=None):
    """Compare a method with all others over the data sets of a task.

    With Holm's correction.
    """
    (task,) = records["task"].unique()
    metric = main_metric(task, metric)
    scores = by_dataset(records, metric=metric)
    names = scores.columns.drop(leader) if len(scores) >= FEWEST_SETS else []
    found = [
        over_sets(scores[leader], scores[name], metric)._asdict() for name in names
    ]
    rows = pd.DataFrame(found, columns=SetComparison._fields)
    return rows.assign(method=names, holm=holm_correction(rows["pvalue"]))

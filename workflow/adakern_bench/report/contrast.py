"""Compare the values of a swept parameter over data sets.

tables:
  against_uniform:
    function: adakern_bench.report.contrast.contrast
    params: {parameter: selection, reference: uniform}

The effect of tuning on test rows (``protocol.tuning=both``) is such a contrast:
``{parameter: tuning, reference: nested}``. :func:`agreement` and :func:`ranks_by` show
how far the rankings by random and by proper splits (``protocol.kind=both``) agree, with
``{parameter: kind, reference: holdout}``.
"""

from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from adakern.evaluation import GREATER_IS_BETTER, mean_ranks
from adakern.evaluation.quantities import main_metric
from adakern.evaluation.ranking import FEWEST_SETS, are_tied
from adakern.evaluation.significance import (
    SetComparison,
    compare_over_sets,
    holm_correction,
)
from adakern_bench.records.read import nested
from adakern_bench.report.leaderboard import (
    by_dataset,
    cell_means,
    dependent,
    per_task,
)
from adakern_bench.report.wording import natural


def contrast(records, parameter, reference, metric=None):
    """Compare the scores of each value of a swept parameter with those of a reference.

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
    return per_task(records, _contrast, parameter, reference, values, metric)


def _contrast(task, runs, parameter, reference, values, metric):
    """Rows of `contrast` for one task."""
    metric = main_metric(task, metric)
    axis = f"sweep_{parameter}"
    rows = []
    point = [
        "base_method",
        *(name for name in runs if name[:6] == "sweep_" and name != axis),
    ]
    scores = cell_means(runs, [*point, "base_dataset", axis], metric).unstack(axis)
    for where, group in scores.groupby(level=point, sort=False, dropna=False):
        head = {"task": task} | dict(zip(point, where, strict=True))
        for value in values:
            if value != reference:
                compared = _compared(group[value], group[reference], metric)
                rows.append(head | {parameter: value} | compared)
    if not rows:  # only the reference
        return pd.DataFrame(columns=["task", "method", parameter])
    table = pd.DataFrame(rows).rename(
        columns={"base_method": "method", "pvalue": "p_value"}
    )
    table = table.rename(columns=lambda name: name.removeprefix("sweep_"))
    del table["difference"]  # relative errors in regression, accuracies otherwise
    return table.assign(holm_p_value=holm_correction(table["p_value"]))


#: Number of bootstrap samples of the data sets.
N_DRAWN = 10_000


def agreement(records, parameter, reference, metric=None):
    """Agreement between the rankings of methods by each value of a parameter and by the
    reference.

    One row per value other than the reference and task, and for all tasks together.
    `tau` is Kendall's tau-b between the two rankings of the methods by their means over
    the repeats, averaged over the data sets, with a 95 % bootstrap interval over data
    sets (`low`, `high`); `tau_of_mean_ranks` is that between mean ranks. Rankings also
    differ by chance: `across` is the mean tau between a repeat with the value and
    another repeat with the reference, `within` that between two repeats with the
    reference. `same_best` is the number of data sets with the same best method. Methods
    with a failed run on a data set are left out there.
    """
    check_swept(records, parameter)
    axis = f"sweep_{parameter}"
    values = [v for v in sorted(records[axis].dropna().unique()) if v != reference]
    scores = {
        task: _losses(runs, axis, metric) for task, runs in records.groupby("task")
    }
    if len(scores) > 1:
        scores["all"] = {k: v for losses in scores.values() for k, v in losses.items()}
    rows = [
        {"task": task, parameter: value} | _agreement(losses, value, reference)
        for task, losses in scores.items()
        for value in values
    ]
    return pd.DataFrame(rows)


def _losses(runs, axis, metric):
    """Data set -> losses, with a row per method that finished all runs and a column per
    value and repeat.
    """
    metric = main_metric(runs["task"].iloc[0], metric)
    sign = -1 if GREATER_IS_BETTER[metric] else 1
    runs = runs[runs["status"] == "ok"]
    losses = runs.assign(loss=sign * runs[f"test_{metric}"].astype(float))
    columns = [axis, "repeat"]
    return {
        name: part.pivot(index="method", columns=columns, values="loss").dropna()
        for name, part in losses.groupby("base_dataset")
    }


def _agreement(losses, value, reference):
    """One row of `agreement`, from the losses of each data set."""
    both = [frame[[value, reference]] for frame in losses.values()]
    means = [frame.T.groupby(level=0).mean().T for frame in both]
    taus = np.array([_tau(m[value], m[reference]) for m in means])
    low, high = interval(taus)
    everywhere = set.intersection(*(set(m.index) for m in means))
    by_value = {
        kind: mean_ranks(
            [m.loc[sorted(everywhere), kind] for m in means], greater_is_better=False
        )
        for kind in (value, reference)
    }
    return {
        "n_datasets": len(taus),
        "tau": np.nanmean(taus),
        "low": low,
        "high": high,
        "tau_of_mean_ranks": _tau(by_value[value], by_value[reference]),
        "across": np.nanmean([_mean_tau(frame, value, reference) for frame in both]),
        "within": np.nanmean([_mean_tau(f, reference, reference) for f in both]),
        "same_best": sum(m[value].idxmin() == m[reference].idxmin() for m in means),
    }


def interval(values):
    """95 % bootstrap interval of the mean of the values, one for each data set."""
    n = len(values)
    drawn = values[np.random.default_rng(0).integers(n, size=(N_DRAWN, n))]
    return np.nanpercentile(np.nanmean(drawn, axis=1), [2.5, 97.5])


def _tau(a, b):
    return kendalltau(a, b).statistic


def _mean_tau(losses, value, reference):
    """Mean tau over pairs of different repeats."""
    repeats = product(losses[value].columns, losses[reference].columns)
    pairs = [(r, s) for r, s in repeats if r < s or (r > s and value != reference)]
    return np.nanmean([_tau(losses[value][r], losses[reference][s]) for r, s in pairs])


def ranks_by(records, parameter, metric=None):
    """Mean ranks of the methods for each value of a parameter.

    One row per task and method, over the data sets on which all methods finished:
    `rank_<value>` for each value and, for methods with 90 % prediction intervals,
    `covered_<value>`, their mean coverage of the test targets, and `least_<value>`, the
    lowest coverage on a data set.
    """
    check_swept(records, parameter)
    table = per_task(records, _ranks_by, f"sweep_{parameter}", metric)
    table = table.dropna(axis=1, how="all")
    return table.sort_values(["task", table.columns[2]], ignore_index=True)


def _ranks_by(task, runs, axis, metric):
    """Rows of `ranks_by` for one task."""
    metric = main_metric(task, metric)
    cells = ["base_dataset", axis, "method"]
    scores = cell_means(runs, cells, metric).unstack("method").dropna()
    covered = cell_means(runs, cells, "interval_coverage").groupby([axis, "method"])
    shares = {"covered": covered.mean(), "least": covered.min()}
    table = pd.DataFrame({"task": task}, scores.columns)
    for value, part in scores.groupby(level=axis):
        table[f"rank_{value}"] = mean_ranks(
            part, greater_is_better=GREATER_IS_BETTER[metric]
        )
    for (name, share), value in product(shares.items(), runs[axis].unique()):
        table[f"{name}_{value}"] = share[value]
    return table.reset_index()[["task", "method", *table.columns[1:]]]


def check_swept(records, name):
    """Raise a ValueError that lists the swept parameters if this one is not swept."""
    if f"sweep_{name}" not in records:
        names = nested(records, "sweep")
        hint = f"; run the experiment with protocol.{name}=both" * (
            name in ("tuning", "kind")
        )
        raise ValueError(
            f"there is no sweep over {name!r}; swept are "
            f"{', '.join(names) or 'no parameters'}{hint}"
        )


def _compared(scores, of_reference, metric):
    """Compare one value with the reference; each data set is a pair."""
    pairs = pd.DataFrame({"value": scores, "reference": of_reference}).dropna()
    errors = (1 - pairs if GREATER_IS_BETTER[metric] else pairs).round(12)
    relative = (errors["value"] / errors["reference"]).fillna(1.0).median()
    summary = over_sets(scores, of_reference, metric)._asdict()
    return {**pairs.mean(), "relative_error": relative, **summary}


def over_sets(ours, theirs, metric):
    """Compare two methods over data sets, each a pair; errors by relative
    differences.
    """
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

    p-values are adjusted by Holm's correction. Nothing is compared if the data sets are
    `dependent`.
    """
    (task,) = records["task"].unique()
    metric = main_metric(task, metric)
    scores = by_dataset(records, metric=metric)
    is_tested = len(scores) >= FEWEST_SETS and not dependent(records)
    names = scores.columns.drop(leader) if is_tested else []
    comparisons = [
        over_sets(scores[leader], scores[name], metric)._asdict() for name in names
    ]
    rows = pd.DataFrame(comparisons, columns=SetComparison._fields)
    return rows.assign(method=names, holm=holm_correction(rows["pvalue"]))

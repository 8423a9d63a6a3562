"""Figure 1 of Ding et al. (2019), from the records of a sweep over the samplers.

Every record contains the criterion of each candidate gamma, the selected gamma and the
accuracy of kernel ridge regression with it. With sampling "exact" the criterion is
exact; the other samplers approximate it.
"""

import json

import pandas as pd

from adakern_bench.report.compare import compare_pairs
from adakern_bench.report.sweep import plot_lines

#: Samplers that draw no columns.
WITHOUT_COLUMNS = ("exact", "optimal")
#: Samplers that are tested against all others.
CRITERION_DRIVEN = ("greedy-criterion", "adaptive-criterion")


def curves(records):
    """Criterion of each candidate gamma, with the exact one, per sampler and repeat."""
    solved = records[records["status"] == "ok"]
    points = solved[["dataset", "sweep_sampling", "repeat"]].assign(
        gamma=solved["extra_candidate_gamma"].map(json.loads),
        criterion=solved["extra_criterion"].map(json.loads),
    )
    points = points.explode(["gamma", "criterion"], ignore_index=True)
    points = points.astype({"gamma": float, "criterion": float})
    points = points.rename(columns={"sweep_sampling": "sampling"})
    keys = ["dataset", "repeat", "gamma"]
    exact = points[points["sampling"] == "exact"].set_index(keys)["criterion"]
    return points.join(exact.rename("exact"), on=keys)


def plot(records):
    """Plot the criterion against gamma, with a panel per data set and a line per
    sampler.
    """
    return plot_lines(curves(records), "gamma", "criterion", "sampling")


def with_distance(records):
    """Finished runs with their mean distance to the exact criterion."""
    points = curves(records)
    keys = ["dataset", "sampling", "repeat"]
    points["test_distance"] = points["criterion"] - points["exact"]
    distance = points.groupby(keys)["test_distance"].mean()
    runs = records[records["status"] == "ok"].rename(
        columns={"sweep_sampling": "sampling"}
    )
    return runs.join(distance, on=keys)


def summary(records):
    """Mean distance, selected gamma (median) and test accuracy over the repeats."""
    runs = with_distance(records)
    keys = ["dataset", "repeat"]
    selected = runs["extra_selected_gamma"]
    exact = runs[runs["sampling"] == "exact"].set_index(keys)["extra_selected_gamma"]
    runs["same_gamma"] = (
        selected == runs.join(exact.rename("exact_gamma"), on=keys)["exact_gamma"]
    )
    groups = runs.groupby(["dataset", "sampling"], sort=False)
    table = groups.agg(
        distance=("test_distance", "mean"),
        distance_std=("test_distance", "std"),
        selected_gamma=("extra_selected_gamma", "median"),
        same_gamma=("same_gamma", "mean"),
        test_accuracy=("test_accuracy", "mean"),
    ).reset_index()
    drawn = table["distance"].mask(table["sampling"].isin(WITHOUT_COLUMNS))
    table["closest"] = drawn == drawn.groupby(table["dataset"]).transform("min")
    return table


def paired_tests(records):
    """Compare the two criterion-driven samplers with all others, by the usual tests.

    Holm's correction is over all pairs of samplers on a data set; `winner` is empty if
    the corrected t-test is not significant after it.
    """
    runs = with_distance(records)
    runs = runs.assign(method=runs["sampling"])
    tests = pd.concat(
        [compare_pairs(runs, metric) for metric in ("distance", "accuracy")]
    )
    theirs = tests[["method_a", "method_b"]].isin(CRITERION_DRIVEN).any(axis=1)
    return tests[theirs].drop(columns=["task", "significant", "note"])

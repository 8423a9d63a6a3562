"""Figure 1 of Ding et al. (2019), from the records of a sweep over the samplers.

Every record holds the criterion of each candidate gamma, the gamma that it selects and
the accuracy of kernel ridge regression with it; those of sampling "exact" are what the
others approximate.
"""

import json

import pandas as pd
from matplotlib import colormaps

from adakern.evaluation import compare_methods
from adakern_bench.report.figures import add_legend
from shared import axes_grid

__all__ = ["paired_tests", "plot", "summary"]

#: The paper's seven ways to approximate, then those added here.
SAMPLINGS = (
    "optimal",
    "uniform",
    "column-norm",
    "leverage",
    "adaptive-deshpande",
    "adaptive-kumar",
    "adaptive-criterion",
    "ridge-leverage",
    "rpcholesky",
    "greedy-criterion",
)

#: What is compared at equal numbers of columns; "optimal" draws none.
SAMPLERS = SAMPLINGS[1:]

#: What is tested against the others, and by which scores: whether greater is better.
CRITERION_DRIVEN = ("greedy-criterion", "adaptive-criterion")
SCORES = {"distance": False, "test_accuracy": True}


def curves(records):
    """Criterion against gamma: dataset, sampling, repeat, gamma, criterion, exact."""
    solved = records[records["status"] == "ok"]
    points = pd.DataFrame(
        {
            "dataset": solved["dataset"],
            "sampling": solved["sweep_sampling"],
            "repeat": solved["repeat"],
            "gamma": solved["extra_candidate_gamma"].map(json.loads),
            "criterion": solved["extra_criterion"].map(json.loads),
        }
    ).explode(["gamma", "criterion"], ignore_index=True)
    points = points.astype({"gamma": float, "criterion": float})
    keys = ["dataset", "repeat", "gamma"]
    exact = points[points["sampling"] == "exact"].set_index(keys)["criterion"]
    return points.join(exact.rename("exact"), on=keys)


def per_repeat(records):
    """One row per data set, sampling and repeat: mean distance to exact, accuracy."""
    points = curves(records)
    points["distance"] = points["criterion"] - points["exact"]
    keys = ["dataset", "sampling", "repeat"]
    distance = points.groupby(keys)["distance"].mean()
    facts = records.rename(
        columns={"sweep_sampling": "sampling", "extra_selected_gamma": "selected_gamma"}
    )
    columns = ["selected_gamma", "test_accuracy", "n_train", "n_test"]
    facts = facts.loc[facts["status"] == "ok", [*keys, *columns]]
    return facts.join(distance, on=keys)


def summary(records):
    """Mean distance, selected gamma (median) and test accuracy over the repeats."""
    runs = per_repeat(records)
    keys = ["dataset", "repeat"]
    exact = runs[runs["sampling"] == "exact"].set_index(keys)["selected_gamma"]
    runs = runs.join(exact.rename("exact_gamma"), on=keys)
    runs["same_gamma"] = runs["selected_gamma"] == runs["exact_gamma"]
    table = (
        runs.groupby(["dataset", "sampling"], sort=False)
        .agg(
            distance=("distance", "mean"),
            distance_std=("distance", "std"),
            selected_gamma=("selected_gamma", "median"),
            same_gamma=("same_gamma", "mean"),
            test_accuracy=("test_accuracy", "mean"),
        )
        .reset_index()
    )
    drawn = table["distance"].where(table["sampling"].isin(SAMPLERS))
    table["closest"] = drawn == drawn.groupby(table["dataset"]).transform("min")
    return table


def paired_tests(records):
    """The two criterion-driven samplers against every other, by the one rule of this project.

    Holm's correction is over all pairs of samplers on a data set; `winner` is blank
    where the corrected t-test after it does not reject.
    """
    tests = []
    for dataset, part in per_repeat(records).groupby("dataset", sort=False):
        sizes = part[["n_train", "n_test"]].iloc[0].to_dict()
        for score, greater in SCORES.items():
            scores = part.pivot(index="repeat", columns="sampling", values=score)
            pairs = pd.DataFrame(compare_methods(scores, greater_is_better=greater, **sizes))
            tests.append(pairs.assign(dataset=dataset, score=score))
    tests = pd.concat(tests, ignore_index=True)
    # Every pair from both of its sides.
    sides = {"method_a": "other", "method_b": "sampling"}
    turned = tests.assign(difference=-tests["difference"]).rename(columns=sides)
    tests = tests.rename(columns=dict(zip(sides, reversed(sides.values()), strict=True)))
    both = pd.concat([tests, turned])
    columns = ["dataset", "score", "sampling", "other", "difference", "pvalue"]
    columns += ["corrected_pvalue", "corrected_holm_pvalue", "winner"]
    return both.loc[both["sampling"].isin(CRITERION_DRIVEN), columns]


def plot(records):
    """Criterion against gamma, one panel for each data set.

    Lines are means over the repeats, bands one standard deviation.
    """
    points = curves(records)
    figure, axes = axes_grid(-(-points["dataset"].nunique() // 3), 3, height=4.0)
    parts = points.groupby("dataset", sort=False)
    for axis, (dataset, part) in zip(axes.flat, parts, strict=False):
        _draw_curves(axis, part)
        axis.set(title=dataset, xlabel="gamma", ylabel="criterion")
    for axis in axes.flat:
        axis.set_visible(axis.has_data())
    add_legend(figure, 6)
    return figure


def _draw_curves(axis, points):
    colours = dict(zip(SAMPLINGS, colormaps["tab10"].colors, strict=True))
    for sampling, part in points.groupby("sampling", sort=False):
        curve = part.groupby("gamma")["criterion"].agg(["mean", "std"]).fillna(0)
        colour = colours.get(sampling, "black")
        width = 1 if sampling in colours else 2
        axis.plot(curve["mean"], color=colour, linewidth=width, label=sampling)
        low, high = curve["mean"] - curve["std"], curve["mean"] + curve["std"]
        axis.fill_between(curve.index, low, high, color=colour, alpha=0.12, linewidth=0)
    axis.set_xscale("log", base=2)

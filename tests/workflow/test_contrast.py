"""Comparison of the values of a swept parameter over data sets."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, wilcoxon

from adakern.evaluation import holm_correction
from adakern_bench.report.contrast import agreement, contrast, ranks_by

ERRORS = {
    # One value per data set.
    "uniform": [0.10, 0.20, 0.30, 0.40, 0.0, 0.50],
    "greedy": [0.05, 0.10, 0.33, 0.20, 0.0, 0.25],
    "random": [0.20, 0.30, 0.30 + 1e-11, 0.60, 0.1, 0.60],
}


def make_records(task="classification", metric="accuracy"):
    """Two repeats around each error, for two numbers of columns."""
    rows = [
        (columns, sampler, f"set{k}", error, repeat)
        for sampler, errors in ERRORS.items()
        for k, error in enumerate(errors)
        for columns in (10, 100)
        for repeat in range(2)
    ]
    names = ["sweep_columns", "sweep_selection", "base_dataset", "error", "repeat"]
    frame = pd.DataFrame(rows, columns=names)
    score = 1 - frame["error"] if metric == "accuracy" else frame["error"]
    frame[f"test_{metric}"] = score + 0.01 * (2 * frame["repeat"] - 1)
    return frame.assign(task=task, status="ok", base_method="ridge")


def contrast_at_10_columns(frame):
    return (
        contrast(frame, "selection", "uniform")
        .set_index(["columns", "selection"])
        .loc[10]
    )


@pytest.mark.parametrize(
    "options", [{}, {"task": "regression", "metric": "rmse"}], ids=["error", "rmse"]
)
def test_contrast_pairs_data_sets(options):
    greedy = contrast_at_10_columns(make_records(**options)).loc["greedy"]
    assert contrast_at_10_columns(make_records(**options)).loc["random", "tied"] == 1, (
        "but for rounding"
    )
    assert (greedy["n_datasets"], greedy["better"], greedy["worse"]) == (6, 4, 1)
    assert greedy["tied"] == 1
    assert greedy["relative_error"] == pytest.approx(0.5), "of 0.5 0.5 1.1 0.5 1 0.5"
    mine, theirs = np.array(ERRORS["greedy"]), np.array(ERRORS["uniform"])
    difference = mine - theirs
    if options:  # errors in units of the targets are compared relatively
        difference = 2 * difference / np.maximum(mine + theirs, 1e-9)
    assert greedy["p_value"] == pytest.approx(wilcoxon(difference.round(9)).pvalue)
    assert greedy["p_better"] > 0.9
    assert greedy[["p_better", "p_equal", "p_worse"]].sum() == pytest.approx(1)
    table = contrast(make_records(**options), "selection", "uniform")
    adjusted = holm_correction(table["p_value"])  # over the whole table
    np.testing.assert_allclose(table["holm_p_value"], adjusted)


def test_contrast_of_tuning_protocols():
    both = make_records().rename(columns={"sweep_selection": "sweep_tuning"})
    both["sweep_tuning"] = both["sweep_tuning"].map(
        {"uniform": "nested", "greedy": "published"}
    )
    table = contrast(both, "tuning", "nested").set_index("columns").loc[10]
    assert table["value"] == pytest.approx(1 - np.mean(ERRORS["greedy"]))
    assert table["reference"] == pytest.approx(1 - np.mean(ERRORS["uniform"]))
    with pytest.raises(ValueError, match=r"protocol\.tuning=both"):
        contrast(both.drop(columns="sweep_tuning"), "tuning", "nested")


def test_pair_with_failure_is_excluded():
    frame = make_records()
    lost = (frame["sweep_selection"] == "greedy") & (frame["base_dataset"] == "set0")
    frame.loc[lost, "status"] = "failed"
    assert contrast_at_10_columns(frame)["n_datasets"].to_dict() == {
        "greedy": 5,
        "random": 6,
    }


def test_errors_name_available_values():
    with pytest.raises(ValueError, match="'tau'; swept are columns, selection"):
        contrast(make_records(), "tau", 1)
    with pytest.raises(ValueError, match="is not a value of 'selection'; use one"):
        contrast(make_records(), "selection", "best")
    alone = make_records().assign(
        sweep_selection="0.1"
    )  # an axis with categories is stored as strings
    assert contrast(alone, "selection", 0.1).empty


METHODS = list("abcde")


def records_of_split_kinds(orders, repeats=3, metric="accuracy", **more):
    """Records in which methods are ordered, best first, by random and by declared
    splits.
    """
    rows = [
        {
            "base_dataset": name,
            "sweep_kind": kind,
            "method": method,
            "repeat": repeat,
            f"test_{metric}": 0.9 - 0.1 * place + 0.001 * repeat,
        }
        for name, both in orders.items()
        for kind, order in zip(("holdout", "declared"), both, strict=True)
        for place, method in enumerate(order)
        for repeat in range(repeats)
    ]
    return pd.DataFrame(rows).assign(task="classification", status="ok", **more)


def test_agreement_is_kendalls_tau():
    orders = {
        "same": (METHODS, METHODS),
        "turned": (METHODS, METHODS[::-1]),
        "close": (METHODS, ["b", "a", *METHODS[2:]]),
    }
    (row,) = agreement(records_of_split_kinds(orders), "kind", "holdout").itertuples()
    places = [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1, 0, 2, 3, 4]]
    taus = [kendalltau(range(5), place).statistic for place in places]
    assert (row.kind, row.n_datasets, row.same_best) == ("declared", 3, 1)
    assert row.tau == pytest.approx(np.mean(taus)) and taus[1] < -0.99
    assert row.across == pytest.approx(row.tau), "all repeats are alike"
    assert row.within == pytest.approx(1)
    assert row.low == pytest.approx(-1) and row.high == pytest.approx(1)


def test_failed_method_is_excluded_and_tasks_are_separate():
    orders = {"one": (METHODS, METHODS[::-1]), "two": (METHODS, METHODS)}
    frame = records_of_split_kinds(orders)
    lost = (frame["method"] == "a") & (frame["base_dataset"] == "one")
    frame.loc[lost & (frame["repeat"] == 1), "status"] = "failed"
    table = agreement(frame, "kind", "holdout")
    assert table["tau"].item() == pytest.approx(0), "of -1 among four, and 1"
    numbers = records_of_split_kinds(orders, metric="rmse").assign(
        task="regression", base_dataset=lambda rows: rows["base_dataset"] + "-numbers"
    )
    both = agreement(pd.concat([frame, numbers]), "kind", "holdout")
    assert both["task"].tolist() == ["classification", "regression", "all"]
    assert both["n_datasets"].tolist() == [2, 2, 4]


def test_ranks_and_coverage_per_split_kind():
    frame = records_of_split_kinds(
        {"one": (METHODS, METHODS[::-1]), "two": (METHODS, METHODS)}
    )
    is_first = (frame["method"] == "a") & (frame["base_dataset"] == "one")
    frame.loc[frame["method"] == "a", "test_interval_coverage"] = 0.9
    frame.loc[
        is_first & (frame["sweep_kind"] == "declared"), "test_interval_coverage"
    ] = 0.5
    table = ranks_by(frame, "kind").set_index("method")
    assert table["rank_holdout"].tolist() == sorted(table["rank_holdout"])
    assert table.loc["a", ["rank_holdout", "rank_declared"]].tolist() == [1, 3]
    coverage = table.loc["a", ["covered_declared", "least_declared", "covered_holdout"]]
    np.testing.assert_allclose(coverage.astype(float), [0.7, 0.5, 0.9])
    assert table.loc["b":, "covered_declared"].isna().all()

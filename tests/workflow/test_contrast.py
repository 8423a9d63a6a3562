"""A swept parameter's values compared over data sets, on records made by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from adakern.evaluation import holm_correction
from adakern_bench.report.contrast import contrast

ERRORS = {
    # One value a data set.
    "uniform": [0.10, 0.20, 0.30, 0.40, 0.0],
    "greedy": [0.05, 0.10, 0.33, 0.20, 0.0],
    "random": [0.20, 0.30, 0.30, 0.60, 0.1],
}


def records(task="classification", metric="accuracy", failed=None):
    rows = [
        {
            "task": task,
            "status": "failed" if failed == (sampler, k) else "ok",
            "base_dataset": f"set{k}",
            "base_method": "ridge",
            "repeat": repeat,
            "sweep_columns": columns,
            "sweep_selection": sampler,
            f"test_{metric}": (1 - error if metric == "accuracy" else error)
            + (0.01 if repeat else -0.01),
        }
        for sampler, errors in ERRORS.items()
        for k, error in enumerate(errors)
        for columns in (10, 100)
        for repeat in range(2)
    ]
    return pd.DataFrame(rows)


def found(*arguments, **options):
    table = contrast(records(**options), "selection", "uniform")
    return table.set_index(["columns", "selection"]).loc[10]


@pytest.mark.parametrize(
    "options", [{}, {"task": "regression", "metric": "rmse"}], ids=["error", "rmse"]
)
def test_every_data_set_is_a_pair(options):
    greedy = found(**options).loc["greedy"]
    assert (greedy["n_datasets"], greedy["better"], greedy["worse"]) == (5, 3, 1)
    assert greedy["tied"] == 1
    assert greedy["relative_error"] == pytest.approx(0.5), "of 0.5 0.5 1.1 0.5 1"
    mine, theirs = np.array(ERRORS["greedy"]), np.array(ERRORS["uniform"])
    difference = mine - theirs
    if options:  # errors in units of the targets are compared relatively
        difference = 2 * difference / np.maximum(mine + theirs, 1e-9)
    assert greedy["p_value"] == pytest.approx(wilcoxon(difference.round(9)).pvalue)
    assert greedy["p_better"] > 0.9
    assert greedy[["p_better", "p_equal", "p_worse"]].sum() == pytest.approx(1)
    table = contrast(records(**options), "selection", "uniform")
    adjusted = holm_correction(table["p_value"])  # over the whole table
    np.testing.assert_allclose(table["holm_p_value"], adjusted)


def test_two_ways_of_tuning_are_a_contrast():
    both = records().rename(columns={"sweep_selection": "sweep_tuning"})
    names = {"uniform": "nested", "greedy": "published"}
    both["sweep_tuning"] = both["sweep_tuning"].map(names)
    table = contrast(both, "tuning", "nested").set_index("columns").loc[10]
    assert table["value"] == pytest.approx(1 - np.mean(ERRORS["greedy"]))
    assert table["reference"] == pytest.approx(1 - np.mean(ERRORS["uniform"]))
    with pytest.raises(ValueError, match=r"protocol\.tuning=both"):
        contrast(both.drop(columns="sweep_tuning"), "tuning", "nested")


def test_a_pair_with_a_failure_is_left_out():
    table = found(failed=("greedy", 0))
    assert table.loc["greedy", "n_datasets"] == 4
    assert table.loc["random", "n_datasets"] == 5


def test_errors_name_what_there_is():
    with pytest.raises(ValueError, match="'tau'; the records have columns, selection"):
        contrast(records(), "tau", 1)
    with pytest.raises(ValueError, match="'best' is no value of 'selection'; use one"):
        contrast(records(), "selection", "best")

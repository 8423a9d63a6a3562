"""A swept parameter's values compared over data sets, on records made by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from adakern.evaluation import holm_correction
from adakern_bench.report.contrast import contrast

ERRORS = {
    # One value a data set.
    "uniform": [0.10, 0.20, 0.30, 0.40, 0.0, 0.50],
    "greedy": [0.05, 0.10, 0.33, 0.20, 0.0, 0.25],
    "random": [0.20, 0.30, 0.30 + 1e-11, 0.60, 0.1, 0.60],
}


def records(task="classification", metric="accuracy"):
    """Two repeats around each error, for each of two numbers of columns."""
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


def found(frame):
    return (
        contrast(frame, "selection", "uniform")
        .set_index(["columns", "selection"])
        .loc[10]
    )


@pytest.mark.parametrize(
    "options", [{}, {"task": "regression", "metric": "rmse"}], ids=["error", "rmse"]
)
def test_every_data_set_is_a_pair(options):
    greedy = found(records(**options)).loc["greedy"]
    assert found(records(**options)).loc["random", "tied"] == 1, "but for rounding"
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
    table = contrast(records(**options), "selection", "uniform")
    adjusted = holm_correction(table["p_value"])  # over the whole table
    np.testing.assert_allclose(table["holm_p_value"], adjusted)


def test_two_ways_of_tuning_are_a_contrast():
    both = records().rename(columns={"sweep_selection": "sweep_tuning"})
    both["sweep_tuning"] = both["sweep_tuning"].map(
        {"uniform": "nested", "greedy": "published"}
    )
    table = contrast(both, "tuning", "nested").set_index("columns").loc[10]
    assert table["value"] == pytest.approx(1 - np.mean(ERRORS["greedy"]))
    assert table["reference"] == pytest.approx(1 - np.mean(ERRORS["uniform"]))
    with pytest.raises(ValueError, match=r"protocol\.tuning=both"):
        contrast(both.drop(columns="sweep_tuning"), "tuning", "nested")


def test_a_pair_with_a_failure_is_left_out():
    frame = records()
    lost = (frame["sweep_selection"] == "greedy") & (frame["base_dataset"] == "set0")
    frame.loc[lost, "status"] = "failed"
    assert found(frame)["n_datasets"].to_dict() == {"greedy": 5, "random": 6}


def test_errors_name_what_there_is():
    with pytest.raises(ValueError, match="'tau'; the records have columns, selection"):
        contrast(records(), "tau", 1)
    with pytest.raises(ValueError, match="is not a value of 'selection'; use one"):
        contrast(records(), "selection", "best")
    alone = records().assign(
        sweep_selection="0.1"
    )  # an axis with words is text in records
    assert contrast(alone, "selection", 0.1).empty

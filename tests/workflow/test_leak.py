"""Two ways of tuning compared over data sets."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from adakern_bench.report.leak import leak

NESTED = {"a": 0.8, "b": 0.7, "c": 0.9, "d": 0.6}
PUBLISHED = {"a": 0.9, "b": 0.75, "c": 0.87, "d": 0.6}


def records(metric="accuracy", task="classification", failed=None):
    rows = [
        {
            "task": task,
            "dataset": f"{dataset}@tuning={tuning}",
            "base_dataset": dataset,
            "method": method,
            "base_method": method,
            "repeat": repeat,
            "sweep_tuning": tuning,
            "status": "failed" if dataset == failed and tuning == "nested" else "ok",
            f"test_{metric}": (levels[dataset] if method == "tuned" else 0.5)
            + (0.01 if repeat else -0.01),
        }
        for tuning, levels in (("nested", NESTED), ("published", PUBLISHED))
        for dataset in levels
        for method in ("tuned", "untuned")
        for repeat in range(2)
    ]
    return pd.DataFrame(rows)


def test_each_data_set_is_a_pair():
    found = leak(records()).set_index("method").loc["tuned"]
    assert found["nested"] == pytest.approx(0.75)
    assert found["published"] == pytest.approx(0.78)
    assert found["difference"] == pytest.approx(0.03)
    assert (found["n_datasets"], found["better"], found["worse"]) == (4, 2, 1)
    exact = wilcoxon([0.1, 0.05, -0.03, 0]).pvalue
    assert found["p_value"] == pytest.approx(exact)


def test_what_has_nothing_to_tune_does_not_differ():
    found = leak(records()).set_index("method").loc["untuned"]
    assert (found["difference"], found["better"], found["worse"]) == (0, 0, 0)
    assert np.isnan(found["p_value"])


def test_a_pair_with_a_failure_is_left_out():
    found = leak(records(failed="a")).set_index("method").loc["tuned"]
    assert found["n_datasets"] == 3
    assert found["difference"] == pytest.approx(0.02 / 3)


def test_less_is_better_for_errors():
    found = leak(records("rmse", "regression")).set_index("method").loc["tuned"]
    assert (found["better"], found["worse"]) == (1, 2)


def test_one_way_of_tuning_is_refused():
    with pytest.raises(ValueError, match=r"protocol\.tuning=both"):
        leak(records().drop(columns="sweep_tuning"))

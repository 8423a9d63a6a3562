"""Suites in a configuration: selected, mixed, and refused before anything runs."""

import numpy as np
import pytest

from adakern_bench.config import settings
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import load_plan
from adakern_bench.data import Table
from adakern_bench.records.estimators import expand_grid
from adakern_bench.records.search import _published_tuning

BASE = ["suite=uci121", "dataset=[]", "protocol=published"]


def test_a_suite_is_its_sets():
    plan = load_plan([*BASE, "suite.max_rows=110", "method=[svm-cv]"])
    assert {"uci121-trains", "uci121-lenses"} < set(plan.datasets)
    assert all(plan.entry(name).n <= 110 for name in plan.datasets)
    assert plan.n_repeats("uci121-trains") == 4
    assert settings.split(plan, "uci121-trains")["published"]


def test_mixed_with_others():
    plan = load_plan(["suite=uci121", "suite.only=[iris]", "dataset=[heart]", "method=[svm-cv]"])
    assert plan.datasets == ["heart", "uci121-iris"]


def test_fewer_splits():
    chosen = [*BASE, "suite.only=[iris]", "method=[svm-cv]", "protocol.max_splits=2"]
    assert load_plan(chosen).n_repeats("uci121-iris") == 2


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["suite=uci12"], "Did you mean 'uci121'"),
        (["suite=uci121", "suite.only=[irs]"], "no set 'irs'. Did you mean 'iris'"),
        (["suite=uci121", "suite.min_rows=100000"], "has no set of 100000"),
        (
            ["suite=uci_regression", "dataset=[]", "method=[svm-cv,krr-cv]"],
            "svm-cv treats the task of none",
        ),
        (
            ["suite=uci121", "dataset=[]", "method=[svm-rbf]", "jobs.memory_mb=1000"],
            "svm-rbf on uci121-chess-krvk .28056 rows. needs about",
        ),
        (
            [*("suite=uci_regression", "dataset=[]", "method=[krr-cv]"), "protocol.tuning=both"],
            "needs a tuning split of its own",
        ),
        (["dataset=[heart]", "protocol=time"], r"dataset\.heart .* needs a time"),
        (["dataset=[heart]", "protocol=group-holdout"], r"dataset\.heart .* needs groups"),
    ],
)
def test_named_before_anything_runs(overrides, message):
    with pytest.raises(ConfigError, match=message):
        load_plan(overrides)


def test_distributions_draw_between_their_ends():
    grid = {
        "a": {"uniform": [2, 3]},
        "b": {"log_uniform": [0.1, 10]},
        "c": {"integers": [1, 3]},
        "d": {"log_integers": [1, 100]},
    }
    axes = expand_grid(grid, {})
    rng = np.random.RandomState(0)
    draws = {k: [axis.rvs(random_state=rng) for _ in range(400)] for k, axis in axes.items()}
    assert min(draws["a"]) >= 2 and max(draws["a"]) <= 3
    assert abs(np.median(np.log10(draws["b"]))) < 0.2
    assert set(draws["c"]) == {1, 2, 3}
    assert min(draws["d"]) == 1 and max(draws["d"]) <= 100
    assert np.median(draws["d"]) < 25


def test_published_tuning_fits_on_one_half_and_tests_on_the_other():
    rng = np.random.default_rng(0)
    half = np.arange(20) % 2 == 0
    table = Table(
        rng.normal(size=(20, 2)),
        np.arange(20) // 10,
        "made",
        "classification",
        ["a", "b"],
        tuning_rows=half,
    )
    prepared, ((fit, validation),) = _published_tuning(table, {"scale": "none"})
    np.testing.assert_array_equal(prepared.X_train[fit], table.X[~half])
    np.testing.assert_array_equal(prepared.X_train[validation], table.X[half])
    np.testing.assert_array_equal(prepared.y_fit[validation], table.y[half])

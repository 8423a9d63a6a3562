"""From a configuration to jobs: names, batches, tuning, sweeps and parameters."""

from pathlib import Path

import pytest

from adakern_bench.config import validate
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import load_plan


def make_plan(*overrides):
    return load_plan(["experiment=quickstart", *overrides])


def test_cells_are_pairs_with_matching_task():
    plan = make_plan("dataset=[clowns,sk-diabetes]", "method=[svm-cv,svr-cv]")
    assert plan.cells == [("clowns", "svm-cv"), ("sk-diabetes", "svr-cv")]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["protocol.repeats=3"], ["0-2"]),
        (["protocol.repeats=3", "jobs.batch_rows=100"], ["0-0", "1-1", "2-2"]),
        (["protocol=kfold", "protocol.repeats=2", "protocol.n_splits=3"], ["0-5"]),
        (["protocol=published"], ["0-0"]),
    ],
)
def test_batches(overrides, expected):
    assert (
        make_plan("dataset=[monks1]", "method=[svm-cv]", *overrides).batches("monks1")
        == expected
    )


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["jobs.cells=4"], [["clowns", "monks1"], ["sk-wine"]]),
        (["jobs.cells=100"], [["clowns", "monks1", "sk-wine"]]),
        ([], []),  # few cells
        (["jobs.cells=4", "jobs.batch_rows=0"], []),  # large data sets
        (["jobs.cells=4", "tracking.models=true"], []),
        # A group has at most a minute of fits, by their costs.
        (["jobs.cells=4", "method.dummy.cost.seconds=1e6"], []),
    ],
)
def test_groups(overrides, expected):
    selected = ["dataset=[clowns,monks1,sk-wine]", "method=[svm-cv,dummy]"]
    groups = make_plan(*selected, "protocol.repeats=1", *overrides).groups
    assert groups == dict(enumerate(expected))


def test_train_rows_sweep_of_one_data_set_is_one_group():
    chosen = ["dataset=[clowns,monks1]", "method=[svm-cv,dummy]", "jobs.cells=4"]
    swept = ["protocol.repeats=1", "protocol.train_rows=[20,30]"]
    first, second = make_plan(*chosen, *swept).groups.values()
    assert first == ["clowns@train_rows=20", "clowns@train_rows=30"]
    assert second == ["monks1@train_rows=20", "monks1@train_rows=30"]


def test_tune_with_uses_the_search_of_the_other_method():
    tuned = "method.mkl-uniform.classifier.tune_with=svm-cv"
    chosen = ["dataset=[clowns]", "method=[mkl-uniform]", tuned]
    plan = make_plan(*chosen)
    assert plan.cells == [("clowns", "mkl-uniform")], "the tuner is not compared"
    assert plan.hand_over_method("clowns", "mkl-uniform") == "svm-cv"
    assert plan.search_method("clowns", "mkl-uniform") == "mkl-uniform"
    assert plan.searches("clowns") == ["svm-cv", "mkl-uniform"]
    without_grid = make_plan(*chosen, "~method.mkl-uniform.classifier.grid.C")
    assert without_grid.search_method("clowns", "mkl-uniform") == "svm-cv"


def test_sweep_makes_named_variants_with_fixed_parameters():
    swept = "sweep={svm-cv: {C: [1, 2], kernel: [rbf, linear]}}"
    plan = make_plan("dataset=[clowns]", "method=[svm-cv]", swept)
    methods = ["svm-cv@C=1,kernel=rbf", "svm-cv@C=1,kernel=linear"]
    methods += ["svm-cv@C=2,kernel=rbf", "svm-cv@C=2,kernel=linear"]
    assert [method for _, method in plan.cells] == methods
    recipe = plan.recipe("clowns", "svm-cv@C=2,kernel=linear")
    assert recipe["estimator"]["C"] == 2 and recipe["estimator"]["kernel"] == "linear"
    assert list(recipe["grid"]) == ["gamma"], "what is fixed is not searched"
    assert recipe["fixed"] == ["C", "kernel"]


def test_sweep_overrides_settings_of_data_set_and_method():
    setting = "settings.clowns.svm-cv={C: 9.0, gamma: 0.5}"
    chosen = ["dataset=[clowns,sk-wine]", "method=[svm-cv]", setting]
    plan = make_plan(*chosen)
    recipe = plan.recipe("clowns", "svm-cv")
    assert recipe["estimator"]["C"] == 9.0 and recipe["grid"] == {}
    assert plan.search_method("clowns", "svm-cv") is None
    assert set(plan.recipe("sk-wine", "svm-cv")["grid"]) == {"C", "gamma"}
    swept = make_plan(*chosen, "sweep.svm-cv.C=[1]").recipe("clowns", "svm-cv@C=1")[
        "estimator"
    ]
    assert (swept["C"], swept["gamma"]) == (1, 0.5)


def test_project_folder_with_braces_raises(monkeypatch):
    monkeypatch.setattr(validate, "ROOT", Path("/home/me/{x}/project"))
    with pytest.raises(ConfigError, match=r"\{x\}/project, and .* rename that folder"):
        make_plan()

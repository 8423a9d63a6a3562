"""From a configuration to jobs: names, batches, hand-over, sweeps, parameters."""

from pathlib import Path

import pytest

from adakern_bench.config import validate
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import load_plan


def plan(*overrides):
    return load_plan(["experiment=quickstart", *overrides])


def test_cells_are_the_pairs_whose_task_fits():
    found = plan("dataset=[clowns,sk-diabetes]", "method=[svm-cv,svr-cv]")
    assert found.cells == [("clowns", "svm-cv"), ("sk-diabetes", "svr-cv")]


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
        plan("dataset=[monks1]", "method=[svm-cv]", *overrides).batches("monks1")
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
        # A minute of fits, by their costs, is the most of a group.
        (["jobs.cells=4", "method.dummy.cost.seconds=1e6"], []),
    ],
)
def test_groups(overrides, expected):
    chosen = ["dataset=[clowns,monks1,sk-wine]", "method=[svm-cv,dummy]"]
    groups = plan(*chosen, "protocol.repeats=1", *overrides).groups
    assert groups == dict(enumerate(expected))


def test_points_of_a_sweep_of_the_rows_are_worked_off_together():
    chosen = ["dataset=[clowns,monks1]", "method=[svm-cv,dummy]", "jobs.cells=4"]
    swept = ["protocol.repeats=1", "protocol.train_rows=[20,30]"]
    first, second = plan(*chosen, *swept).groups.values()
    assert first == ["clowns@train_rows=20", "clowns@train_rows=30"]
    assert second == ["monks1@train_rows=20", "monks1@train_rows=30"]


def test_hand_over_reads_the_tuners_search():
    tuned = "method.mkl-uniform.classifier.tune_with=svm-cv"
    chosen = ["dataset=[clowns]", "method=[mkl-uniform]", tuned]
    found = plan(*chosen)
    assert found.cells == [("clowns", "mkl-uniform")], "the tuner is not compared"
    assert found.hand_over_method("clowns", "mkl-uniform") == "svm-cv"
    assert found.search_method("clowns", "mkl-uniform") == "mkl-uniform"
    assert found.searches("clowns") == ["svm-cv", "mkl-uniform"]
    without_grid = plan(*chosen, "~method.mkl-uniform.classifier.grid.C")
    assert without_grid.search_method("clowns", "mkl-uniform") == "svm-cv"


def test_a_sweep_makes_named_variants_with_fixed_parameters():
    swept = "sweep={svm-cv: {C: [1, 2], kernel: [rbf, linear]}}"
    found = plan("dataset=[clowns]", "method=[svm-cv]", swept)
    methods = ["svm-cv@C=1,kernel=rbf", "svm-cv@C=1,kernel=linear"]
    methods += ["svm-cv@C=2,kernel=rbf", "svm-cv@C=2,kernel=linear"]
    assert [method for _, method in found.cells] == methods
    recipe = found.recipe("clowns", "svm-cv@C=2,kernel=linear")
    assert recipe["estimator"]["C"] == 2 and recipe["estimator"]["kernel"] == "linear"
    assert list(recipe["grid"]) == ["gamma"], "what is fixed is not searched"
    assert recipe["fixed"] == ["C", "kernel"]


def test_settings_of_one_data_set_and_method_and_a_sweep_that_beats_them():
    setting = "settings.clowns.svm-cv={C: 9.0, gamma: 0.5}"
    chosen = ["dataset=[clowns,sk-wine]", "method=[svm-cv]", setting]
    found = plan(*chosen)
    recipe = found.recipe("clowns", "svm-cv")
    assert recipe["estimator"]["C"] == 9.0 and recipe["grid"] == {}
    assert found.search_method("clowns", "svm-cv") is None
    assert set(found.recipe("sk-wine", "svm-cv")["grid"]) == {"C", "gamma"}
    swept = plan(*chosen, "sweep.svm-cv.C=[1]").recipe("clowns", "svm-cv@C=1")[
        "estimator"
    ]
    assert (swept["C"], swept["gamma"]) == (1, 0.5)


def test_a_project_in_a_folder_with_braces_is_refused_before_any_job(monkeypatch):
    monkeypatch.setattr(validate, "ROOT", Path("/home/me/{x}/project"))
    with pytest.raises(ConfigError, match=r"\{x\}/project, and .* rename that folder"):
        plan()

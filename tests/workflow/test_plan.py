"""From a configuration to jobs: names, batches, hand-over, sweeps, parameters."""

import pytest

from adakern.bench.config.plan import load_plan


def plan(*overrides):
    return load_plan(["experiment=quickstart", *overrides])


@pytest.fixture(scope="module")
def small():
    return plan("dataset=[clowns,sk-wine,sk-diabetes]", "method=[svm-cv,svr-cv,krr-cv]")


def test_cells_are_the_pairs_whose_task_fits(small):
    assert small.cells == [
        ("clowns", "svm-cv"),
        ("sk-wine", "svm-cv"),
        ("sk-diabetes", "svr-cv"),
        ("sk-diabetes", "krr-cv"),
    ]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["protocol.repeats=3"], ["0-2"]),
        (["protocol.repeats=3", "jobs.batch_rows=100"], ["0-0", "1-1", "2-2"]),
        (["protocol=kfold", "protocol.repeats=2", "protocol.n_splits=3"], ["0-5"]),
        (["protocol.repeats=1"], ["0-0"]),
    ],
)
def test_batches(overrides, expected):
    assert plan("dataset=[sk-wine]", "method=[svm-cv]", *overrides).batches(
        "sk-wine"
    ) == (expected)


def test_a_published_split_is_one_solve():
    found = plan("dataset=[monks1]", "method=[svm-cv]", "protocol=published")
    assert found.batches("monks1") == ["0-0"]
    assert found.split_params("monks1")["published"] is True


def test_jobs_come_in_a_runnable_order(small):
    made = set()
    for stage in ("data", "split", "search", "solve"):
        for inputs, outputs, _ in small.jobs(stage):
            assert set(inputs.values()) <= made
            assert not set(outputs.values()) & made
            made |= set(outputs.values())
    assert set(small.records()) <= made


def test_hand_over_reads_the_tuners_search():
    found = plan(
        "dataset=[clowns]",
        "method=[mkl-uniform]",
        "++method.mkl-uniform.classifier.tune_with=svm-cv",
    )
    assert found.cells == [("clowns", "mkl-uniform")], "the tuner is not compared"
    inputs = found.search_inputs("clowns", "mkl-uniform", "0-4")
    assert inputs["handed_over"] == found.search("clowns", "svm-cv", "0-4")
    searches = [str(o["search"]) for _, o, _ in found.jobs("search")]
    assert [path.split("/")[-2] for path in searches] == ["svm-cv", "mkl-uniform"]


def test_hand_over_without_a_grid_of_ones_own():
    found = plan(
        "dataset=[clowns]",
        "method=[mkl-uniform]",
        "++method.mkl-uniform.classifier.tune_with=svm-cv",
        "~method.mkl-uniform.classifier.grid.C",
    )
    solve = found.solve_inputs("clowns", "mkl-uniform", "0-4")
    assert solve["search"] == found.search("clowns", "svm-cv", "0-4")


def test_a_sweep_makes_named_variants_with_fixed_parameters():
    found = plan(
        "dataset=[clowns]",
        "method=[svm-cv]",
        "+sweep.svm-cv={C: [1, 2], kernel: [rbf, linear]}",
    )
    assert [method for _, method in found.cells] == [
        "svm-cv@C=1,kernel=rbf",
        "svm-cv@C=1,kernel=linear",
        "svm-cv@C=2,kernel=rbf",
        "svm-cv@C=2,kernel=linear",
    ]
    recipe = found.recipe("clowns", "svm-cv@C=2,kernel=linear")
    assert recipe["estimator"]["C"] == 2 and recipe["estimator"]["kernel"] == "linear"
    assert list(recipe["grid"]) == ["gamma"], "what is fixed is not searched"
    assert recipe["fixed"] == ["C", "kernel"]


def test_settings_of_one_data_set_and_method():
    found = plan(
        "dataset=[clowns,sk-wine]",
        "method=[svm-cv]",
        "+settings.clowns.svm-cv={C: 2.0, gamma: 0.5}",
    )
    recipe = found.recipe("clowns", "svm-cv")
    assert recipe["estimator"]["C"] == 2.0 and recipe["grid"] == {}
    assert "search" not in found.solve_inputs("clowns", "svm-cv", "0-4")
    assert set(found.recipe("sk-wine", "svm-cv")["grid"]) == {"C", "gamma"}


def test_large_data_sets_may_search_on_one_validation_part():
    found = plan(
        "dataset=[sk-wine,spambase]",
        "method=[svm-cv]",
        "search.folds=3",
        "search.holdout_rows=178",
    )
    sets = ("sk-wine", "spambase")  # of 178 and 4601 rows
    assert [found.search_params(d, "svm-cv")["folds"] for d in sets] == [3, 1]


def test_the_point_of_a_sweep_beats_a_setting():
    found = plan(
        "dataset=[clowns]",
        "method=[svm-cv]",
        "+settings.clowns.svm-cv={C: 9, gamma: 0.5}",
        "+sweep.svm-cv.C=[1]",
    )
    estimator = found.recipe("clowns", "svm-cv@C=1")["estimator"]
    assert (estimator["C"], estimator["gamma"]) == (1, 0.5)


def test_a_job_is_given_only_what_it_reads(small):
    """What a job is given is a rerun trigger: no title, tracker or place of data."""
    other = plan(
        "dataset=[clowns,sk-wine,sk-diabetes]",
        "method=[svm-cv,svr-cv,krr-cv]",
        "title=Other",
        "tracking.uri=sqlite:///other.db",
        "data.timeout=77",
        "data.mirror=/elsewhere",
        "jobs.memory_mb=5000",
    )
    for stage in ("data", "split", "search", "solve"):
        mine, others = list(small.jobs(stage)), list(other.jobs(stage))
        assert mine and mine == others


def test_parameters_change_with_what_they_describe(small):
    other = plan(
        "dataset=[clowns,sk-wine,sk-diabetes]",
        "method=[svm-cv,svr-cv,krr-cv]",
        "++method.svm-cv.classifier.estimator.tol=0.01",
    )
    for dataset, method in small.cells:
        same = small.solve_params(dataset, method) == other.solve_params(
            dataset, method
        )
        assert same == (method != "svm-cv")


def test_time_asked_for_covers_every_solve_at_its_limit(small):
    assert small.job_minutes("0-4") >= 5 * small.config.jobs.time_limit / 60

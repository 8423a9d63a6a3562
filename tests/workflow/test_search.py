"""The search is scikit-learn's grid search, with hand-over and relative axes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.utils import resample

from adakern._utils.files import read_json, write_json
from adakern.datasets import make_clowns
from adakern_bench.config.estimators import expand_grid, make_estimator
from adakern_bench.data import Table
from adakern_bench.records.prepare import prepare
from adakern_bench.records.search import scoring, search_grid, search_repeat
from adakern_bench.records.solve import solve_one
from adakern_bench.records.split import folds, load_split, make_splits, save_splits
from script import run_fits

SVM = {"_target_": "sklearn.svm.SVC"}


def table(task="classification"):
    X, y = make_clowns(n=80, random_state=1)[:2]
    target = y if task == "classification" else X[:, 0] * X[:, 1]
    return Table(np.asarray(X), np.asarray(target), "clowns", task, ["a", "b"])


def params(**more):
    none = dict.fromkeys(["random", "max_rows", "holdout_rows", "train_rows"])
    defaults = {
        "estimator": SVM,
        "tuning": "nested",
        "fixed": [],
        "folds": 3,
        "step": 1,
    }
    return none | defaults | {"threads": 1, "seed": 4, "preparation": {}} | more


@pytest.fixture
def prepared():
    return prepare(table(), np.arange(0, 50), np.arange(50, 80))


GRID = {"C": [0.1, 1, 10], "gamma": [0.1, 1.0]}


def check_against_scikit_learn(found, oracle, rtol):
    """Best parameters and every point are those of a grid search there."""
    best, rows = found
    assert best == oracle.best_params_
    assert [{k: row[k] for k in GRID} for row in rows] == oracle.cv_results_["params"]
    expected = oracle.cv_results_["mean_test_score"]
    np.testing.assert_allclose([row["mean_score"] for row in rows], expected, rtol=rtol)


@pytest.mark.parametrize("most", [None, 30, 50])
def test_same_as_grid_search_cv(prepared, most):
    """On some of the rows: a stratified part of them; on all where there
    are not more."""
    found = search_grid(
        prepared, "classification", params(grid=GRID, max_rows=most), {}, seed=4
    )
    X, y = prepared.X_train, prepared.y_train
    if most == 30:
        X, y = resample(X, y, replace=False, n_samples=30, stratify=y, random_state=4)
        assert np.unique(y, return_counts=True)[1].tolist() == [6, 24]
    cv = StratifiedKFold(3, shuffle=True, random_state=4)
    oracle = GridSearchCV(SVC(random_state=4), GRID, cv=cv).fit(X, y)
    check_against_scikit_learn(found, oracle, rtol=0)


def test_regression_is_scored_by_squared_error():
    data = prepare(table("regression"), np.arange(0, 50), np.arange(50, 80))
    settings = params(estimator={"_target_": "sklearn.svm.SVR"}, grid=GRID)
    found = search_grid(data, "regression", settings, {}, seed=2)
    cv = folds("regression", 3, 2)
    oracle = GridSearchCV(SVR(), GRID, scoring="neg_mean_squared_error", cv=cv)
    check_against_scikit_learn(found, oracle.fit(data.X_train, data.y_train), rtol=1e-6)


def test_the_test_part_is_not_looked_at(prepared):
    settings = params(grid={"C": [0.1, 1, 10]})
    before = search_grid(prepared, "classification", settings, {}, seed=0)
    prepared.X_test[:], prepared.y_test[:] = np.nan, -9
    assert search_grid(prepared, "classification", settings, {}, seed=0) == before


@pytest.mark.parametrize("most", [None, 30])
def test_a_class_of_one_row_stops_no_search(prepared, most):
    """Neither its holdout nor the rows drawn for it: found on nursery."""
    prepared.y_train[0] = 9
    settings = params(grid={"C": [0.1, 1, 10]}, folds=1, max_rows=most)
    _, rows = search_grid(prepared, "classification", settings, {}, seed=0)
    assert np.isfinite([row["mean_score"] for row in rows]).all()


def test_handed_over_parameters_are_kept_and_fixed_ones_beat_them(prepared):
    settings = params(grid={"gamma": [0.5, 2.0]})
    best, rows = search_grid(prepared, "classification", settings, {"C": 7.0}, seed=0)
    assert best["C"] == 7.0 and best["gamma"] in (0.5, 2.0)
    alone = params(estimator=SVM | {"C": 7.0}, grid=settings["grid"])
    assert rows == search_grid(prepared, "classification", alone, {}, seed=0)[1]
    settings |= {"estimator": SVM | {"C": 2.0}, "fixed": ["C"]}
    best, _ = search_grid(prepared, "classification", settings, {"C": 7.0}, seed=0)
    assert "C" not in best


def test_relative_axis_takes_its_unit_from_the_hand_over(prepared):
    axis = {"relative_to": "C", "power": 2, "values": ["scale", 0.01, 0.1]}
    settings = params(grid={"gamma": axis})
    _, rows = search_grid(prepared, "classification", settings, {"C": 3.0}, seed=0)
    assert [row["gamma"] for row in rows] == ["scale", 0.09, pytest.approx(0.9)]


def test_thinned_grid():
    grid = {"C": [1, 2, 4, 8, 16], "kernel": ["a", "b", "c", "d"], "tol": [1, 2, 3]}
    thin = expand_grid(grid, {}, step=2)
    assert thin == {"C": [1, 4, 16], "kernel": grid["kernel"], "tol": [1, 2, 3]}
    assert expand_grid(grid, {}) == grid


def test_seed_and_threads_fill_what_the_recipe_leaves_open():
    open_ended = make_estimator(SVM, {"C": 3.0}, seed=5)
    assert (open_ended.random_state, open_ended.C) == (5, 3.0)
    assert make_estimator(SVM | {"random_state": 1}, seed=5).random_state == 1
    bagging = {"_target_": "sklearn.ensemble.BaggingClassifier", "estimator": SVM}
    assert make_estimator(bagging, seed=5).estimator.random_state == 5
    fixed = bagging | {"estimator": SVM | {"random_state": 1}}
    assert make_estimator(fixed, seed=5).estimator.random_state == 1
    forest = {"_target_": "sklearn.ensemble.RandomForestClassifier"}
    assert make_estimator(forest, threads=2).n_jobs == 2


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_fold_is_one_validation_part(task):
    data = table(task)
    ((train, test),) = folds(task, 1, 0).split(data.X, data.y)
    assert len(test) == 16 and len(train) == 64


def job(tmp_path, **more):
    """Inputs and outputs of a search of two repeats."""
    table().save(tmp_path / "table.npz")
    even, odd = np.arange(0, 80, 2), np.arange(1, 80, 2)
    np.savez(tmp_path / "split.npz", train_0=even, test_0=odd, train_1=odd, test_1=even)
    inputs = {"table": tmp_path / "table.npz", "split": tmp_path / "split.npz"}
    inputs |= {"handed_over": []} | more
    return inputs, {"search": tmp_path / "0-1.json"}


@pytest.mark.parametrize(("holdout_rows", "n_folds"), [(79, 1), (80, 3)])
def test_files_of_a_batch(tmp_path, holdout_rows, n_folds):
    """More than `holdout_rows` are searched on one validation part; the
    table has 80."""
    inputs, outputs = job(tmp_path)
    settings = params(grid={"C": [0.5, 5.0]}, holdout_rows=holdout_rows)
    run_fits("search", inputs, outputs, fit=settings, search={}, train_rows=None)
    found = read_json(outputs["search"])
    assert [(entry["repeat"], entry["status"]) for entry in found] == [
        (0, "ok"),
        (1, "ok"),
    ]
    for entry in found:
        assert [point["C"] for point in entry["points"]] == [0.5, 5]
        best = max(entry["points"], key=lambda point: point["mean_score"])
        assert entry["best_params"] == {"C": best["C"]}
    spread = [point["std_score"] for entry in found for point in entry["points"]]
    assert (max(spread) > 0) == (n_folds > 1)


def test_repeats_fail_one_by_one(tmp_path):
    """A repeat whose hand-over failed is passed on; all points failing is a failure."""
    lost = {"repeat": 0, "status": "timeout", "reason": "exceeded", "best_params": None}
    bad = {"repeat": 1, "status": "ok", "reason": None, "best_params": {"C": -1.0}}
    write_json(tmp_path / "tuner.json", [lost, bad])
    inputs, outputs = job(tmp_path, handed_over=[tmp_path / "tuner.json"])
    settings = params(grid={"gamma": [0.5, 5.0]})
    run_fits("search", inputs, outputs, fit=settings, search={}, train_rows=None)
    first, second = read_json(outputs["search"])
    assert (first["status"], first["reason"]) == ("timeout", "exceeded")
    assert second["status"] == "failed" and "'C' parameter" in second["reason"]


@pytest.mark.parametrize(
    ("metric", "task", "expected"),
    [
        ("auc", "classification", "roc_auc"),
        ("log_loss", "classification", "neg_log_loss"),
        ("accuracy", "classification", "accuracy"),
        (None, "regression", "neg_mean_squared_error"),
        ("mae", "regression", "neg_mean_absolute_error"),
    ],
)
def test_searches_choose_as_methods_are_ranked(metric, task, expected):
    y = np.arange(20) % 2
    assert scoring(metric, task, y, LogisticRegression()) == expected


def test_a_rare_class_is_searched_by_the_area_under_the_curve():
    """By accuracy, coefficients of zero would do: no row is called rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 2.6).astype(int)
    data = Table(X, y, "rare", "classification", list("abc"))
    inside = prepare(data, np.arange(300), np.arange(300, 400))
    settings = params(
        estimator={"_target_": "sklearn.linear_model.LogisticRegression"},
        grid={"C": [1e-6, 10.0]},
        metric="auc",
    )
    best, rows = search_grid(inside, "classification", settings, {}, seed=0)
    oracle = GridSearchCV(
        LogisticRegression(),
        {"C": [1e-6, 10.0]},
        scoring="roc_auc",
        cv=folds("classification", 3, 0),
    ).fit(inside.X_train, inside.y_train)
    assert best == oracle.best_params_
    np.testing.assert_allclose(
        [row["mean_score"] for row in rows], oracle.cv_results_["mean_test_score"]
    )


def test_a_search_for_new_units_does_not_choose_the_neighbour_of_the_same_unit(
    tmp_path,
):
    """Six rows each of sixty units, alike in X, whose mean is mostly of the unit.

    A row's nearest neighbour is of its unit: the best prediction where test rows are of
    known units, and the worst where they are of new ones.
    """
    rng = np.random.default_rng(7)
    unit = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(60, 3))[unit] + 0.01 * rng.normal(size=(360, 3))
    y = X[:, 0] + 3 * rng.normal(size=60)[unit] + 0.1 * rng.normal(size=360)
    units = Table(X, y, "units", "regression", list("abc"), groups=unit)
    units.save(tmp_path / "table.npz")
    knn = {"_target_": "sklearn.neighbors.KNeighborsRegressor"}
    settings = params(estimator=knn, grid={"n_neighbors": [1, 30, 60]})
    options = {"repeats": 2, "test_size": 0.3, "n_splits": 5, "stratify": True}
    chosen = {}
    for kind in ("holdout", "group-holdout"):
        split = tmp_path / f"{kind}.npz"
        save_splits(
            split, make_splits(units, kind=kind, seed=0, published=False, **options)
        )
        for repeat in range(2):
            found = search_repeat(tmp_path / "table.npz", split, settings, {}, repeat)
            chosen[kind, repeat] = found[0]["n_neighbors"]
            train, test = load_split(split, repeat)
            errors = {
                k: np.mean(
                    (
                        KNeighborsRegressor(k).fit(X[train], y[train]).predict(X[test])
                        - y[test]
                    )
                    ** 2
                )
                for k in (1, 30, 60)
            }
            assert (min(errors, key=errors.get) == 1) == (kind == "holdout")
    assert chosen["holdout", 0] == chosen["holdout", 1] == 1
    assert min(chosen["group-holdout", 0], chosen["group-holdout", 1]) >= 30
    flagship = {"_target_": "adakern.AdaptiveKernelRegressor", "preset": "fast"}
    settings = params(estimator=flagship, validates_from=None)
    record = solve_one(tmp_path / "table.npz", split, settings, {}, 0)
    # A tenth without the groups; twenty units, each held or not as a whole.
    assert record["metrics"]["test"]["interval_coverage"] > 0.6

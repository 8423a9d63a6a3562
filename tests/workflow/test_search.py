"""The search equals scikit-learn's grid search; tune_with and relative axes."""

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
from adakern_bench.data.table import Table
from adakern_bench.records.prepare import prepare
from adakern_bench.records.search import scoring, search_grid, search_repeat
from adakern_bench.records.solve import solve_one
from adakern_bench.records.split import folds, load_split, make_splits, save_splits
from script import run_fits

SVM = {"_target_": "sklearn.svm.SVC"}


def make_table(task="classification"):
    X, y = make_clowns(n=80, random_state=1)[:2]
    target = y if task == "classification" else X[:, 0] * X[:, 1]
    return Table(np.asarray(X), np.asarray(target), "clowns", task, ["a", "b"])


def make_params(**more):
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
def prepared_data():
    return prepare(make_table(), np.arange(0, 50), np.arange(50, 80))


GRID = {"C": [0.1, 1, 10], "gamma": [0.1, 1.0]}


def check_search_result(result, oracle, rtol):
    """Best parameters, points and scores equal those of GridSearchCV."""
    best, rows = result
    assert best == oracle.best_params_
    assert [{k: row[k] for k in GRID} for row in rows] == oracle.cv_results_["params"]
    expected = oracle.cv_results_["mean_test_score"]
    np.testing.assert_allclose([row["mean_score"] for row in rows], expected, rtol=rtol)


@pytest.mark.parametrize("max_rows", [None, 30, 50])
def test_search_equals_grid_search_cv(prepared_data, max_rows):
    """With max_rows, on a stratified subsample if there are more rows."""
    result = search_grid(
        prepared_data,
        "classification",
        make_params(grid=GRID, max_rows=max_rows),
        {},
        seed=4,
    )
    X, y = prepared_data.X_train, prepared_data.y_train
    if max_rows == 30:
        X, y = resample(X, y, replace=False, n_samples=30, stratify=y, random_state=4)
        assert np.unique(y, return_counts=True)[1].tolist() == [6, 24]
    cv = StratifiedKFold(3, shuffle=True, random_state=4)
    oracle = GridSearchCV(SVC(random_state=4), GRID, cv=cv).fit(X, y)
    check_search_result(result, oracle, rtol=0)


def test_regression_is_scored_by_squared_error():
    data = prepare(make_table("regression"), np.arange(0, 50), np.arange(50, 80))
    settings = make_params(estimator={"_target_": "sklearn.svm.SVR"}, grid=GRID)
    result = search_grid(data, "regression", settings, {}, seed=2)
    cv = folds("regression", 3, 2)
    oracle = GridSearchCV(SVR(), GRID, scoring="neg_mean_squared_error", cv=cv)
    check_search_result(result, oracle.fit(data.X_train, data.y_train), rtol=1e-6)


def test_search_does_not_use_the_test_part(prepared_data):
    settings = make_params(grid={"C": [0.1, 1, 10]})
    before = search_grid(prepared_data, "classification", settings, {}, seed=0)
    prepared_data.X_test[:], prepared_data.y_test[:] = np.nan, -9
    assert search_grid(prepared_data, "classification", settings, {}, seed=0) == before


@pytest.mark.parametrize("max_rows", [None, 30])
def test_search_with_a_class_of_one_row(prepared_data, max_rows):
    """Neither the validation part nor the subsample can be stratified then."""
    prepared_data.y_train[0] = 9
    settings = make_params(grid={"C": [0.1, 1, 10]}, folds=1, max_rows=max_rows)
    _, rows = search_grid(prepared_data, "classification", settings, {}, seed=0)
    assert np.isfinite([row["mean_score"] for row in rows]).all()


def test_fixed_parameters_override_those_of_tune_with(prepared_data):
    settings = make_params(grid={"gamma": [0.5, 2.0]})
    best, rows = search_grid(
        prepared_data, "classification", settings, {"C": 7.0}, seed=0
    )
    assert best["C"] == 7.0 and best["gamma"] in (0.5, 2.0)
    alone = make_params(estimator=SVM | {"C": 7.0}, grid=settings["grid"])
    assert rows == search_grid(prepared_data, "classification", alone, {}, seed=0)[1]
    settings |= {"estimator": SVM | {"C": 2.0}, "fixed": ["C"]}
    best, _ = search_grid(prepared_data, "classification", settings, {"C": 7.0}, seed=0)
    assert "C" not in best


def test_relative_axis_uses_parameters_of_tune_with(prepared_data):
    axis = {"relative_to": "C", "power": 2, "values": ["scale", 0.01, 0.1]}
    settings = make_params(grid={"gamma": axis})
    _, rows = search_grid(prepared_data, "classification", settings, {"C": 3.0}, seed=0)
    assert [row["gamma"] for row in rows] == ["scale", 0.09, pytest.approx(0.9)]


def test_grid_with_step():
    grid = {"C": [1, 2, 4, 8, 16], "kernel": ["a", "b", "c", "d"], "tol": [1, 2, 3]}
    thin = expand_grid(grid, {}, step=2)
    assert thin == {"C": [1, 4, 16], "kernel": grid["kernel"], "tol": [1, 2, 3]}
    assert expand_grid(grid, {}) == grid


def test_random_state_and_n_jobs_are_set_unless_given():
    estimator = make_estimator(SVM, {"C": 3.0}, seed=5)
    assert (estimator.random_state, estimator.C) == (5, 3.0)
    assert make_estimator(SVM | {"random_state": 1}, seed=5).random_state == 1
    bagging = {"_target_": "sklearn.ensemble.BaggingClassifier", "estimator": SVM}
    assert make_estimator(bagging, seed=5).estimator.random_state == 5
    fixed = bagging | {"estimator": SVM | {"random_state": 1}}
    assert make_estimator(fixed, seed=5).estimator.random_state == 1
    forest = {"_target_": "sklearn.ensemble.RandomForestClassifier"}
    assert make_estimator(forest, threads=2).n_jobs == 2


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_fold_is_a_single_validation_part(task):
    data = make_table(task)
    ((train, test),) = folds(task, 1, 0).split(data.X, data.y)
    assert len(test) == 16 and len(train) == 64


def make_job(tmp_path, **more):
    """Inputs and outputs of a search for two repeats."""
    make_table().save(tmp_path / "table.npz")
    even, odd = np.arange(0, 80, 2), np.arange(1, 80, 2)
    np.savez(tmp_path / "split.npz", train_0=even, test_0=odd, train_1=odd, test_1=even)
    inputs = {"table": tmp_path / "table.npz", "split": tmp_path / "split.npz"}
    inputs |= {"handed_over": []} | more
    return inputs, {"search": tmp_path / "0-1.json"}


@pytest.mark.parametrize(("holdout_rows", "n_folds"), [(79, 1), (80, 3)])
def test_search_script_writes_a_batch(tmp_path, holdout_rows, n_folds):
    """With more than `holdout_rows` rows, a single validation part is used."""
    inputs, outputs = make_job(tmp_path)
    settings = make_params(grid={"C": [0.5, 5.0]}, holdout_rows=holdout_rows)
    run_fits("search", inputs, outputs, fit=settings, search={}, train_rows=None)
    entries = read_json(outputs["search"])
    assert [(entry["repeat"], entry["status"]) for entry in entries] == [
        (0, "ok"),
        (1, "ok"),
    ]
    for entry in entries:
        assert [point["C"] for point in entry["points"]] == [0.5, 5]
        best = max(entry["points"], key=lambda point: point["mean_score"])
        assert entry["best_params"] == {"C": best["C"]}
    spread = [point["std_score"] for entry in entries for point in entry["points"]]
    assert (max(spread) > 0) == (n_folds > 1)


def test_repeats_fail_separately(tmp_path):
    """A failure of tune_with is passed on; a search without valid points fails."""
    lost = {"repeat": 0, "status": "timeout", "reason": "exceeded", "best_params": None}
    bad = {"repeat": 1, "status": "ok", "reason": None, "best_params": {"C": -1.0}}
    write_json(tmp_path / "tuner.json", [lost, bad])
    inputs, outputs = make_job(tmp_path, handed_over=[tmp_path / "tuner.json"])
    settings = make_params(grid={"gamma": [0.5, 5.0]})
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
def test_search_scoring_follows_the_metric(metric, task, expected):
    y = np.arange(20) % 2
    assert scoring(metric, task, y, LogisticRegression()) == expected


def test_search_with_rare_class_uses_auc():
    """By accuracy, zero coefficients would suffice: no row is predicted as rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] + rng.normal(size=400) > 2.6).astype(int)
    data = Table(X, y, "rare", "classification", list("abc"))
    prepared = prepare(data, np.arange(300), np.arange(300, 400))
    settings = make_params(
        estimator={"_target_": "sklearn.linear_model.LogisticRegression"},
        grid={"C": [1e-6, 10.0]},
        metric="auc",
    )
    best, rows = search_grid(prepared, "classification", settings, {}, seed=0)
    oracle = GridSearchCV(
        LogisticRegression(),
        {"C": [1e-6, 10.0]},
        scoring="roc_auc",
        cv=folds("classification", 3, 0),
    ).fit(prepared.X_train, prepared.y_train)
    assert best == oracle.best_params_
    np.testing.assert_allclose(
        [row["mean_score"] for row in rows], oracle.cv_results_["mean_test_score"]
    )


def test_search_with_groups_uses_grouped_folds(
    tmp_path,
):
    """Sixty units of six rows with similar X; y depends mostly on the unit. The nearest
    neighbour is of the same unit: the best prediction for known units, the worst for
    new ones.
    """
    rng = np.random.default_rng(7)
    unit = np.repeat(np.arange(60), 6)
    X = rng.normal(size=(60, 3))[unit] + 0.01 * rng.normal(size=(360, 3))
    y = X[:, 0] + 3 * rng.normal(size=60)[unit] + 0.1 * rng.normal(size=360)
    units = Table(X, y, "units", "regression", list("abc"), groups=unit)
    units.save(tmp_path / "table.npz")
    knn = {"_target_": "sklearn.neighbors.KNeighborsRegressor"}
    settings = make_params(estimator=knn, grid={"n_neighbors": [1, 30, 60]})
    options = {"repeats": 2, "test_size": 0.3, "n_splits": 5, "stratify": True}
    chosen = {}
    for kind in ("holdout", "group-holdout"):
        split = tmp_path / f"{kind}.npz"
        save_splits(
            split, make_splits(units, kind=kind, seed=0, published=False, **options)
        )
        for repeat in range(2):
            result = search_repeat(tmp_path / "table.npz", split, settings, {}, repeat)
            chosen[kind, repeat] = result[0]["n_neighbors"]
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
    settings = make_params(estimator=flagship, validates_from=None)
    record = solve_one(tmp_path / "table.npz", split, settings, {}, 0)
    # Coverage is 0.1 if groups are ignored; each of twenty units is covered or not.
    assert record["metrics"]["test"]["interval_coverage"] > 0.6

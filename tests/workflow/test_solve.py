"""Records of fits, compared with direct computations."""

import json
import warnings
from importlib.metadata import version

import mlflow.sklearn
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import accuracy_score, mean_squared_error, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR

from adakern._utils.files import read_json, write_json
from adakern.adaptive import DEFAULTS_VERSION
from adakern.datasets import make_clowns
from adakern_bench.data.table import Table
from adakern_bench.records.prepare import prepare
from adakern_bench.records.solve import (
    _sentences,
    fit,
    fitted_facts,
    validates_at_random,
)
from script import run_fits

IDENTITY = {
    "experiment": "small",
    "dataset": "clowns",
    "method": "svm",
    "task": "classification",
}

DESCRIBED = {"protocol": {"kind": "holdout"}, "search": None}


def make_params(**more):
    svm = {"_target_": "sklearn.svm.SVC", "gamma": 2.0}
    fit = {
        "estimator": svm,
        "fixed": ["gamma"],
        "seed": 10,
        "threads": 1,
        "validates_from": None,
    }
    return fit | {"code": "abc", "preparation": {"scale": "unit"}} | more


@pytest.fixture
def job(tmp_path):
    """``job(...)`` fits the repeats 3 and 4 and returns their records."""
    X, y = make_clowns(n=80, random_state=1)[:2]
    table = Table(np.asarray(X), np.asarray(y), "clowns", "classification", ["a", "b"])
    table.save(tmp_path / "table.npz")
    even, odd = np.arange(0, 80, 2), np.arange(1, 80, 2)
    np.savez(tmp_path / "split.npz", train_3=even, test_3=odd, train_4=odd, test_4=even)

    def job(identity=IDENTITY, **more):
        arguments = {"identity": identity, "described": DESCRIBED}
        run_fits("solve", job.inputs, job.outputs, fit=make_params(**more), **arguments)
        return read_json(job.outputs["record"])

    job.table, job.models = table, tmp_path / "models"
    job.inputs = {
        "table": tmp_path / "table.npz",
        "split": tmp_path / "split.npz",
        "search": [],
    }
    job.outputs = {"record": tmp_path / "3-4.json"}
    return job


@pytest.mark.parametrize("damaged", ["table", "split"])
def test_damaged_input_raises(job, damaged):
    records, path = job(), job.inputs[damaged]
    whole = path.read_bytes()
    for content in (whole[:-60], whole[:200] + b"????" + whole[204:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path.name} is incomplete"):
            job()
    path.write_bytes(whole)
    assert [r["status"] for r in job()] == [r["status"] for r in records]


def test_record_equals_direct_computation(job):
    table, records = job.table, job()
    assert [r["repeat"] for r in records] == [3, 4] and [
        r["seed"] for r in records
    ] == [13, 14]
    for record, first in zip(records, (0, 1), strict=True):
        train, test = slice(first, None, 2), slice(1 - first, None, 2)
        model = make_pipeline(MinMaxScaler(), SVC(gamma=2.0))
        model.fit(table.X[train], table.y[train])
        for part, rows in (("train", train), ("test", test)):
            expected = accuracy_score(table.y[rows], model.predict(table.X[rows]))
            assert record["metrics"][part]["accuracy"] == expected
        expected = roc_auc_score(table.y[test], model.decision_function(table.X[test]))
        assert record["metrics"]["test"]["auc"] == pytest.approx(expected)
        assert record["n_support"] == model[-1].n_support_.sum()
        assert record["params"]["gamma"] == 2.0
        assert (
            record["status"] == "ok"
            and record["reason"] is None
            and record["converged"] is True
        )
        assert (record["n_train"], record["n_test"], record["n_features"]) == (
            40,
            40,
            2,
        )
        assert record["fit_seconds"] > 0 and record["peak_memory_bytes"] >= 0
        assert record["code_version"] == "abc"
        assert (
            record["versions"]["lightgbm"] == version("lightgbm")
            and record | IDENTITY == record
        )


@pytest.mark.parametrize(
    "name", ["sklearn.svm.SVC", "adakern.DANKClassifier", "adakern.KNPLClassifier"]
)
def test_saved_model_predicts_the_same(job, name):
    table, job.outputs["models"] = job.table, job.models
    record, _ = job(estimator={"_target_": name, "gamma": 2.0})
    folder = job.models / "3"
    assert "model.skops" in (folder / "MLmodel").read_text()
    rows = table.as_written(np.arange(1, len(table.X), 2))
    on_test = mlflow.sklearn.load_model(folder).predict(rows)
    assert (
        accuracy_score(table.y[1::2], on_test) == record["metrics"]["test"]["accuracy"]
    )
    served = mlflow.pyfunc.load_model(str(folder))
    assert served.predict(rows.assign(more="x")).tolist() == on_test.tolist()
    assert served.metadata.get_input_schema().input_names() == table.feature_names


def test_model_that_cannot_be_saved_warns(job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # must not appear in the record
    job.outputs["models"] = job.models
    (job.models / "3" / "in the way").mkdir(parents=True)
    first, second = job()
    assert first["status"] == "ok" and first["metrics"]["test"]["accuracy"] > 0
    assert any(
        "the model could not be saved" in w and str(tmp_path) not in w
        for w in first["warnings"]
    )
    assert not (job.models / "3").exists()
    assert second["warnings"] == [] and (job.models / "4" / "MLmodel").exists()


def test_best_parameters_of_same_repeat_and_fixed_ones(job, tmp_path):
    job.inputs["search"] = [tmp_path / "search.json"]
    best = [{"repeat": r, "best_params": {"C": float(r), "gamma": 9.0}} for r in (4, 3)]
    write_json(
        tmp_path / "search.json",
        [{"status": "ok", "reason": None} | entry for entry in best],
    )
    for repeat, record in zip((3, 4), job(), strict=True):
        assert (record["params"]["C"], record["params"]["gamma"]) == (repeat, 2.0)


def test_failed_search_fails_the_fit(job, tmp_path):
    job.inputs["search"] = [tmp_path / "search.json"]
    lost = {"status": "timeout", "reason": "too long", "best_params": None}
    write_json(
        tmp_path / "search.json", [lost | {"repeat": repeat} for repeat in (3, 4)]
    )
    assert {(r["status"], r["reason"]) for r in job()} == {
        ("timeout", "search: too long")
    }


def test_repeat_is_reused_if_its_inputs_are_unchanged(job, tmp_path):
    """Also from another batch or experiment; `started_at` shows
    whether it was reused.
    """

    def solve(file, **more):
        job.outputs["record"] = tmp_path / "results" / file
        return job(**more)

    first = solve("a/records/clowns/svm/3-4.json")
    assert [r["key"] for r in first] != [first[0]["key"]] * 2
    reused = solve("b/records/clowns/svm/3-4.json", identity=IDENTITY | {"method": "m"})
    assert reused == [record | {"method": "m"} for record in first]

    # Changed rows of one repeat, parameters, table or code version.
    even, odd = np.arange(0, 80, 2), np.arange(1, 80, 2)
    rows = {"train_3": odd, "test_3": even, "train_4": odd, "test_4": even}
    np.savez(job.inputs["split"], **rows)
    third = solve("b/records/clowns/svm/3-3.json")
    fourth = solve("b/records/clowns/svm/4-4.json")
    assert third[0]["started_at"] > first[1]["started_at"] and fourth == first[1:]
    changes = [{"code": "new"}, {"preparation": {"scale": "none"}}, {"seed": 11}]
    for n, change in enumerate(changes):
        (again,) = solve("b/records/clowns/svm/4-4.json", **change)
        assert again["started_at"] > third[0]["started_at"], n
    job.table.X[0, 0] += 1
    job.table.save(job.inputs["table"])
    (again,) = solve("b/records/clowns/svm/4-4.json")
    assert again["key"] not in {r["key"] for r in first}

    # Snakemake forces it once.
    job.outputs["record"].with_suffix(".again").touch()
    (forced,) = job()
    assert forced["key"] == again["key"]
    assert forced["started_at"] > again["started_at"]
    assert job() == [forced]


def test_failed_record_has_every_field(job):
    successful, _ = job()
    failed, _ = job(estimator={"_target_": "sklearn.svm.SVC", "C": -1})
    assert set(failed) == set(successful) and failed["status"] == "failed"
    assert "'C' parameter of SVC" in failed["reason"]
    assert failed["metrics"] == {"train": {}, "test": {}}


def test_non_convergence_is_recorded(job):
    record, _ = job(estimator={"_target_": "sklearn.svm.SVC", "max_iter": 2})
    assert record["converged"] is False
    assert any("ConvergenceWarning" in warning for warning in record["warnings"])


def test_warnings_of_a_fit_are_cut():
    """In length and in number; halves of characters are replaced."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(30):
            warnings.warn(f"{k:02d}\n\ud800" + "long " * 1000, stacklevel=1)
    *first, last = _sentences(caught)
    assert last == "... and 10 more warnings"
    assert len(first) == 20
    assert first[0].startswith("UserWarning: 00 \N{REPLACEMENT CHARACTER}long long")
    assert max(map(len, first)) < 1010


class ReturnsNothing(BaseEstimator):
    """An estimator whose fit returns nothing."""

    def fit(self, X, y):
        self.rows_ = len(X)


def test_estimator_whose_fit_returns_nothing():
    X = np.random.default_rng(0).normal(size=(50, 2))
    table = Table(X, np.arange(50.0), "made", "regression", ["a", "b"])
    data = prepare(table, np.arange(40), np.arange(40, 50))
    assert fit(ReturnsNothing(), data, 0).rows_ == 40


def test_record_contains_defaults_version_of_flagship(job):
    estimator = {"_target_": "adakern.AdaptiveKernelClassifier", "preset": "fast"}
    versions = {
        record["extra"]["defaults_version"] for record in job(estimator=estimator)
    }
    assert versions == {DEFAULTS_VERSION["classifier"]}


def test_regression_metrics_are_in_units_of_the_target(job):
    X, y = job.table.X, 1000 + 50 * job.table.X[:, 0]
    Table(X, y, "line", "regression", ["a", "b"]).save(job.inputs["table"])
    record, _ = job(
        identity=IDENTITY | {"task": "regression"},
        estimator={"_target_": "sklearn.svm.SVR", "C": 10.0},
        preparation={"scale": "unit", "scale_target": "standard"},
    )
    scaler = MinMaxScaler().fit(X[::2])
    mean, std = y[::2].mean(), y[::2].std()
    model = SVR(C=10.0).fit(scaler.transform(X[::2]), (y[::2] - mean) / std)
    predicted = model.predict(scaler.transform(X[1::2])) * std + mean
    expected = mean_squared_error(y[1::2], predicted) / y[1::2].var()
    assert record["metrics"]["test"]["relative_mse"] == pytest.approx(expected)


class WithAttributes(ClassifierMixin, BaseEstimator):
    """An estimator with the fitted attributes that a test sets."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_fitted_facts():
    attributes = {"rank_": [3, 5], "support_": [np.array([0, 1]), np.array([1, 4])]}
    attributes |= {"n_iter_": np.array([7, 9]), "objective_": [1.0, 2.5]}
    attributes |= {"duality_gap_": np.float64(1e-5)}
    attributes |= {"record_": {"profile": "laplacian", "width": np.float32(2)}}
    facts = fitted_facts(WithAttributes(**attributes))
    extra = {"profile": "laplacian", "width": 2.0}
    numbers = {
        "rank": 5,
        "n_support": 3,
        "n_iter": 9,
        "objective": 3.5,
        "duality_gap": 1e-5,
    }
    assert json.loads(json.dumps(facts)) == numbers | {"extra": extra}

    # LightGBM stores the name of its loss in ``objective_``.
    facts = fitted_facts(WithAttributes(objective_="binary", n_iter_=20))
    assert facts["objective"] is None and facts["n_iter"] == 20
    facts = fitted_facts(WithAttributes())
    assert facts.pop("extra") == {} and set(facts.values()) == {None}


class RecordsArguments(BaseEstimator):
    """An estimator that stores the arguments of fit."""

    def fit(self, X, y, groups=None, time=None, X_val=None, y_val=None):
        self.rows_, self.groups_, self.time_, self.y_val_ = len(X), groups, time, y_val
        return self


class EarlyStopping(BaseEstimator):
    """An estimator that accepts validation rows but no groups."""

    def fit(self, X, y, X_val=None, y_val=None):
        self.y_, self.y_val_ = y, y_val
        return self


def test_fit_receives_groups_times_and_validation_rows():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    groups, early, late = np.arange(50) // 5, np.arange(40), np.arange(40, 50)
    table = Table(X, y, "made", "regression", ["a", "b"], groups=groups)
    grouped = prepare(table, early, late)
    estimator = fit(RecordsArguments(), grouped, 0)
    np.testing.assert_array_equal(estimator.groups_, groups[:40])
    shared = prepare(table, np.arange(0, 50, 2), np.arange(1, 50, 2))
    estimator = fit(RecordsArguments(), shared, 0)
    assert estimator.groups_ is None and estimator.rows_ == 25
    estimator = fit(
        EarlyStopping(), grouped, 0
    )  # two of eight groups; y is the row number
    assert {*groups[estimator.y_.astype(int)]}.isdisjoint(
        groups[estimator.y_val_.astype(int)]
    )
    assert len(estimator.y_val_) == 10 and len(estimator.y_) == 30
    table = Table(X, y, "made", "regression", ["a", "b"], times=np.arange(50))
    later = prepare(table, early, late)
    estimator = fit(RecordsArguments(), later, 0)
    assert estimator.rows_ == 40 and estimator.time_.tolist() == list(range(40))
    estimator = fit(EarlyStopping(), later, 0)
    assert len(estimator.y_) == 32 and estimator.y_val_.tolist() == list(range(32, 40))
    estimator = fit(SVR(), later, 0)
    assert estimator.n_features_in_ == 2


def test_validation_rows_only_for_methods_that_use_them():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    table = Table(X, y, "made", "regression", ["a", "b"], times=np.arange(50))
    later = prepare(table, np.arange(40), np.arange(40, 50))
    boosting = HistGradientBoostingRegressor(max_iter=2, random_state=0)
    expected = clone(boosting).fit(later.X_train, later.y_fit).predict(X)
    for validates_from in (None, 41):
        estimator = fit(clone(boosting), later, validates_from)
        np.testing.assert_array_equal(estimator.predict(X), expected)
    assert (fit(clone(boosting), later, 40).predict(X) != expected).any()


def test_validates_at_random():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    fields = {"name": "made", "task": "regression", "feature_names": ["a", "b"]}
    parts = np.arange(40), np.arange(40, 50)
    grouped = prepare(Table(X, y, **fields, groups=np.arange(50) // 5), *parts)
    later = prepare(Table(X, y, **fields, times=np.arange(50)), *parts)
    at_random = prepare(Table(X, y, **fields), *parts)
    for data in (grouped, later):
        assert validates_at_random(SVR(), data, 0)
        assert not validates_at_random(SVR(), data, None)
        assert not validates_at_random(SVR(), data, 41)
        assert not validates_at_random(EarlyStopping(), data, 0)
    assert not validates_at_random(SVR(), at_random, 0)

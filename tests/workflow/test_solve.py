"""A record says what the fit did, and equals a computation by hand."""

import json
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
from adakern_bench.data import Table
from adakern_bench.records.prepare import prepare
from adakern_bench.records.solve import (
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


def params(**more):
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
    """``job(...)`` solves the repeats 3 and 4 and returns their records."""
    X, y = make_clowns(n=80, random_state=1)[:2]
    table = Table(np.asarray(X), np.asarray(y), "clowns", "classification", ["a", "b"])
    table.save(tmp_path / "table.npz")
    even, odd = np.arange(0, 80, 2), np.arange(1, 80, 2)
    np.savez(tmp_path / "split.npz", train_3=even, test_3=odd, train_4=odd, test_4=even)

    def job(identity=IDENTITY, **more):
        told = {"identity": identity, "described": DESCRIBED}
        run_fits("solve", job.inputs, job.outputs, fit=params(**more), **told)
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
def test_a_damaged_input_is_no_failure_of_the_method(job, damaged):
    records, path = job(), job.inputs[damaged]
    whole = path.read_bytes()
    for content in (whole[:-60], whole[:200] + b"????" + whole[204:]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{path.name} is incomplete"):
            job()
    path.write_bytes(whole)
    assert [r["status"] for r in job()] == [r["status"] for r in records]


def test_record_equals_a_computation_by_hand(job):
    table, records = job.table, job()
    assert [r["repeat"] for r in records] == [3, 4] and [
        r["seed"] for r in records
    ] == [13, 14]
    for record, first in zip(records, (0, 1), strict=True):
        train, test = slice(first, None, 2), slice(1 - first, None, 2)
        model = make_pipeline(MinMaxScaler(), SVC(gamma=2.0))
        model.fit(table.X[train], table.y[train])
        for part, rows in (("train", train), ("test", test)):
            by_hand = accuracy_score(table.y[rows], model.predict(table.X[rows]))
            assert record["metrics"][part]["accuracy"] == by_hand
        by_hand = roc_auc_score(table.y[test], model.decision_function(table.X[test]))
        assert record["metrics"]["test"]["auc"] == pytest.approx(by_hand)
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
def test_a_model_that_is_kept_predicts_as_it_did(job, name):
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


def test_a_model_that_cannot_be_kept_is_a_warning(job, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # which no record names
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


def test_best_parameters_of_the_same_repeat_are_used_and_fixed_ones_beat_them(
    job, tmp_path
):
    job.inputs["search"] = [tmp_path / "search.json"]
    best = [{"repeat": r, "best_params": {"C": float(r), "gamma": 9.0}} for r in (4, 3)]
    write_json(
        tmp_path / "search.json",
        [{"status": "ok", "reason": None} | one for one in best],
    )
    for repeat, record in zip((3, 4), job(), strict=True):
        assert (record["params"]["C"], record["params"]["gamma"]) == (repeat, 2.0)


def test_a_lost_search_is_a_lost_solve(job, tmp_path):
    job.inputs["search"] = [tmp_path / "search.json"]
    lost = {"status": "timeout", "reason": "too long", "best_params": None}
    write_json(
        tmp_path / "search.json", [lost | {"repeat": repeat} for repeat in (3, 4)]
    )
    assert {(r["status"], r["reason"]) for r in job()} == {
        ("timeout", "search: too long")
    }


def test_a_repeat_is_kept_by_what_it_depends_on(job, tmp_path):
    """Another batch, or another experiment, holds it: its time says when it was run."""

    def solve(file, **more):
        job.outputs["record"] = tmp_path / "results" / file
        return job(**more)

    first = solve("a/records/clowns/svm/3-4.json")
    assert [r["key"] for r in first] != [first[0]["key"]] * 2
    kept = solve("b/records/clowns/svm/3-4.json", identity=IDENTITY | {"method": "m"})
    assert kept == [record | {"method": "m"} for record in first]

    # Other rows of one repeat, another parameter, table or version of the code.
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

    # Snakemake was told to force it: once.
    job.outputs["record"].with_suffix(".again").touch()
    (forced,) = job()
    assert forced["key"] == again["key"]
    assert forced["started_at"] > again["started_at"]
    assert job() == [forced]


def test_failures_are_records_with_every_field(job):
    whole, _ = job()
    failed, _ = job(estimator={"_target_": "sklearn.svm.SVC", "C": -1})
    assert set(failed) == set(whole) and failed["status"] == "failed"
    assert "'C' parameter of SVC" in failed["reason"]
    assert failed["metrics"] == {"train": {}, "test": {}}


def test_non_convergence_is_in_the_record(job):
    record, _ = job(estimator={"_target_": "sklearn.svm.SVC", "max_iter": 2})
    assert record["converged"] is False
    assert any("ConvergenceWarning" in warning for warning in record["warnings"])


def test_a_record_names_the_defaults_of_the_flagship(job):
    estimator = {"_target_": "adakern.AdaptiveKernelClassifier", "preset": "fast"}
    versions = {
        record["extra"]["defaults_version"] for record in job(estimator=estimator)
    }
    assert versions == {DEFAULTS_VERSION["classifier"]}


def test_regression_metrics_are_in_the_targets_units(job):
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


class Told(ClassifierMixin, BaseEstimator):
    """Carries whatever fitted attributes a test gives it."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_fitted_facts():
    told = {"rank_": [3, 5], "support_": [np.array([0, 1]), np.array([1, 4])]}
    told |= {"n_iter_": np.array([7, 9]), "objective_": [1.0, 2.5]}
    told |= {"duality_gap_": np.float64(1e-5)}
    told |= {"record_": {"profile": "laplacian", "width": np.float32(2)}}
    facts = fitted_facts(Told(**told))
    extra = {"profile": "laplacian", "width": 2.0}
    numbers = {
        "rank": 5,
        "n_support": 3,
        "n_iter": 9,
        "objective": 3.5,
        "duality_gap": 1e-5,
    }
    assert json.loads(json.dumps(facts)) == numbers | {"extra": extra}

    # LightGBM keeps the name of its loss in ``objective_``.
    facts = fitted_facts(Told(objective_="binary", n_iter_=20))
    assert facts["objective"] is None and facts["n_iter"] == 20
    facts = fitted_facts(Told())
    assert facts.pop("extra") == {} and set(facts.values()) == {None}


class Given(BaseEstimator):
    """An estimator that keeps what its fit was given."""

    def fit(self, X, y, groups=None, time=None, X_val=None, y_val=None):
        self.rows_, self.groups_, self.time_, self.y_val_ = len(X), groups, time, y_val
        return self


class Stopped(BaseEstimator):
    """One that can be given rows to stop by, and no groups."""

    def fit(self, X, y, X_val=None, y_val=None):
        self.y_, self.y_val_ = y, y_val
        return self


def test_a_fit_is_told_of_groups_and_later_rows_where_the_test_part_is_apart():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    groups, early, late = np.arange(50) // 5, np.arange(40), np.arange(40, 50)
    table = Table(X, y, "made", "regression", ["a", "b"], groups=groups)
    of_groups = prepare(table, early, late)
    told = fit(Given(), of_groups, 0)
    np.testing.assert_array_equal(told.groups_, groups[:40])
    shared = prepare(table, np.arange(0, 50, 2), np.arange(1, 50, 2))
    told = fit(Given(), shared, 0)
    assert told.groups_ is None and told.rows_ == 25
    told = fit(Stopped(), of_groups, 0)  # two of eight groups; rows are their targets
    assert {*groups[told.y_.astype(int)]}.isdisjoint(groups[told.y_val_.astype(int)])
    assert len(told.y_val_) == 10 and len(told.y_) == 30
    table = Table(X, y, "made", "regression", ["a", "b"], moments=np.arange(50))
    later = prepare(table, early, late)
    told = fit(Given(), later, 0)
    assert told.rows_ == 40 and told.time_.tolist() == list(range(40))
    told = fit(Stopped(), later, 0)
    assert len(told.y_) == 32 and told.y_val_.tolist() == list(range(32, 40))
    told = fit(SVR(), later, 0)
    assert told.n_features_in_ == 2


def test_rows_are_set_aside_for_those_alone_that_choose_something_by_them():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    table = Table(X, y, "made", "regression", ["a", "b"], moments=np.arange(50))
    later = prepare(table, np.arange(40), np.arange(40, 50))
    boosting = HistGradientBoostingRegressor(max_iter=2, random_state=0)
    found = clone(boosting).fit(later.X_train, later.y_fit).predict(X)
    for validates_from in (None, 41):
        told = fit(clone(boosting), later, validates_from)
        np.testing.assert_array_equal(told.predict(X), found)
    assert (fit(clone(boosting), later, 40).predict(X) != found).any()


def test_who_validates_otherwise_than_it_is_judged_is_told():
    X, y = np.random.default_rng(0).normal(size=(50, 2)), np.arange(50.0)
    named = {"name": "made", "task": "regression", "feature_names": ["a", "b"]}
    parts = np.arange(40), np.arange(40, 50)
    of_groups = prepare(Table(X, y, **named, groups=np.arange(50) // 5), *parts)
    later = prepare(Table(X, y, **named, moments=np.arange(50)), *parts)
    at_random = prepare(Table(X, y, **named), *parts)
    for data in (of_groups, later):
        assert validates_at_random(SVR(), data, 0)
        assert not validates_at_random(SVR(), data, None)
        assert not validates_at_random(SVR(), data, 41)
        assert not validates_at_random(Stopped(), data, 0)
    assert not validates_at_random(SVR(), at_random, 0)

"""A record says what the fit did, and equals a computation by hand."""

import json
from functools import partial
from importlib.metadata import version

import mlflow.sklearn
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score, mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR

from adakern._utils.files import read_json, write_json
from adakern.adaptive import DEFAULTS_VERSION
from adakern.datasets import make_clowns
from adakern_bench.data import Table
from adakern_bench.records.solve import fitted_facts
from script import run_fits

IDENTITY = {"experiment": "small", "dataset": "clowns", "method": "svm", "task": "classification"}


def params(**more):
    defaults = {
        "identity": IDENTITY,
        "estimator": {"_target_": "sklearn.svm.SVC", "gamma": 2.0},
        "fixed": ["gamma"],
        "preparation": {"scale": "unit"},
        "seed": 10,
        "threads": 1,
        "code": "abc",
        "described": {"protocol": {"kind": "holdout"}, "search": None},
    }
    return defaults | more


run = partial(run_fits, "solve")


@pytest.fixture
def job(tmp_path):
    X, y = make_clowns(n=80, random_state=1)[:2]
    table = Table(np.asarray(X), np.asarray(y), "clowns", "classification", ["a", "b"])
    table.save(tmp_path / "table.npz")
    rows = np.arange(80)
    np.savez(
        tmp_path / "split.npz",
        train_3=rows[::2],
        test_3=rows[1::2],
        train_4=rows[1::2],
        test_4=rows[::2],
    )
    inputs = {"table": tmp_path / "table.npz", "split": tmp_path / "split.npz"}
    inputs["search"] = []
    return table, inputs, {"record": tmp_path / "3-4.json"}


def test_record_equals_a_computation_by_hand(job):
    table, inputs, outputs = job
    run(inputs, outputs, params())
    records = read_json(outputs["record"])
    assert [r["repeat"] for r in records] == [3, 4]
    assert [r["seed"] for r in records] == [13, 14]
    for record, first in zip(records, (0, 1), strict=True):
        train, test = slice(first, None, 2), slice(1 - first, None, 2)
        model = make_pipeline(MinMaxScaler(), SVC(gamma=2.0))
        model.fit(table.X[train], table.y[train])
        for part, rows in (("train", train), ("test", test)):
            by_hand = accuracy_score(table.y[rows], model.predict(table.X[rows]))
            assert record["metrics"][part]["accuracy"] == by_hand
        assert record["n_support"] == model[-1].n_support_.sum()
        assert record["params"]["gamma"] == 2.0
        assert record["status"] == "ok" and record["reason"] is None
        assert record["converged"] is True
        assert (record["n_train"], record["n_test"], record["n_features"]) == (40, 40, 2)
        assert record["fit_seconds"] > 0 and record["peak_memory_bytes"] >= 0
        assert record["code_version"] == "abc"
        assert record["versions"]["lightgbm"] == version("lightgbm")
        assert record | IDENTITY == record


@pytest.mark.parametrize(
    "estimator",
    [
        {"_target_": "sklearn.svm.SVC", "gamma": 2.0},
        {"_target_": "adakern.DANKClassifier", "gamma": 2.0},
        {"_target_": "adakern.KNPLClassifier", "gamma": 2.0},
    ],
)
def test_a_model_that_is_kept_predicts_as_it_did(job, estimator):
    table, inputs, outputs = job
    outputs["models"] = outputs["record"].with_name("models")
    run(inputs, outputs, params(estimator=estimator))
    folder = outputs["models"] / "3"
    assert "model.skops" in (folder / "MLmodel").read_text()
    model = mlflow.sklearn.load_model(folder)
    rows = table.as_written(np.arange(1, len(table.X), 2))
    on_test = model.predict(rows)
    expected = read_json(outputs["record"])[0]["metrics"]["test"]["accuracy"]
    assert accuracy_score(table.y[1::2], on_test) == expected
    served = mlflow.pyfunc.load_model(str(folder))
    assert served.predict(rows.assign(more="x")).tolist() == on_test.tolist()
    assert served.metadata.get_input_schema().input_names() == table.feature_names


def test_a_model_that_cannot_be_kept_is_a_warning(job):
    _, inputs, outputs = job
    outputs["models"] = outputs["record"].with_name("models")
    (outputs["models"] / "3" / "in the way").mkdir(parents=True)
    run(inputs, outputs, params())
    first, second = read_json(outputs["record"])
    assert first["status"] == "ok" and first["metrics"]["test"]["accuracy"] > 0
    assert any("the model was not kept" in w for w in first["warnings"])
    assert not (outputs["models"] / "3").exists()
    assert second["warnings"] == [] and (outputs["models"] / "4" / "MLmodel").exists()


def searched(job, *found):
    """Records of the repeats 3 and 4 after these searches."""
    _, inputs, outputs = job
    inputs["search"] = [outputs["record"].with_name("search.json")]
    write_json(inputs["search"][0], [{"status": "ok", "reason": None} | one for one in found])
    run(inputs, outputs, params())
    return read_json(outputs["record"])


def test_best_parameters_of_the_same_repeat_are_used_and_fixed_ones_beat_them(job):
    best = [{"repeat": r, "best_params": {"C": float(r), "gamma": 9.0}} for r in (4, 3)]
    for repeat, record in zip((3, 4), searched(job, *best), strict=True):
        assert (record["params"]["C"], record["params"]["gamma"]) == (repeat, 2.0)


def test_a_lost_search_is_a_lost_solve(job):
    lost = {"status": "timeout", "reason": "too long", "best_params": None}
    for record in searched(job, lost | {"repeat": 3}, lost | {"repeat": 4}):
        assert (record["status"], record["reason"]) == ("timeout", "search: too long")


def test_failures_are_records_with_every_field(job):
    _, inputs, outputs = job
    run(inputs, outputs, params())
    whole = read_json(outputs["record"])[0]
    run(inputs, outputs, params(estimator={"_target_": "sklearn.svm.SVC", "C": -1}))
    failed = read_json(outputs["record"])[0]
    assert set(failed) == set(whole)
    assert failed["status"] == "failed"
    assert "'C' parameter of SVC" in failed["reason"]
    assert failed["metrics"] == {"train": {}, "test": {}}


def test_non_convergence_is_in_the_record(job):
    _, inputs, outputs = job
    estimator = {"_target_": "sklearn.svm.SVC", "max_iter": 2}
    run(inputs, outputs, params(estimator=estimator))
    record = read_json(outputs["record"])[0]
    assert record["converged"] is False
    assert any("ConvergenceWarning" in warning for warning in record["warnings"])


def test_a_record_names_the_defaults_of_the_flagship(job):
    _, inputs, outputs = job
    estimator = {"_target_": "adakern.AdaptiveKernelClassifier", "preset": "fast"}
    run(inputs, outputs, params(estimator=estimator))
    versions = {record["extra"]["defaults_version"] for record in read_json(outputs["record"])}
    assert versions == {DEFAULTS_VERSION}


def test_regression_metrics_are_in_the_targets_units(job, tmp_path):
    table, inputs, outputs = job
    y = 1000 + 50 * table.X[:, 0]
    Table(table.X, y, "line", "regression", ["a", "b"]).save(inputs["table"])
    run(
        inputs,
        outputs,
        params(
            identity=IDENTITY | {"task": "regression"},
            estimator={"_target_": "sklearn.svm.SVR", "C": 10.0},
            preparation={"scale": "unit", "scale_target": "standard"},
        ),
    )
    record = read_json(outputs["record"])[0]
    train, test = slice(0, None, 2), slice(1, None, 2)
    scaler = MinMaxScaler().fit(table.X[train])
    mean, std = y[train].mean(), y[train].std()
    model = SVR(C=10.0).fit(scaler.transform(table.X[train]), (y[train] - mean) / std)
    predicted = model.predict(scaler.transform(table.X[test])) * std + mean
    expected = mean_squared_error(y[test], predicted) / y[test].var()
    assert record["metrics"]["test"]["relative_mse"] == pytest.approx(expected)


class Told(ClassifierMixin, BaseEstimator):
    """Carries whatever fitted attributes a test gives it."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


def test_fitted_facts():
    facts = fitted_facts(
        Told(
            rank_=[3, 5],
            support_=[np.array([0, 1]), np.array([1, 4])],
            n_iter_=np.array([7, 9]),
            objective_=[1.0, 2.5],
            duality_gap_=np.float64(1e-5),
            record_={"profile": "laplacian", "width": np.float32(2)},
        )
    )
    assert facts == {
        "rank": 5,
        "n_support": 3,
        "n_iter": 9,
        "objective": 3.5,
        "duality_gap": 1e-5,
        "extra": {"profile": "laplacian", "width": 2.0},
    }
    json.dumps(facts)

    # LightGBM keeps the name of its loss in ``objective_``.
    facts = fitted_facts(Told(objective_="binary", n_iter_=20))
    assert facts["objective"] is None and facts["n_iter"] == 20
    facts = fitted_facts(Told())
    assert facts.pop("extra") == {}
    assert set(facts.values()) == {None}

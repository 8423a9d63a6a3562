"""Scaling and clipping use statistics of the training part only."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from adakern.tables.encoding import most_categories
from adakern_bench.config.estimators import make_estimator
from adakern_bench.config.plan import load_plan
from adakern_bench.data.table import Table
from adakern_bench.records.prepare import prepare

RNG = np.random.default_rng(0)
TRAIN, TEST = np.arange(0, 60), np.arange(60, 90)


def make_table(task="regression"):
    X = RNG.normal(size=(90, 3)) * [1, 50, 0.01] + [0, 7, 1]
    return Table(X, RNG.normal(3, 9, size=90), "made", task, ["a", "b", "c"])


SCALERS = {
    "unit": MinMaxScaler(),
    "symmetric": MinMaxScaler((-1, 1)),
    "standard": StandardScaler(),
}


@pytest.mark.parametrize(("scale", "scaler"), SCALERS.items())
@pytest.mark.parametrize(("fit", "rows"), [("train", TRAIN), ("all", slice(None))])
def test_scaling_equals_scikit_learn(scale, scaler, fit, rows):
    data = make_table()
    prepared = prepare(data, TRAIN, TEST, scale=scale, scale_fit=fit)
    scaler.fit(data.X[rows])
    np.testing.assert_array_equal(prepared.X_train, scaler.transform(data.X[TRAIN]))
    np.testing.assert_array_equal(prepared.X_test, scaler.transform(data.X[TEST]))


@pytest.mark.parametrize("scale", ["unit", "symmetric", "standard", "none"])
@pytest.mark.parametrize("clip", [None, [2.0, 98.0]])
@pytest.mark.parametrize("target", ["none", "standard"])
def test_preparation_does_not_leak_test_rows(scale, clip, target):
    """The training part and the fitted target do not depend on the test rows."""
    data = make_table()
    settings = {"scale": scale, "clip": clip, "scale_target": target}
    before = prepare(data, TRAIN, TEST, **settings)
    data.X[TEST] *= 1000
    data.y[TEST] += 1000
    after = prepare(data, TRAIN, TEST, **settings)
    np.testing.assert_array_equal(before.X_train, after.X_train)
    np.testing.assert_array_equal(before.y_fit, after.y_fit)


def test_clip_at_percentiles_of_training_part():
    data = make_table()
    data.X[0, 0], data.X[70, 0] = 1e9, -1e9
    prepared = prepare(data, TRAIN, TEST, scale="none", clip=(5, 95))
    low, high = np.percentile(data.X[TRAIN], (5, 95), axis=0)
    np.testing.assert_array_equal(prepared.X_train, data.X[TRAIN].clip(low, high))
    np.testing.assert_array_equal(prepared.X_test, data.X[TEST].clip(low, high))
    assert data.X[0, 0] == 1e9, "the table itself is left alone"


@settings(max_examples=30)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_target_scaling_is_inverted_by_restore(centre, spread):
    data = make_table()
    data.y = RNG.normal(centre, spread, size=90)
    prepared = prepare(data, TRAIN, TEST, scale_target="standard")
    assert abs(prepared.y_fit.mean()) < 1e-6
    np.testing.assert_allclose(prepared.y_fit.std(), 1)
    np.testing.assert_allclose(prepared.restore(prepared.y_fit), prepared.y_train)
    np.testing.assert_array_equal(prepared.y_test, data.y[TEST])


def test_constant_target_and_labels_are_unchanged():
    data = make_table()
    data.y = np.full(90, 4.0)
    prepared = prepare(data, TRAIN, TEST, scale_target="standard")
    np.testing.assert_array_equal(prepared.y_fit, 0)
    np.testing.assert_array_equal(prepared.restore(prepared.y_fit), 4)
    labelled = make_table("classification")
    labelled.y = np.array(["no", "yes"] * 45)
    prepared = prepare(labelled, TRAIN, TEST, scale_target="standard")
    assert prepared.restore(prepared.y_fit).tolist() == labelled.y[TRAIN].tolist()


def make_mixed_table(n=90):
    """A table whose target depends on a category, with missing values."""
    pytest.importorskip("pandas")
    city = RNG.integers(0, 6, size=n).astype(float)
    y = np.array([3.0, 0, 5, 1, 4, 2])[city.astype(int)] + RNG.normal(0, 0.1, size=n)
    number, city[4:60:9] = RNG.normal(size=n), np.nan
    number[3:60:9] = np.nan
    days = np.arange(18_000.0, 18_000.0 + n)
    kinds = {"number [m]": "numeric", "city": "categorical", "day": "date"}
    X = np.c_[number, city, days]
    known = {"city": [f"city {k}" for k in range(6)]}
    return Table(X, y, "made", "regression", list(kinds), categories=known, kinds=kinds)


def test_categories_come_from_training_part():
    table = make_mixed_table()
    before = prepare(table, TRAIN, TEST, scale="standard", max_categories=10)
    table.X[TEST, 0] *= 1000
    table.X[TEST[1], 1] = np.nan
    table.categories["city"].append("city of the test part")
    table.X[TEST[0], 1] = 6
    after = prepare(table, TRAIN, TEST, scale="standard", max_categories=10)
    assert before.X_train.equals(after.X_train)
    city = after.X_test["x0"]
    assert city.dtype == "category" and list(city.cat.categories) == list(range(6))
    assert city[TEST[:2]].isna().all() and city[TEST[2:]].notna().all()
    assert after.X_train["x0"].isna().sum() == after.X_train["x1"].isna().sum() == 7
    assert after.X_train["x2"].tolist() == table.X[TRAIN, 2].tolist()  # unscaled
    np.testing.assert_array_equal(after.y_fit, table.y[TRAIN])


def test_rare_categories_are_merged():
    table = make_mixed_table()
    data = prepare(table, TRAIN, TEST, max_categories=3)
    counts = np.bincount(table.X[TRAIN, 1][~np.isnan(table.X[TRAIN, 1])].astype(int))
    value_counts = data.X_train["x0"].value_counts()
    assert sorted(value_counts) == sorted(
        [*np.sort(counts)[-2:], np.sort(counts)[:-2].sum()]
    )
    assert len(data.X_train["x0"].cat.categories) == 3


@pytest.mark.parametrize("name", ["boosting-default", "lightgbm-default", "lightgbm"])
def test_boosting_learns_from_categories(name):
    """In the workflow and on the command line, which reads the limit from the class."""
    pytest.importorskip("lightgbm")
    plan = load_plan(["experiment=compare", f"method=[{name}]", "name=mine"])
    kept = plan.config.method[name].max_categories
    estimator = make_estimator(plan.config.method[name].regressor.estimator, seed=0)
    assert most_categories(estimator) == kept
    rows = np.arange(300)
    data = prepare(make_mixed_table(300), rows[:200], rows[200:], max_categories=kept)
    predicted = estimator.fit(data.X_train, data.y_fit).predict(data.X_test)
    relative_error = np.mean((predicted - data.y_test) ** 2) / data.y_test.var()
    assert relative_error < 0.2

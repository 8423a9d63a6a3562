"""Scaling and clipping: statistics of the training part, never of the test part."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from adakern_bench.data import Table
from adakern_bench.records.prepare import prepare

RNG = np.random.default_rng(0)
TRAIN, TEST = np.arange(0, 60), np.arange(60, 90)


def table(task="regression"):
    X = RNG.normal(size=(90, 3)) * [1, 50, 0.01] + [0, 7, 1]
    return Table(X, RNG.normal(3, 9, size=90), "made", task, ["a", "b", "c"])


SCALERS = {
    "unit": MinMaxScaler(),
    "symmetric": MinMaxScaler((-1, 1)),
    "standard": StandardScaler(),
}


@pytest.mark.parametrize(("scale", "scaler"), SCALERS.items())
@pytest.mark.parametrize(("fit", "rows"), [("train", TRAIN), ("all", slice(None))])
def test_scaling_is_that_of_scikit_learn(scale, scaler, fit, rows):
    data = table()
    prepared = prepare(data, TRAIN, TEST, scale=scale, scale_fit=fit)
    scaler.fit(data.X[rows])
    np.testing.assert_array_equal(prepared.X_train, scaler.transform(data.X[TRAIN]))
    np.testing.assert_array_equal(prepared.X_test, scaler.transform(data.X[TEST]))


@pytest.mark.parametrize("scale", ["unit", "symmetric", "standard", "none"])
@pytest.mark.parametrize("clip", [None, [2.0, 98.0]])
@pytest.mark.parametrize("target", ["none", "standard"])
def test_no_leak(scale, clip, target):
    """The training part and the fitted target do not see the test rows."""
    data = table()
    settings = {"scale": scale, "clip": clip, "scale_target": target}
    before = prepare(data, TRAIN, TEST, **settings)
    data.X[TEST] *= 1000
    data.y[TEST] += 1000
    after = prepare(data, TRAIN, TEST, **settings)
    np.testing.assert_array_equal(before.X_train, after.X_train)
    np.testing.assert_array_equal(before.y_fit, after.y_fit)


def test_clipping_at_percentiles_of_the_training_part():
    data = table()
    data.X[0, 0], data.X[70, 0] = 1e9, -1e9
    prepared = prepare(data, TRAIN, TEST, scale="none", clip=(5, 95))
    low, high = np.percentile(data.X[TRAIN], (5, 95), axis=0)
    np.testing.assert_array_equal(prepared.X_train, data.X[TRAIN].clip(low, high))
    np.testing.assert_array_equal(prepared.X_test, data.X[TEST].clip(low, high))
    assert data.X[0, 0] == 1e9, "the table itself is left alone"


@settings(max_examples=30)
@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_target_goes_to_standard_units_and_back(centre, spread):
    data = table()
    data.y = RNG.normal(centre, spread, size=90)
    prepared = prepare(data, TRAIN, TEST, scale_target="standard")
    assert abs(prepared.y_fit.mean()) < 1e-6
    np.testing.assert_allclose(prepared.y_fit.std(), 1)
    np.testing.assert_allclose(prepared.restore(prepared.y_fit), prepared.y_train)
    np.testing.assert_array_equal(prepared.y_test, data.y[TEST])


def test_constant_target_and_labels_pass_unchanged():
    data = table()
    data.y = np.full(90, 4.0)
    prepared = prepare(data, TRAIN, TEST, scale_target="standard")
    np.testing.assert_array_equal(prepared.y_fit, 0)
    np.testing.assert_array_equal(prepared.restore(prepared.y_fit), 4)
    labelled = table("classification")
    labelled.y = np.array(["no", "yes"] * 45)
    prepared = prepare(labelled, TRAIN, TEST, scale_target="standard")
    assert prepared.restore(prepared.y_fit).tolist() == labelled.y[TRAIN].tolist()

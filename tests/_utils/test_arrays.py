"""Estimators accept arrays of any library and return arrays of the same library."""

import importlib

import numpy as np
import pytest
from array_api_compat import array_namespace
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier

from adakern._utils.arrays import (
    as_index,
    as_numpy,
    asarray_like,
    output_like,
    validate_arrays,
)
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.lab import LABRBFRegressor
from devices import put


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    return pytest.importorskip(request.param)


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, size=(60, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1]


def library_name(array):
    """Name of the library of an array."""
    return importlib.import_module(type(array).__module__.split(".")[0]).__name__


ESTIMATORS = [
    DANKRegressor(),
    DANKRegressor(strategy="decomposed", n_clusters=2, random_state=0),
    DANKRegressor(strategy="whole"),
    DANKClassifier(),
    DANKClassifier(strategy="decomposed", n_clusters=2, random_state=0),
    DANKClassifier(strategy="whole", n_clusters=2, random_state=0),
    LABRBFRegressor(max_support=10, max_iter=2, random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.filterwarnings("ignore:.*max_iter", "ignore:.*held out no better")
def test_estimators_return_arrays_of_the_input_library(estimator, xp, data):
    X, y = data
    if is_classifier(estimator):
        y = np.digitize(y, [-0.5, 0.5])
    A, b = put(xp, X), put(xp, y)
    expected = estimator.fit(X, y).predict(X)
    predicted = estimator.fit(A, b).predict(A)
    assert library_name(predicted) == xp.__name__
    same = np.isclose(as_numpy(predicted), expected, atol=1e-3)
    assert same.mean() > 0.95 if is_classifier(estimator) else same.all()
    assert isinstance(estimator.predict(X), np.ndarray)
    if is_classifier(estimator):
        assert library_name(estimator.decision_function(A)) == xp.__name__
        labels = np.array(["low", "middle", "high"])[y]
        assert estimator.fit(A, labels).predict(A).dtype.kind == "U"
    else:
        assert_allclose(estimator.fit(A, y).predict(X), expected, atol=1e-3)


def test_conversions_keep_library_type_and_values(xp, data):
    X, _ = data
    array = put(xp, X.astype(np.float32))
    assert_array_equal(as_numpy(array), X.astype(np.float32))
    for other in (X, put(xp, X)):
        converted = asarray_like(other, array)
        assert library_name(converted) == xp.__name__
        assert converted.dtype == xp.float32
    assert isinstance(asarray_like(array, X), np.ndarray)
    index = as_index(np.array([2, 0]), array)
    taken = array_namespace(array).take(array, index, axis=0)
    assert_array_equal(as_numpy(taken), as_numpy(array)[[2, 0]])
    assert output_like(np.array(["a"]), array).dtype.kind == "U"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X * float("nan"), y), "X contains NaN or infinity"),
        (lambda X, y: (y, y), "1 dimensions"),
        (lambda X, y: (X[:0, :], y[:0]), "X is empty"),
        (lambda X, y: (X, y[:4]), r"inconsistent numbers of samples: \[5, 4\]"),
        (lambda X, y: (X, y * float("nan")), "y contains NaN"),
        (lambda X, y: (X * 1e30, y), "X must not exceed 1e[+]15 .*got 1e[+]30"),
        (lambda X, y: (X, y * 1e30 * 1e30 * 1e30), "y must not exceed .* got 1e[+]90"),
        (lambda X, y: (X + 1j * X, y), "X must be real"),
    ],
)
def test_invalid_arrays_raise(xp, change, message):
    X, y = xp.ones((5, 2), dtype=xp.float32), xp.ones(5, dtype=xp.float64)
    with pytest.raises(ValueError, match=message):
        DANKRegressor().fit(*change(X, y))
    with pytest.raises(ValueError, match=r"C=1e\+80 of DANKRegressor must be"):
        DANKRegressor(C=1e80).fit(X, y)


def test_validate_arrays_checks_features_and_converts_integers(xp, data):
    X, y = data
    estimator = DANKRegressor()
    dtype = getattr(xp, "float16", xp.int64)  # half precision if the library has it
    rows, target = validate_arrays(estimator, xp.ones((5, 2), dtype=dtype), y[:5])
    assert rows.dtype == xp.float64
    assert isinstance(target, np.ndarray)
    with pytest.raises(ValueError, match="has 3 features, but DANKRegressor is exp"):
        validate_arrays(estimator, xp.asarray(X))

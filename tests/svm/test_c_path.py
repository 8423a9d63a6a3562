"""Models that need no fit are the models that a fit finds."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from adakern.svm.c_path import is_constant_above, saturated_classes, scaled_to


def model(K, y, C):
    return SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_decisions_of_a_saturated_model_scale_with_C(load, n_classes):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)[y < n_classes][3:]  # classes of unequal size
    y = y[y < n_classes][3:]
    K = rbf_kernel(X, gamma=0.1)
    fitted = model(K, y, 0.01)
    saturated = saturated_classes(fitted, np.bincount(y))
    assert not np.isnan(saturated).any()
    scaled, expected = scaled_to(fitted, 0.002, saturated), model(K, y, 0.002)
    for fit in (scaled, expected):
        fit.decision_function_shape = "ovo"
    np.testing.assert_allclose(
        scaled.decision_function(K), expected.decision_function(K), atol=1e-7
    )


def test_which_class_is_saturated():
    K = np.eye(9)
    y = np.array([0] * 2 + [1] * 4 + [2] * 3)
    signs = saturated_classes(model(K, y, 0.01), np.array([2, 4, 3]))
    np.testing.assert_array_equal(signs, [1, 1, -1])
    both = saturated_classes(model(np.eye(4), [0, 0, 1, 1], 0.01), np.array([2, 2]))
    np.testing.assert_array_equal(both, [0])
    neither = saturated_classes(model(K, y, 100.0), np.array([2, 4, 3]))
    assert np.isnan(neither).all()


def test_a_model_without_active_bounds_stays():
    X, y = load_iris(return_X_y=True)
    K = rbf_kernel(X[:100], gamma=0.5)  # two classes that can be told apart
    small, large, larger = (model(K, y[:100], C) for C in (1e-3, 100.0, 1e4))
    assert is_constant_above(large) and not is_constant_above(small)
    np.testing.assert_allclose(large.dual_coef_, larger.dual_coef_, atol=1e-6)

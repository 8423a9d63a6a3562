"""Models that need no fit are the models that a fit finds."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from adakern.svm.c_path import is_constant_above, saturated_classes, scaled_to


def model(K, y, C):
    return SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)


def objective(K, y, fitted, pair):
    """The dual objective of one pair of classes, from LIBSVM's variables."""
    starts = np.r_[0, np.cumsum(fitted.n_support_)]
    first, second = pair
    blocks = [slice(starts[c], starts[c + 1]) for c in pair]
    d = np.r_[fitted.dual_coef_[second - 1, blocks[0]], fitted.dual_coef_[first, blocks[1]]]
    rows = np.r_[fitted.support_[blocks[0]], fitted.support_[blocks[1]]]
    return np.abs(d).sum() - d @ K[np.ix_(rows, rows)] @ d / 2


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(2, 12), min_size=2, max_size=4),
    ratio=st.floats(0.01, 1.0),
    gamma=st.sampled_from([0.01, 0.3, 3.0]),
)
def test_a_saturated_model_is_proportional_to_C(seed, sizes, ratio, gamma):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(y), 2)) + 0.3 * y[:, None]
    K = rbf_kernel(X, gamma=gamma)
    fitted = model(K, y, C=0.5)
    saturated = saturated_classes(fitted, np.array(sizes))
    assume(not np.isnan(saturated).any())
    scaled, expected = (scaled_to(fitted, 0.5 * ratio, saturated), model(K, y, 0.5 * ratio))
    n_pairs = len(saturated)
    for pair in zip(*np.triu_indices(len(sizes), 1), strict=True):
        assert objective(K, y, scaled, pair) == pytest.approx(
            objective(K, y, expected, pair), rel=1e-6
        )
    # The intercept is unique where a variable is inside its bounds.
    sizes_of_d = np.abs(expected.dual_coef_)
    if n_pairs == 1 and ((sizes_of_d > 1e-6) & (sizes_of_d < expected.C - 1e-6)).any():
        np.testing.assert_allclose(
            scaled.decision_function(K), expected.decision_function(K), atol=1e-6
        )


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_decisions_of_many_classes_scale_too(load):
    X, y = load(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[3:], y[3:]  # classes of unequal size
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

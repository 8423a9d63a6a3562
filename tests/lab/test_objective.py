"""The kernel, the loss and its gradient against dense definitions and differences."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize._numdiff import approx_derivative

from adakern._utils.resources import BLOCK_BYTES
from adakern.kernels import gram_matrix
from adakern.lab.kernel import PROFILES, lab_gram_matrix, profile_values
from adakern.lab.objective import InterpolationLoss


def make_problem(seed=0, S=6, n=25, d=3, shared=False):
    rng = np.random.default_rng(seed)
    X_s, X = rng.normal(size=(S, d)), rng.normal(size=(n, d))
    y_s, y = np.sin(X_s.sum(axis=1)), np.sin(X.sum(axis=1))
    theta = rng.uniform(0.4, 1.2, size=(1 if shared else S, d))
    return X_s, y_s, X, y, theta


def dense_kernel(T, X, theta, profile):
    differences = (T[:, None, :] - X[None]) * theta[None]
    D = (differences**2).sum(axis=2)
    return np.exp(-D) if profile == "gaussian" else np.exp(-np.sqrt(D))


def dense_loss(theta, X_s, y_s, X, y, alpha, profile, penalty):
    K_ss = dense_kernel(X_s, X_s, theta, profile)
    coef = np.linalg.solve(K_ss + alpha * np.eye(len(X_s)), y_s - y_s.mean())
    errors = dense_kernel(X, X_s, theta, profile) @ coef + y_s.mean() - y
    return np.mean(errors**2) + penalty * np.sum(coef**2)


@pytest.mark.parametrize("profile", PROFILES)
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), offset=st.sampled_from([0.0, 100.0]))
def test_kernel_matches_definition(profile, seed, offset):
    X_s, _, X, _, theta = make_problem(seed)
    expected = dense_kernel(X, X_s, theta, profile)
    K = lab_gram_matrix(X + offset, X_s + offset, theta, profile)
    assert_allclose(K, expected, atol=1e-6 if profile == "laplacian" else 1e-12)


@pytest.mark.parametrize(
    ("profile", "kernel", "power"),
    [("gaussian", "rbf", 2), ("laplacian", "l2-laplacian", 1)],
)
def test_equal_bandwidths_match_global_kernel(profile, kernel, power):
    X_s, _, X, _, _ = make_problem()
    K = lab_gram_matrix(X, X_s, np.full((1, 3), 0.6), profile)
    assert_allclose(K, gram_matrix(X, X_s, kernel=kernel, gamma=0.6**power), atol=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("profile", PROFILES)
def test_gradient_matches_finite_differences(profile, shared, penalty):
    X_s, y_s, X, y, theta = make_problem(shared=shared)
    # Points that coincide: a training row on a support point, two equal rows.
    X[3], X[5] = X_s[2], X[4]
    theta[0, 0] *= -1  # a step of a solver may leave a bandwidth negative
    loss = InterpolationLoss(
        X_s, y_s, X, y, alpha=1e-2, profile=profile, coef_penalty=penalty
    )
    value, gradient = loss.value_and_gradient(theta)
    arguments = (X_s, y_s, X, y, 1e-2, profile, penalty)
    assert_allclose(value, dense_loss(theta, *arguments), rtol=1e-6)
    shape = theta.shape
    slopes = approx_derivative(
        lambda t: dense_loss(t.reshape(shape), *arguments), theta.ravel()
    )
    expected = slopes.reshape(shape)
    assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("profile", PROFILES)
def test_array_api_libraries_agree(profile):
    arrays = make_problem()
    reference = InterpolationLoss(*arrays[:4], alpha=1e-2, profile=profile)
    value, gradient = reference.value_and_gradient(arrays[4])
    strict = [array_api_strict.asarray(a) for a in arrays]
    loss = InterpolationLoss(*strict[:4], alpha=1e-2, profile=profile)
    found, other = loss.value_and_gradient(strict[4])
    assert_allclose(found, value)
    assert_allclose(np.asarray(other), gradient, atol=1e-12 * np.abs(gradient).max())


def test_loss_independent_of_blocks_and_batches(monkeypatch):
    X_s, y_s, X, y, theta = make_problem(n=50)
    loss = InterpolationLoss(X_s, y_s, X, y, alpha=1e-2, profile="laplacian")
    value, gradient = loss.value_and_gradient(theta)
    halves = [loss.value_and_gradient(theta, np.arange(k, 50, 2)) for k in (0, 1)]
    assert_allclose(np.mean([v for v, _ in halves]), value)
    assert_allclose(sum(g for _, g in halves) / 2, gradient, atol=1e-12)
    monkeypatch.setattr(loss, "row_bytes", BLOCK_BYTES // 7)
    block_value, block_gradient = loss.value_and_gradient(theta)
    assert_allclose(block_value, value)
    assert_allclose(block_gradient, gradient, atol=1e-12)
    assert_allclose(loss.value(theta), value)


def test_unknown_profile_error():
    with pytest.raises(ValueError, match="'cauchy' is unknown; use one of gaussian"):
        profile_values(np.ones((1, 1)), "cauchy")

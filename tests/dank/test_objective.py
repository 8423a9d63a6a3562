"""The saddle function of DANK as the papers print it, and what follows from it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adakern.dank.objective import (
    best_factor,
    concave_value,
    duality_gap,
    saddle_gradient,
    saddle_value,
)
from adakern.kernels import gram_matrix
from adakern.svm.dual import classification_dual, regression_dual
from dank.oracle import solve_dank

N, C, ETA, EPSILON = 12, 2.0, 0.3, 0.1
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
K = gram_matrix(X, gamma=0.5)


@pytest.fixture(params=["classification", "regression"])
def dual(request):
    signal = X[:, 0] * X[:, 1]
    if request.param == "regression":
        return regression_dual(signal, C, EPSILON)
    return classification_dual(np.where(signal > 0, 1.0, -1.0), C)


@pytest.fixture
def u(dual):
    return dual.project(RNG.uniform(0, C, len(dual.signs)))


def test_value_is_that_of_problem_4():
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    alpha, F, tau = RNG.uniform(0, C, N), X @ X.T, 0.2
    value = sum(alpha)
    for i in range(N):
        for j in range(N):
            value -= alpha[i] * y[i] * F[i, j] * K[i, j] * y[j] * alpha[j] / 2
            value += ETA * (F[i, j] - 1) ** 2
    value += tau * ETA * np.linalg.svd(F)[1].sum()
    found = saddle_value(alpha, F, K, classification_dual(y, C), ETA, tau)
    assert_allclose(found, value)


@pytest.mark.parametrize("tau", [0.0, 0.05, 3.0])
def test_best_factor_is_the_minimiser(dual, u, tau):
    F = best_factor(u, K, dual, ETA, tau)
    least = saddle_value(u, F, K, dual, ETA, tau)
    assert np.linalg.eigvalsh(F).min() > -1e-12
    for size in (1e-3, 1.0):
        for _ in range(20):
            values, vectors = np.linalg.eigh(F + size * RNG.normal(size=(N, N)))
            other = (vectors * np.maximum(values, 0)) @ vectors.T
            assert saddle_value(u, other, K, dual, ETA, tau) > least


@pytest.mark.parametrize("tau", [0.0, 0.05])
def test_gradients_are_finite_differences(dual, u, tau):
    F, steps = best_factor(u, K, dual, ETA, tau), 1e-5 * np.eye(len(u))
    at_F = [
        saddle_value(u + e, F, K, dual, ETA, tau) - saddle_value(u - e, F, K, dual, ETA, tau)
        for e in steps
    ]
    of_h = [
        concave_value(u + e, K, dual, ETA, tau) - concave_value(u - e, K, dual, ETA, tau)
        for e in steps
    ]
    gradient = saddle_gradient(u, F, K, dual)
    assert_allclose(np.array(at_F) / 2e-5, gradient, rtol=1e-6, atol=1e-7)
    assert_allclose(np.array(of_h) / 2e-5, gradient, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("tau", [0.01, 0.2])
def test_gap_bounds_what_h_is_below_the_semidefinite_program(dual, u, tau):
    optimum, _ = solve_dank(K, dual, ETA, tau)
    for scale in (0.1, 0.5, 1.0):
        here = best_factor(scale * u, K, dual, ETA, tau)
        missing = optimum - concave_value(scale * u, K, dual, ETA, tau)
        assert 0 <= missing <= duality_gap(scale * u, here, K, dual)

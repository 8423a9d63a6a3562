"""The saddle function of DANK as printed in the papers, and its consequences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize._numdiff import approx_derivative

from adakern.dank import objective
from adakern.kernels import gram_matrix
from dank.oracle import dual_of, problem, solve_dank

N, C, ETA = 12, 2.0, 0.3
RNG = np.random.default_rng(0)
K = gram_matrix(problem(N, 0, "regression")[0], gamma=0.5)


@pytest.fixture(params=["classification", "regression"])
def dual(request):
    return dual_of(request.param, problem(N, 0, request.param)[1], C)


@pytest.fixture
def u(dual):
    return dual.project(RNG.uniform(0, C, len(dual.signs)))


def test_saddle_value_equals_problem_4():
    X, y = problem(N, 1, "classification")
    alpha, F, tau = RNG.uniform(0, C, N), X @ X.T, 0.2
    value = sum(alpha)
    for i in range(N):
        for j in range(N):
            value -= alpha[i] * y[i] * F[i, j] * K[i, j] * y[j] * alpha[j] / 2
            value += ETA * (F[i, j] - 1) ** 2
    value += tau * ETA * np.linalg.svd(F)[1].sum()
    actual = objective.saddle_value(
        alpha, F, K, dual_of("classification", y, C), ETA, tau
    )
    assert_allclose(actual, value)


@pytest.mark.parametrize("tau", [0.0, 0.05])
def test_gradients_equal_finite_differences(dual, u, tau):
    F = objective.best_factor(u, K, dual, ETA, tau)
    gradient_at_F = approx_derivative(
        lambda v: objective.saddle_value(v, F, K, dual, ETA, tau), u
    )
    gradient_of_h = approx_derivative(
        lambda v: objective.concave_value(v, K, dual, ETA, tau), u
    )
    gradient = objective.saddle_gradient(u, F, K, dual)
    assert_allclose(gradient_at_F, gradient, rtol=1e-6, atol=1e-7)
    assert_allclose(gradient_of_h, gradient, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("tau", [0.01, 0.2])
def test_duality_gap_bounds_suboptimality(dual, u, tau):
    optimum, _ = solve_dank(K, dual, ETA, tau)
    for scale in (0.1, 0.5, 1.0):
        F = objective.best_factor(scale * u, K, dual, ETA, tau)
        suboptimality = optimum - objective.concave_value(scale * u, K, dual, ETA, tau)
        assert 0 <= suboptimality <= objective.duality_gap(scale * u, F, K, dual)


def test_large_gap_at_zero_does_not_overflow():
    y = problem(N, 0, "classification")[1]
    large = dual_of("classification", y, C=1e9)
    thresholded = objective.ThresholdedObjective(K, large, ETA, 0.1)
    point = thresholded(np.zeros(N))
    with np.errstate(all="raise"):
        assert thresholded(np.zeros(N), point).value == pytest.approx(point.value)

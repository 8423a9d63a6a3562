"""Constants, methods and bounds of the DANK papers, checked numerically."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans

import dank_papers as papers
from adakern.dank.exact import newton
from adakern.dank.objective import saddle_value
from adakern.kernels import gram_matrix
from dank.oracle import dual_of, objective_of, problem

C, ETA = 2.0, 200.0


def make_objective(kernel, task, eta, tau):
    X, y = problem(25, 0, task)  # k(x, x) far above one but for "rbf"
    K = gram_matrix(3 * X, kernel=kernel, gamma=0.5, degree=2, coef0=1.0)
    return objective_of(K, dual_of(task, y, 0.5), eta, tau, tol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("tau", [0.0, 0.01])
@pytest.mark.parametrize("eta", [0.5, 1e6])
def test_gradient_is_lipschitz_with_the_constant_of_the_theorems(
    kernel, task, tau, eta
):
    h = make_objective(kernel, task, eta, tau)
    L, rng = papers.lipschitz_constant(h.K, h.dual, eta), np.random.default_rng(1)
    for size in (1e-2, 1.0):
        for _ in range(5):
            u = h.dual.project(rng.uniform(0, 0.5, len(h.dual.signs)))
            v = h.dual.project(u + size * rng.normal(size=len(u)))
            change = np.linalg.norm(h(u).gradient - h(v).gradient)
            assert change <= L * np.linalg.norm(u - v)
    if (
        task == "classification"
    ):  # the direction in which a constant without kappa is too small
        v = 1e-3 * np.abs(np.linalg.eigh(h.K)[1][:, -1])
        change = np.linalg.norm(h(0 * v).gradient - h(v).gradient)
        assert change <= L * np.linalg.norm(v)


@pytest.mark.parametrize("method", [papers.nesterov, papers.projected_gradient])
def test_fixed_step_methods_reach_the_optimum(method):
    X, y = problem(20, 19, "classification")
    dual = dual_of("classification", y, 0.1)
    h = objective_of(gram_matrix(X, gamma=0.5), dual, 10.0, 0.01)
    start = h(np.zeros(20))
    best = newton(h, start, 1e-8, max_iter=2000)
    solution = method(h, start, 1e-3, max_iter=20000)
    assert solution.point.value <= best.point.value * (1 + 1e-9)
    assert_allclose(solution.point.value, best.point.value, rtol=1e-4)
    # From zero, where F is that of 11' alone.
    assert_allclose(start.value, 10.0 * (0.01 * 20 - 0.01**2 / 4))


def solve(K, y, eta=ETA):
    """Exact solution of problem 17 on K: the point, F, and the saddle function."""
    dual = dual_of("classification", y, C, False)
    h = objective_of(K, dual, eta, 0.0)
    point = newton(h, h(np.zeros(len(y))), 1e-8, max_iter=100).point
    F = 1 + K * np.outer(point.d, point.d) / (4 * eta)
    return point, F, lambda K: saddle_value(point.u, F, K, dual, eta, 0.0)


@pytest.fixture(params=[2, 5, 10])
def partitioned(request, rng):
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=120) > 0, 1.0, -1.0)
    K = gram_matrix(X, gamma=1.0)
    clusters = KMeans(request.param, n_init=1, random_state=0).fit_predict(X)
    return K, K * (clusters[:, None] == clusters), y, clusters


def test_between_clusters_is_the_sum_of_off_diagonal_blocks(partitioned):
    K, K_bar, _, clusters = partitioned
    assert_allclose(papers.between_clusters(K, clusters), np.abs(K - K_bar).sum())
    assert papers.between_clusters(K, np.zeros(len(K))) == 0


@pytest.mark.parametrize("eta", [ETA, 2e4])
def test_partition_bounds_hold(partitioned, eta):
    K, K_bar, y, clusters = partitioned
    (best, F, value), (part, F_bar, value_bar) = solve(K, y, eta), solve(K_bar, y, eta)
    smallest, largest = min(F.min(), F_bar.min()), max(F.max(), F_bar.max())
    bounds = papers.partition_bounds(K, clusters, C, eta, smallest, largest)
    assert abs(value(K) - value_bar(K)) <= bounds["objective"]
    if eta == 2e4:  # F is 1 to three digits, so B = B2 - B1 is almost zero
        assert bounds["objective_printed"] < abs(value(K) - value_bar(K))
        return
    assert ((best.u - part.u) ** 2).sum() <= bounds["coefficients"]
    assert np.linalg.norm(F - F_bar) <= bounds["factor"]
    assert not best.u[
        papers.screened_rows(part.gradient, K, C, smallest, largest)
    ].any()
    # Not even for the most negative gradient possible.
    lowest = 1 - largest * C * np.abs(K).sum(axis=0)
    assert not papers.screened_rows(lowest, K, C, smallest, largest).any()


def test_partition_bounds_need_positive_range():
    with pytest.raises(ValueError, match=r"smallest=-0\.1"):
        papers.partition_bounds(np.eye(2), [0, 1], 1.0, 1.0, -0.1, 1.0)

"""The quartic problem, compared with conic programs, and its duality gap."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adakern.dank import quartic
from adakern.dank.quartic import Quartic
from adakern.kernels import gram_matrix
from dank import oracle

sizes = st.floats(1e-3, 1e3)


def make_problem(
    task, n, gamma, C, eta, *, epsilon=0.1, seed=0, fit_intercept=False, **options
):
    X, y = oracle.problem(n, seed, task)
    dual = oracle.dual_of(task, y, C, fit_intercept, epsilon)
    return Quartic(gram_matrix(X, gamma=gamma), dual, eta, **options)


def value(problem, d):
    """h by its definition."""
    K, dual, q = problem.K, problem.dual, d * d
    linear = dual.target @ d - dual.epsilon * abs(d).sum() - problem.weight * q.sum()
    return linear - d @ K @ d / 2 - q @ (K * K) @ q / (16 * problem.eta)


def conic_optimum(problem):
    """The quartic as a second-order cone program, with the relaxation q >= d o d."""
    K, dual, n = problem.K, problem.dual, len(problem.K)
    d, q = cp.Variable(n), cp.Variable(n)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(n))
    square_root = np.linalg.cholesky(K * K + 1e-12 * np.eye(n))
    h = (
        dual.target @ d
        - dual.epsilon * cp.norm1(d)
        - problem.weight * cp.sum(q)
        - cp.sum_squares(root.T @ d) / 2
        - cp.sum_squares(square_root.T @ q) / (16 * problem.eta)
    )
    bounds = [d >= dual.lower, d <= dual.upper, q >= cp.square(d)]
    if dual.fit_intercept:
        bounds.append(cp.sum(d) == 0)
    return cp.Problem(cp.Maximize(h), bounds).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("gamma", [0.01, 1.0, 30.0, 100.0])
@pytest.mark.parametrize("C", [0.1, 30.0])
@pytest.mark.parametrize(
    ("weight", "fit_intercept"), [(0.0, False), (0.5, False), (0.0, True)]
)
@pytest.mark.parametrize("share", [0.1, 10, np.inf])
def test_solution_equals_conic_program(gamma, C, weight, fit_intercept, share):
    options = {"weight": weight, "fit_intercept": fit_intercept}
    for task, epsilon in (
        ("classification", 0.0),
        ("regression", 0.1),
        ("regression", 0.0),
    ):
        problem = make_problem(
            task, 40, gamma, C, share * C**2, epsilon=epsilon, **options
        )
        expected, dual = conic_optimum(problem), problem.dual
        points = [
            oracle.solve_quartic(problem, 1e-9),
            quartic.solve(problem, np.zeros(40), 1e-9 * expected),
        ]
        for point in points:
            assert point.gap <= 1e-7 * expected
            assert ((dual.lower <= point.d) & (point.d <= dual.upper)).all()
            if fit_intercept:
                assert abs(point.d.sum()) < 1e-12 * C * 40
            assert point.value == pytest.approx(expected, rel=1e-6)
            assert point.value == pytest.approx(value(problem, point.d), rel=1e-12)


@given(st.integers(0, 10**6), sizes, sizes, sizes, st.floats(0.0, 0.5))
@settings(max_examples=100)
def test_gap_bounds_suboptimality(seed, gamma, C, ratio, epsilon):
    """At any point gap >= optimum - h, and the solution is feasible."""
    rng, eta = np.random.default_rng(seed), ratio * C**2
    for task in ("classification", "regression"):
        problem = make_problem(task, 12, gamma, C, eta, epsilon=epsilon, seed=seed)
        lower, upper = problem.dual.lower, problem.dual.upper
        best = oracle.solve_quartic(problem, 1e-9)
        assert best.gap <= 1e-8 * best.value
        assert ((best.d >= lower) & (best.d <= upper)).all()
        for _ in range(5):
            point = problem.at(rng.uniform(lower, upper))
            assert point.row_gaps.min() >= 0
            suboptimality = best.value - point.value
            assert point.gap >= suboptimality * (1 - 1e-9) - 1e-9 * abs(best.value)


def test_row_gaps_equal_grid_search():
    """The largest possible improvement of each separable term."""
    rng = np.random.default_rng(1)
    d, weight = rng.uniform(-1.5, 1.5, 10), rng.uniform(0, 1, 10)
    problem = make_problem("regression", 10, 1.0, 1.5, 0.7, epsilon=0.2, weight=weight)
    K = problem.K

    def m(u):
        curvature = weight + (K * K) @ (d * d) / (8 * 0.7)
        return u * (problem.dual.target - K @ d) - 0.2 * abs(u) - curvature * u * u

    best = np.max([m(u) for u in np.linspace(-1.5, 1.5, 30_001)], axis=0)
    np.testing.assert_allclose(problem.at(d).row_gaps, best - m(d), atol=1e-7)


def test_dual_variables_of_other_rows_are_exactly_zero():
    d = oracle.solve_quartic(make_problem("classification", 80, 0.5, 1.0, 10.0), 1e-8).d
    assert 0 < np.count_nonzero(d) < 80
    assert (np.abs(d[d != 0]) > 1e-6).all()
    assert (np.abs(d) == 1.0).any()

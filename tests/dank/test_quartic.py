"""The quartic against semidefinite and conic programs, and its certificate."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from adakern.dank.interior_point import interior_point
from adakern.dank.projected_newton import projected_newton
from adakern.dank.quartic import objective, row_gaps
from adakern.kernels import gram_matrix
from adakern.svm.dual import Dual as Box
from adakern.svm.dual import classification_dual as label_box
from adakern.svm.dual import regression_dual as tube_box


def classification(n, gamma, C, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return gram_matrix(X, gamma=gamma), label_box(y, C)


def regression(n, gamma, C, epsilon, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    target = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)
    return gram_matrix(X, gamma=gamma), tube_box(target, C, epsilon)


def value(K, d, box, eta, weight=0.0):
    """h by its definition."""
    q = d * d
    return (
        box.target @ d
        - box.epsilon * abs(d).sum()
        - weight * q.sum()
        - d @ K @ d / 2
        - q @ (K * K) @ q / (16 * eta)
    )


@pytest.mark.parametrize(("C", "eta"), [(1.0, 1.0), (4.0, 20.0), (10.0, 1e4)])
def test_saddle_point_of_the_semidefinite_program(C, eta):
    """min over F of the SVM dual, in Lanckriet's Schur-complement form.

    For a fixed F the dual of max 1'a - 1/2 a'G a over the box, G = Y (F∘K) Y, is the
    smallest t with [[G, e], [e', t]] PSD, e = 1 + nu - delta, plus C 1'delta.
    """
    K, box = classification(14, gamma=0.7, C=C)
    y, n = box.target, len(box.target)
    F = cp.Variable((n, n), PSD=True)
    nu, delta = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    t = cp.Variable()
    G = cp.multiply(F, K * np.outer(y, y))
    e = cp.reshape(1 + nu - delta, (n, 1), order="C")
    schur = cp.bmat([[G, e], [e.T, cp.reshape(t, (1, 1), order="C")]])
    problem = cp.Problem(
        cp.Minimize(t / 2 + C * cp.sum(delta) + eta * cp.sum_squares(F - 1)),
        [(schur + schur.T) / 2 >> 0],
    )
    problem.solve(solver=cp.CLARABEL)
    solution = interior_point(K, box, eta, tol=1e-10)
    assert solution.converged
    assert solution.objective == pytest.approx(problem.value, rel=1e-6)
    d = solution.dual_coef
    np.testing.assert_allclose(1 + np.outer(d, d) * K / (4 * eta), F.value, atol=2e-4)


def conic_optimum(K, box, eta, weight=0.0, balanced=False):
    """The quartic as a second-order cone program: q is relaxed to q >= d o d."""
    n = len(box.target)
    d, q = cp.Variable(n), cp.Variable(n)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(n))
    square_root = np.linalg.cholesky(K * K + 1e-12 * np.eye(n))
    h = (
        box.target @ d
        - box.epsilon * cp.norm1(d)
        - weight * cp.sum(q)
        - cp.sum_squares(root.T @ d) / 2
        - cp.sum_squares(square_root.T @ q) / (16 * eta)
    )
    bounds = [d >= box.lower, d <= box.upper, q >= cp.square(d)]
    if balanced:
        bounds.append(cp.sum(d) == 0)
    problem = cp.Problem(cp.Maximize(h), bounds)
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("C", [0.1, 30.0])
@pytest.mark.parametrize(("weight", "balanced"), [(0.0, False), (0.5, False), (0, True)])
def test_optimum_of_the_conic_program(gamma, C, weight, balanced):
    for K, box in (
        classification(40, gamma, C),
        regression(40, gamma, C, epsilon=0.1),
        regression(40, gamma, C, epsilon=0.0),
    ):
        for eta in (0.1 * C**2, 10 * C**2):
            solution = interior_point(K, box, eta, weight=weight, balanced=balanced, tol=1e-9)
            assert solution.converged
            if balanced:
                assert abs(solution.dual_coef.sum()) < 1e-12 * C * 40
            expected = conic_optimum(K, box, eta, weight, balanced)
            assert solution.objective == pytest.approx(expected, rel=1e-6)
            assert solution.objective == pytest.approx(
                value(K, solution.dual_coef, box, eta, weight), rel=1e-12
            )


@pytest.mark.parametrize("C", [0.1, 30.0])
@pytest.mark.parametrize(("weight", "balanced"), [(0.0, False), (0.5, False), (0.0, True)])
def test_newton_steps_climb_to_the_optimum_of_the_conic_program(C, weight, balanced):
    rng = np.random.default_rng(0)
    for K, box in (
        classification(40, 30.0, C),
        regression(40, 30.0, C, epsilon=0.1),
        regression(40, 30.0, C, epsilon=0.0),
    ):
        for eta in (0.1 * C**2, 10 * C**2):
            expected = conic_optimum(K, box, eta, weight, balanced)
            anywhere = rng.uniform(box.lower, box.upper)
            starts = [np.zeros(40), anywhere]
            if balanced:  # no step is sure to lead away from zero
                other = replace(box, target=anywhere)
                starts = [interior_point(K, other, eta, balanced=True).dual_coef]
            for start in starts:
                d, gap = projected_newton(
                    K,
                    box,
                    eta,
                    weight=weight,
                    start=start,
                    gap_goal=1e-7 * expected,
                    max_products=2000,
                    balanced=balanced,
                )
                assert gap <= 1e-7 * expected
                assert ((box.lower <= d) & (d <= box.upper)).all()
                if balanced:
                    assert abs(d.sum()) < 1e-12 * C * 40
                assert value(K, d, box, eta, weight) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("max_products", [0, 1, 5, 30])
def test_newton_steps_out_of_products_have_climbed_and_say_how_far(max_products):
    """On a smooth kernel, where conjugate gradients do not get far."""
    for K, box in (classification(60, 0.01, 30.0), regression(60, 0.01, 30.0, epsilon=0.1)):
        start = np.random.default_rng(0).uniform(box.lower, box.upper)
        d, gap = projected_newton(
            K, box, 50.0, weight=0.0, start=start, gap_goal=0.0, max_products=max_products
        )
        now, least = (value(K, v, box, 50.0) for v in (d, start))
        assert (now > least) == (max_products > 0)
        assert ((box.lower <= d) & (d <= box.upper)).all()
        best = interior_point(K, box, 50.0, tol=1e-9).objective
        assert gap >= best - now > 0


def test_infinite_eta_is_the_svm_without_a_bias():
    """Against the ordinary dual as a quadratic program."""
    K, box = classification(60, gamma=1.0, C=2.0)
    d = cp.Variable(60)
    program = cp.Problem(
        cp.Maximize(box.target @ d - cp.quad_form(d, cp.psd_wrap(K)) / 2),
        [d >= box.lower, d <= box.upper],
    )
    program.solve(solver=cp.CLARABEL)
    solution = interior_point(K, box, np.inf, tol=1e-10)
    assert solution.objective == pytest.approx(program.value, rel=1e-7)


@given(
    seed=st.integers(0, 10**6),
    gamma=st.floats(1e-3, 1e3),
    C=st.floats(1e-3, 1e3),
    ratio=st.floats(1e-3, 1e3),
    epsilon=st.floats(0.0, 0.5),
)
@settings(max_examples=100)
def test_certificate_bounds_what_is_missing(seed, gamma, C, ratio, epsilon):
    """At any point, gap >= optimum - h; and the solver's point is in the box."""
    rng = np.random.default_rng(seed)
    for K, box in (classification(12, gamma, C, seed), regression(12, gamma, C, epsilon, seed)):
        eta = ratio * C**2
        solution = interior_point(K, box, eta, tol=1e-8)
        assert solution.converged
        assert (solution.dual_coef >= box.lower).all()
        assert (solution.dual_coef <= box.upper).all()
        for _ in range(5):
            d = rng.uniform(box.lower, box.upper)
            Kd, Qq = K @ d, (K * K) @ (d * d)
            gaps = row_gaps(d, Kd, Qq, box, eta)
            missing = solution.objective - objective(d, Kd, Qq, box, eta)
            assert gaps.min() >= 0
            assert gaps.sum() >= missing * (1 - 1e-9) - 1e-9 * abs(solution.objective)


def test_row_gaps_are_the_best_change_of_each_separable_term():
    """Against a search on a grid."""
    K, box = regression(10, gamma=1.0, C=1.5, epsilon=0.2)
    rng = np.random.default_rng(1)
    d, eta, weight = rng.uniform(-1.5, 1.5, 10), 0.7, rng.uniform(0, 1, 10)
    Kd, Qq = K @ d, (K * K) @ (d * d)

    def m(u):
        curvature = weight + Qq / (8 * eta)
        return u * (box.target - Kd) - 0.2 * abs(u) - curvature * u * u

    best = np.max([m(u) for u in np.linspace(-1.5, 1.5, 30_001)], axis=0)
    np.testing.assert_allclose(row_gaps(d, Kd, Qq, box, eta, weight), best - m(d), atol=1e-7)


def test_gradient_used_by_the_solver():
    """The stated gradient of h, by finite differences."""
    K, box = classification(9, gamma=1.0, C=2.0)
    eta = 0.5

    def gradient(d):
        return box.target - K @ d - d * ((K * K) @ (d * d)) / (4 * eta)

    d = np.random.default_rng(0).normal(size=9)
    assert check_grad(lambda d: value(K, d, box, eta), gradient, d) < 1e-5


def test_warm_start_leads_to_the_same_point():
    K, box = classification(60, gamma=1.0, C=5.0)
    cold = interior_point(K, box, 50.0, tol=1e-9)
    warm = interior_point(K, box, 50.0, start=cold.dual_coef, tol=1e-9)
    assert warm.objective == pytest.approx(cold.objective, rel=1e-8)
    assert warm.n_iter < cold.n_iter


def test_rows_that_are_no_support_vectors_are_exact_zeros():
    K, box = classification(80, gamma=0.5, C=1.0)
    d = interior_point(K, box, 10.0, tol=1e-8).dual_coef
    assert 0 < np.count_nonzero(d) < 80
    assert (np.abs(d[d != 0]) > 1e-6).all()
    assert (np.abs(d) == 1.0).any()


def test_duplicated_rows_and_a_single_row():
    K, box = classification(10, gamma=1.0, C=2.0)
    twice = np.tile(K, (2, 2))
    box2 = Box(*(np.tile(part, 2) for part in (box.target, box.lower, box.upper)))
    solution = interior_point(twice, box2, 8.0, tol=1e-9)
    assert solution.converged
    assert solution.objective == pytest.approx(conic_optimum(twice, box2, 8.0), rel=1e-5)
    alone = interior_point(np.ones((1, 1)), label_box(np.array([-1.0]), 0.5), 1.0)
    np.testing.assert_allclose(alone.dual_coef, [-0.5])


def in_library(xp, box):
    ends = (xp.asarray(part) for part in (box.target, box.lower, box.upper))
    return Box(*ends, box.epsilon)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_array_libraries_agree(library):
    xp = pytest.importorskip(library)
    for K, box in (
        classification(30, gamma=1.0, C=5.0),
        regression(30, gamma=1.0, C=5.0, epsilon=0.1),
    ):
        expected = interior_point(K, box, 50.0, tol=1e-8)
        moved = in_library(xp, box)
        solution = interior_point(xp.asarray(K), moved, 50.0, tol=1e-8)
        assert solution.objective == pytest.approx(expected.objective, rel=1e-10)
        np.testing.assert_allclose(np.asarray(solution.dual_coef), expected.dual_coef, atol=1e-7)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_newton_steps_agree_over_array_libraries(library):
    xp = pytest.importorskip(library)
    for K, box in (
        classification(30, gamma=30.0, C=5.0),
        regression(30, gamma=30.0, C=5.0, epsilon=0.1),
    ):
        expected = interior_point(K, box, 50.0, tol=1e-9).dual_coef
        moved = in_library(xp, box)
        d, gap = projected_newton(
            xp.asarray(K),
            moved,
            50.0,
            weight=0.0,
            start=xp.zeros_like(moved.target),
            gap_goal=1e-9,
            max_products=2000,
        )
        assert gap <= 1e-9
        np.testing.assert_allclose(np.asarray(d), expected, atol=1e-5)


def test_float32_reaches_the_default_tolerance():
    K, box = classification(60, gamma=1.0, C=5.0)
    parts = (part.astype(np.float32) for part in (box.target, box.lower, box.upper))
    solution = interior_point(K.astype(np.float32), Box(*parts), 50.0, tol=1e-4)
    assert solution.dual_coef.dtype == np.float32
    assert solution.converged
    exact = interior_point(K, box, 50.0, tol=1e-9)
    assert solution.objective == pytest.approx(exact.objective, rel=2e-4)


def test_too_few_steps_are_reported():
    K, box = classification(60, gamma=1.0, C=5.0)
    solution = interior_point(K, box, 50.0, tol=1e-9, max_iter=1)
    assert not solution.converged
    assert solution.gap > 1e-9 * solution.objective

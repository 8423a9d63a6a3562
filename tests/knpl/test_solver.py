import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import approx_fprime

from adakern.kernels import gram_matrix
from adakern.knpl.solver import SaddleFunction, solve_admm, solve_exact
from adakern.svm.dual import DualEvaluation, classification_dual


def problem(n=14, seed=0, kernel="rbf", gamma=2.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    y = np.where(rng.permutation(n) < n // 2, 1.0, -1.0)
    return gram_matrix(X, kernel=kernel, gamma=gamma), y


def signed_duals(y, C, seed=0):
    return y * np.random.default_rng(seed).uniform(0, C, size=len(y))


def test_gradient_matches_finite_differences():
    K, y = problem()
    function = SaddleFunction(K, classification_dual(y, 1.0), reg=0.05)
    u = np.abs(signed_duals(y, 1.0))
    numeric = approx_fprime(u, lambda v: function(v).value, 1e-7)
    np.testing.assert_allclose(function(u).gradient, numeric, rtol=1e-4, atol=1e-5)


def test_matrix_free_form_matches_dense():
    K, y = problem(n=25)
    d, dual = signed_duals(y, 2.0), classification_dual(y, 2.0)
    free = SaddleFunction(K, dual, reg=0.3)
    point, G = free(np.abs(d)), free.layer(d)
    expected = DualEvaluation(dual, np.abs(d), (G * K) @ d, 0.3 * np.sum((G - 1) ** 2))
    assert point.value == pytest.approx(expected.value, rel=1e-9)
    assert point.gap == pytest.approx(expected.gap, rel=1e-9)
    np.testing.assert_allclose(point.gradient, expected.gradient, atol=1e-9)
    # And both are H(a, G) of equation 4 at the minimiser G.
    H = y @ d - 0.5 * d @ (G * K) @ d + 0.3 * np.sum(G**2) - 0.3 * len(y) ** 2
    assert point.value == pytest.approx(H, rel=1e-9)


def saddle_by_semidefinite_program(K, y, C, reg):
    """Equation 4 as one program, with the Schur complement form of the SVM's dual."""
    n = len(y)
    G = cp.Variable((n, n), symmetric=True)
    t, b, square = cp.Variable(), cp.Variable(), cp.Variable()
    nu, delta = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    corner = cp.reshape(1 + nu - delta + b * y, (n, 1), order="C")
    signed = cp.multiply(np.outer(y, y) * K, G)
    bound = cp.reshape(2 * (t - C * cp.sum(delta)), (1, 1), order="C")
    schur = cp.bmat([[signed, corner], [corner.T, bound]])
    constraints = [G >> 0, cp.sum(G, axis=1) == n * np.ones(n), schur >> 0]
    # As a constraint: CVXPY before 1.8 loses a symmetric variable's squares in the
    # objective and calls the program unbounded.
    constraints += [cp.sum_squares(G) <= square]
    program = cp.Problem(cp.Minimize(t + reg * square), constraints)
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return program.value, G.value


@pytest.mark.parametrize(("C", "reg"), [(1.0, 0.02), (1.0, 1.0), (10.0, 5.0)])
def test_exact_solver_matches_semidefinite_program(C, reg):
    K, y = problem(n=12)
    saddle = solve_exact(K, y, C, reg, max_iter=5000, tol=1e-8)
    optimum, G = saddle_by_semidefinite_program(K, y, C, reg)
    assert saddle.converged
    assert saddle.objective == pytest.approx(optimum, rel=1e-6)
    np.testing.assert_allclose(saddle.G, G, atol=2e-3)


def test_gap_bounds_distance_to_optimum():
    K, y = problem(n=20)
    best = solve_exact(K, y, 1.0, 0.1, max_iter=5000, tol=1e-9).objective
    rough = solve_exact(K, y, 1.0, 0.1, max_iter=5, tol=1e-9)
    assert not rough.converged and rough.n_iter == 5
    for value, gap in zip(
        rough.history["objective"], rough.history["gap"], strict=True
    ):
        assert -1e-6 <= best - value <= gap + 1e-6


def test_admm_matches_exact_where_it_converges():
    K, y = problem(n=20)
    C, reg = 1.0, 20.0
    admm = solve_admm(K, y, C, reg, max_outer=50, max_inner=300, tol=1e-3)
    exact = solve_exact(K, y, C, reg, max_iter=5000, tol=1e-8)
    assert admm.converged
    constant = reg * len(y) ** 2
    assert admm.objective - constant == pytest.approx(
        exact.objective - constant, rel=1e-3
    )

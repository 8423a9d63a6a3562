"""Projections, factorisations and eigenpairs."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from adakern import linalg


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("C", [0.3, 5.0])
@pytest.mark.parametrize("total", [0.0, 0.4])
def test_projection_onto_feasible_equals_cvxpy(seed, C, total):
    rng = np.random.default_rng(seed)
    v = rng.normal(scale=3, size=12)
    y = np.where(np.arange(12) < 5, 1.0, -1.0)
    a = cp.Variable(12)
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(a - v)), [a >= 0, a <= C, y @ a == total]
    )
    problem.solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13
    )
    np.testing.assert_allclose(
        linalg.project_onto_feasible(v, y, C, total), a.value, atol=1e-6
    )


@given(arrays(float, 7, elements=st.floats(-1e6, 1e6)), st.floats(1e-3, 1e3))
def test_projection_is_feasible_and_idempotent(v, C):
    y = np.array([1.0, 1, 1, -1, -1, 1, -1])
    a = linalg.project_onto_feasible(v, y, C)
    assert a.min() >= 0 and a.max() <= C
    assert abs(y @ a) <= 1e-14 * (abs(v).max() + C)
    # y'a = 0 holds up to the rounding of v - t y, whose entries are as large as v.
    rounding = 1e-14 * (abs(v).max() + C)
    np.testing.assert_allclose(linalg.project_onto_feasible(a, y, C), a, atol=rounding)


def test_principal_submatrix(xp):
    A = np.random.default_rng(0).normal(size=(500, 500))
    rows = np.random.default_rng(1).permutation(500)[:300]
    block = linalg.principal_submatrix(xp.asarray(A), xp.asarray(rows))
    np.testing.assert_array_equal(np.asarray(block), A[np.ix_(rows, rows)])


def test_factorised(xp, rng):
    A = rng.normal(size=(8, 8))
    A = A @ A.T
    solve = linalg.factorised(xp.asarray(A))
    for b in rng.normal(size=(3, 8)):
        x = np.asarray(solve(xp.asarray(b)))
        np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-8)
    if xp.__name__ == "array_api_strict":
        return
    # Shifted if indefinite by rounding, an error if truly indefinite.
    A = np.ones((6, 6)) - 1e-15 * np.eye(6)
    x = np.asarray(linalg.factorised(xp.asarray(A))(xp.asarray(np.ones(6))))
    np.testing.assert_allclose(A @ x, 1, rtol=1e-6)
    with pytest.raises(ValueError, match=r"shape \(2, 2\) is not positive definite"):
        linalg.factorised(xp.asarray([[0.0, 1e3], [1e3, 0.0]]))
    for entry in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            linalg.factorised(xp.asarray([[1.0, entry], [entry, 1.0]]))


def gram_with_ones(n, seed):
    """A matrix as in DANK: one large eigenvalue, then a decaying spectrum."""
    rng = np.random.default_rng(seed)
    X, c = rng.normal(size=(n, 3)), rng.normal(size=n)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    return 1 + K * np.outer(c, c)


@pytest.mark.parametrize("n", [1, 2, 5, 90, 300])
@pytest.mark.parametrize("threshold", [0.5, 3.0, 20.0, 1e6])
def test_leading_eigenpairs_equal_dense_decomposition(n, threshold):
    A = gram_with_ones(n, seed=n)
    expected = np.linalg.eigvalsh(A)[::-1]
    values, vectors, _ = linalg.leading_eigenpairs(A, threshold)
    np.testing.assert_allclose(values, expected[expected > threshold], rtol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-9)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-7)


class Operator:
    def __init__(self, A):
        self.A, self.shape, self.widths = A, A.shape, []

    def __matmul__(self, X):
        self.widths.append(X.shape[1])
        return self.A @ X


def test_leading_eigenpairs_with_warm_start_and_narrow_block():
    A = gram_with_ones(400, seed=0)
    cold, near = Operator(A), Operator(A + 1e-6 * gram_with_ones(400, seed=1))
    values, _, block = linalg.leading_eigenpairs(cold, 20.0)
    warm, _, _ = linalg.leading_eigenpairs(near, 20.0, start=block)
    np.testing.assert_allclose(warm, values, rtol=1e-4)
    assert len(near.widths) < len(cold.widths)
    expected, many = np.linalg.eigvalsh(A)[::-1], Operator(A)
    values, _, _ = linalg.leading_eigenpairs(many, (expected[11] + expected[12]) / 2)
    np.testing.assert_allclose(values, expected[:12], rtol=1e-9)
    assert max(many.widths) < 40  # no dense decomposition


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12))
def test_simplex_projection_satisfies_variational_inequality(values):
    v = np.array(values)
    w = linalg.project_onto_simplex(v)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1)
    # (v - w)'(vertex - w) <= 0 for every vertex of the simplex
    assert np.max(v - w) <= (v - w) @ w + 1e-9


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_is_positive_semidefinite_is_scale_invariant(scale, rng):
    factor = rng.normal(size=(20, 5))
    K = factor @ factor.T
    assert linalg.is_positive_semidefinite(scale * K)
    assert not linalg.is_positive_semidefinite(scale * (K - 1e-3 * np.eye(20)))
    assert not linalg.is_positive_semidefinite(-scale * K)


@pytest.mark.parametrize("n_columns", [3, 60])
def test_ridge_solution_solves_the_system_of_each_column(n_columns, rng):
    """Alone and, if there are many, together; rows of the solution are contiguous."""
    F = rng.normal(size=(80, 20))
    K = F @ F.T
    Y = rng.normal(size=(80, n_columns))
    found, ridge = linalg.ridge_solution(K.copy(), Y, 0.1)
    np.testing.assert_allclose((K + ridge * np.eye(80)) @ found, Y, atol=1e-10)
    assert found.flags.c_contiguous


@pytest.mark.parametrize("n", [17, 19, 24, 25])
def test_largest_eigenpairs_of_repeated_eigenvalues(n, monkeypatch):
    """LAPACK's dsyevr fails for some of these, with "Internal Error"."""
    A = 1 + 0.01 * np.eye(n)
    expected = np.append(np.full(n // 3 - 1, 0.01), n + 0.01)

    def fail(*_, **__):
        raise np.linalg.LinAlgError("Internal Error.")

    for replaced in (linalg.eigh, fail):
        monkeypatch.setattr(linalg, "eigh", replaced)
        values, vectors = linalg.largest_eigenpairs(A, n // 3)
        np.testing.assert_allclose(values, expected, rtol=1e-9)
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-9)
        values, vectors = linalg.largest_eigenpairs(A, above=1.0)
        np.testing.assert_allclose(values, expected[-1:])
        np.testing.assert_allclose(np.abs(vectors), n**-0.5)

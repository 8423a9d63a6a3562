import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adakern.knpl.pairwise import admm, project_onto_affine


def random_symmetric(n, seed, *, psd):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T / n if psd else (A + A.T) / 2


@pytest.mark.parametrize("seed", range(3))
def test_project_onto_affine_matches_cvxpy(seed):
    Gamma = random_symmetric(8, seed, psd=True)
    G = cp.Variable((8, 8), symmetric=True)
    affine = cp.sum(G, axis=1) == 8 * np.ones(8)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(G - Gamma)), [G >> 0, affine])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    np.testing.assert_allclose(project_onto_affine(Gamma), G.value, atol=1e-4)


def test_admm_converges_to_closed_form():
    Gamma = random_symmetric(12, 3, psd=True)
    G, residuals = admm(Gamma, max_iter=300, tol=1e-11, growth=1.0)
    np.testing.assert_allclose(G, project_onto_affine(Gamma), atol=1e-8)
    assert residuals[-1] <= 1e-11


@given(st.integers(2, 15), st.integers(0, 10**6))
def test_affine_projection_properties(n, seed):
    S = random_symmetric(n, seed, psd=False)
    Q = project_onto_affine(S)
    np.testing.assert_allclose(Q, Q.T, atol=1e-12)
    np.testing.assert_allclose(Q.sum(axis=1), n, atol=1e-9)
    np.testing.assert_allclose(project_onto_affine(Q), Q, atol=1e-9)
    # The residual is orthogonal to every direction along the set.
    D = random_symmetric(n, seed + 1, psd=False)
    P = np.eye(n) - 1 / n
    assert abs(np.vdot(S - Q, P @ D @ P)) < 1e-8 * n * n

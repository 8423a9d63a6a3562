"""Factored kernels and criteria against dense definitions and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from adakern.kernels import gram_matrix
from adakern.linalg import inverse_square_root, ranked_eigh
from adakern.nystrom.criteria import CRITERIA, DenseKernel, LowRankKernel

RIDGE = 0.005


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(40, 3))
    Y = np.column_stack([np.sign(X[:, 0] + 0.3 * rng.normal(size=40)), X[:, 1]])
    return X, gram_matrix(X, gamma=0.3), Y


def nystrom_dense(K, chosen, rank=None):
    """C D_k^+ C' as it is written in the paper, by the SVD."""
    C, D = K[:, chosen], K[np.ix_(chosen, chosen)]
    U, s, Vt = np.linalg.svd(D)
    k = len(chosen) if rank is None else rank
    return C @ np.linalg.pinv((U[:, :k] * s[:k]) @ Vt[:k]) @ C.T


@pytest.mark.parametrize(
    ("chosen", "rank"),
    [
        ([3, 30, 7, 11, 25, 0, 18, 39], None),
        ([3, 30, 7, 11, 25, 0, 18, 39], 4),
        (range(40), None),
    ],
)
@pytest.mark.parametrize("name", CRITERIA)
def test_woodbury_matches_dense(problem, name, chosen, rank):
    _, K, Y = problem
    chosen, criterion = np.array(chosen), CRITERIA[name]
    low_rank = LowRankKernel.from_columns(K[:, chosen], chosen, rank=rank)
    dense = DenseKernel(K if len(chosen) == 40 else nystrom_dense(K, chosen, rank))
    assert criterion(low_rank, Y, RIDGE) == pytest.approx(
        criterion(dense, Y, RIDGE), rel=1e-8
    )


@given(st.integers(0, 2**16), st.floats(1e-4, 1e3), st.integers(1, 30), st.booleans())
@settings(max_examples=60)
def test_approximate_criterion_at_least_exact(seed, gamma, c, repeated):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2))
    if repeated:  # D is singular as soon as twins are drawn
        X[15:] = X[:15]
    K = gram_matrix(X, gamma=gamma)
    Y = rng.choice([-1.0, 1.0], size=(30, 1))
    chosen = rng.choice(30, c, replace=False)
    ridge_risk = CRITERIA["ridge-risk"]
    exact = ridge_risk(DenseKernel(K), Y, RIDGE)
    approximate = ridge_risk(LowRankKernel.from_columns(K[:, chosen], chosen), Y, RIDGE)
    fewer = LowRankKernel.from_columns(K[:, chosen[: c // 2 + 1]], chosen[: c // 2 + 1])
    assert approximate >= exact - 1e-7
    assert ridge_risk(fewer, Y, RIDGE) >= approximate - 1e-7


def test_criteria_match_definition(problem):
    X, K, Y = problem
    l, dense = len(K), DenseKernel(K)
    model, y = KernelRidge(alpha=RIDGE * l, kernel="rbf", gamma=0.3), Y[:, 1]
    left_out = cross_val_predict(model, X, y, cv=LeaveOneOut())
    assert CRITERIA["loo"](dense, Y[:, 1:], RIDGE) == pytest.approx(
        np.mean((left_out - y) ** 2)
    )
    model.fit(X, y)
    norm = model.dual_coef_ @ K @ model.dual_coef_
    risk = np.mean((model.predict(X) - y) ** 2) + RIDGE * norm
    assert CRITERIA["ridge-risk"](dense, Y[:, 1:], RIDGE) == pytest.approx(
        risk, rel=1e-10
    )


def test_optimal_factor_is_best_approximation(problem):
    _, K, _ = problem
    V = LowRankKernel.from_eigenpairs(K, 5).V
    assert np.linalg.norm(K - V @ V.T) == pytest.approx(
        np.linalg.norm(np.linalg.eigvalsh(K)[:-5])
    )


def test_weights_only_matter_below_full_rank(problem):
    _, K, Y = problem
    chosen, weights = np.array([3, 30, 7, 11]), np.array([1.0, 5.0, 1.0, 0.2])
    C = K[:, chosen]
    W = np.diag(weights)
    plain = LowRankKernel.from_columns(C, chosen)
    full = LowRankKernel.from_columns(C, chosen, weights, rank=4)
    np.testing.assert_allclose(
        full.V @ full.V.T @ Y, plain.V @ plain.V.T @ Y, rtol=1e-8
    )
    low = LowRankKernel.from_columns(C, chosen, weights, rank=2)
    U, s, _ = np.linalg.svd(W @ C[chosen] @ W)
    inverse = (U[:, :2] / s[:2]) @ U[:, :2].T
    np.testing.assert_allclose(
        low.V @ low.V.T, C @ W @ inverse @ W @ C.T, rtol=1e-8, atol=1e-12
    )


def test_pseudo_inverse_singular_matrix():
    D = np.ones((4, 4))
    B = inverse_square_root(D)
    assert B.shape == (4, 1)
    np.testing.assert_allclose(B @ B.T, np.linalg.pinv(D), atol=1e-12)
    assert ranked_eigh(D, rank=3)[2] == 3
    assert inverse_square_root(np.zeros((3, 3))).shape == (3, 0)
    Y = np.ones((5, 1))  # a zero kernel leaves the labels
    low_rank = LowRankKernel.from_columns(np.zeros((5, 2)), np.arange(2))
    assert CRITERIA["ridge-risk"](low_rank, Y, RIDGE) == pytest.approx(1.0)

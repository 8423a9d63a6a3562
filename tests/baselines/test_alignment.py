import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from adakern.baselines import RandomFeatureAlignment
from adakern.baselines.alignment import feature_alignments, most_aligned


@pytest.mark.parametrize("rho", [0.1, 1.0, 5.0, 25.0])
def test_most_aligned_equals_cvxpy(rho):
    v = np.random.default_rng(0).exponential(size=30) ** 2
    q = cp.Variable(30, nonneg=True)
    ball = 30 * cp.sum_squares(q) - 1 <= rho
    problem = cp.Problem(cp.Maximize(v @ q), [cp.sum(q) == 1, ball])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9)
    np.testing.assert_allclose(most_aligned(v, rho), q.value, atol=1e-5)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.floats(0, 60))
def test_most_aligned_is_a_distribution_within_the_ball(values, rho):
    v = np.array(values)
    q = most_aligned(v, rho)
    assert q.min() >= 0
    assert q.sum() == pytest.approx(1)
    assert len(q) * q @ q - 1 <= rho + 1e-6
    assert v @ q >= v.mean() - 1e-9


def test_feature_alignments_equal_double_sum(rng):
    X, y = make_moons(20, noise=0.2, random_state=0)
    W, phases = rng.normal(size=(2, 7)), rng.uniform(0, 6, size=7)
    signs = np.where(y == 1, 1.0, -1.0)
    features = np.sqrt(2) * np.cos(X @ W + phases)
    double_sum = np.einsum("i,j,im,jm->m", signs, signs, features, features)
    np.testing.assert_allclose(2 * feature_alignments(X, y, W, phases), double_sum)


def test_uniform_weights_approximate_the_gaussian_kernel():
    X, y = make_moons(30, random_state=0)
    model = RandomFeatureAlignment(
        gamma=0.7, rho=0.0, n_candidates=50_000, random_state=0
    )
    features = model.fit(X, y)._features(X)
    np.testing.assert_allclose(
        features @ features.T, rbf_kernel(X, gamma=0.7), atol=0.03
    )


def test_learned_weights_select_features():
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = RandomFeatureAlignment(gamma=2.0, random_state=0).fit(X[::2], y[::2])
    assert model.objective_ > 3
    assert model.rank_ < 1000
    assert model.score(X[1::2], y[1::2]) > 0.9

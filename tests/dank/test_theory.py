"""The papers' bounds, on data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans

from adakern.dank.exact import METHODS
from adakern.dank.objective import make_objective
from adakern.dank.theory import between_clusters, partition_bounds, screened_rows
from adakern.kernels import gram_matrix
from adakern.svm.dual import classification_dual

C, ETA = 2.0, 200.0


def solve(K, y, eta=ETA):
    """Exact solution of problem 17 on K: dual variables, F and the saddle itself."""
    saddle = make_objective(K, classification_dual(y, C, False), eta, 0.0)
    start = np.zeros(len(y))
    point = METHODS["newton"](saddle, start, tol=1e-8, max_iter=100).point
    return point, 1 + K * np.outer(point.d, point.d) / (4 * eta)


def H(K, d, alpha, F, eta=ETA):
    """The objective of problem 17 written out."""
    return alpha.sum() - d @ (F * K) @ d / 2 + eta * ((F - 1) ** 2).sum()


@pytest.fixture(params=[2, 5, 10])
def partitioned(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=120) > 0, 1.0, -1.0)
    K = gram_matrix(X, gamma=1.0)
    clusters = KMeans(request.param, n_init=1, random_state=0).fit_predict(X)
    K_bar = K * (clusters[:, None] == clusters)
    return K, K_bar, y, clusters, solve(K, y), solve(K_bar, y)


def entries(F, F_bar):
    return min(F.min(), F_bar.min()), max(F.max(), F_bar.max())


def test_between_clusters_is_the_off_diagonal_mass(partitioned):
    K, K_bar, _, clusters, _, _ = partitioned
    assert_allclose(between_clusters(K, clusters), np.abs(K - K_bar).sum())
    assert between_clusters(K, np.zeros(len(K))) == 0
    everyone_alone = between_clusters(K, np.arange(len(K)))
    assert_allclose(everyone_alone, np.abs(K).sum() - np.trace(K))


def test_objective_bound_holds(partitioned):
    K, _, _, clusters, (best, F), (part, F_bar) = partitioned
    bounds = partition_bounds(K, clusters, C, ETA, *entries(F, F_bar))
    difference = H(K, best.d, best.u, F) - H(K, part.d, part.u, F_bar)
    assert abs(difference) <= bounds.objective


def test_objective_bound_as_printed_is_broken(partitioned):
    K, K_bar, y, clusters, _, _ = partitioned
    eta = 2e4  # F is one to three digits, so B = B2 - B1 is almost zero
    (best, F), (part, F_bar) = solve(K, y, eta), solve(K_bar, y, eta)
    bounds = partition_bounds(K, clusters, C, eta, *entries(F, F_bar))
    difference = H(K, best.d, best.u, F, eta) - H(K, part.d, part.u, F_bar, eta)
    assert bounds.objective_printed < abs(difference) <= bounds.objective


def test_printed_bounds_of_the_preprint_hold_on_these_data(partitioned):
    K, _, _, clusters, (best, F), (part, F_bar) = partitioned
    bounds = partition_bounds(K, clusters, C, ETA, *entries(F, F_bar))
    assert ((best.u - part.u) ** 2).sum() <= bounds.coefficients_printed
    assert np.linalg.norm(F - F_bar) <= bounds.factor_printed


def test_screening_is_safe_and_never_fires(partitioned):
    K, _, _, _, (best, F), (part, F_bar) = partitioned
    smallest, largest = entries(F, F_bar)
    screened = screened_rows(part.gradient, K, C, smallest, largest)
    assert not best.u[screened].any()
    # Not even for the most negative gradient that is possible at all.
    lowest = 1 - largest * C * np.abs(K).sum(axis=0)
    assert not screened_rows(lowest, K, C, smallest, largest).any()


def test_bounds_need_a_positive_range():
    with pytest.raises(ValueError, match=r"smallest=-0\.1"):
        partition_bounds(np.eye(2), [0, 1], 1.0, 1.0, -0.1, 1.0)

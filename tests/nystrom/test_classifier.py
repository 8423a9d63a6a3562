"""Kernel ridge classification with a selected kernel, against its definition."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from adakern.kernels import gram_matrix
from adakern.nystrom import SelectedKernelRidgeClassifier

GAMMAS = [0.25, 1.0, 4.0]


def test_exact_sampling_matches_dense_definition():
    X, y = make_moons(60, noise=0.25, random_state=0)
    options = {"param_grid": {"gamma": GAMMAS}, "sampling": "exact", "ridge": 0.01}
    model = SelectedKernelRidgeClassifier(**options).fit(X, y)
    signs = 2.0 * y - 1
    coefficients, criteria = {}, []
    for gamma in GAMMAS:
        K = gram_matrix(X, gamma=gamma) + 0.01 * 60 * np.eye(60)
        coefficients[gamma] = np.linalg.solve(K, signs)
        criteria.append(0.01 * signs @ coefficients[gamma])
    np.testing.assert_allclose(model.record_["criterion"], criteria)
    best = GAMMAS[int(np.argmin(criteria))]
    assert model.record_["selected_gamma"] == best
    assert model.record_["candidate_gamma"] == GAMMAS
    expected = gram_matrix(X, gamma=best) @ coefficients[best]
    np.testing.assert_allclose(model.decision_function(X), expected)
    np.testing.assert_array_equal(model.predict(X), (expected > 0).astype(int))


@pytest.mark.parametrize("kernel", ["laplacian", "l2-laplacian"])
def test_selected_ridge_and_kernel_are_used(kernel):
    X, y = make_moons(50, noise=0.2, random_state=0)
    grid = [{"kernel": [kernel], "ridge": [0.02]}]  # and gamma="scale"
    model = SelectedKernelRidgeClassifier(param_grid=grid, criterion="loo").fit(X, y)
    K = gram_matrix(X, kernel=kernel, gamma=1 / (2 * X.var()))
    expected = K @ np.linalg.solve(K + 0.02 * 50 * np.eye(50), 2.0 * y - 1)
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6)

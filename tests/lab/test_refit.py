"""Ridge regression on kernel columns against scikit-learn and against leaving out."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from adakern.lab.refit import RidgePath

RIDGES = [1e-3, 0.1, 10.0]


def random_columns(seed=0, n=30, S=6):
    rng = np.random.default_rng(seed)
    K = np.exp(-rng.uniform(0, 3, size=(n, S)))
    return K, 5 + K @ rng.normal(size=S) + 0.1 * rng.normal(size=n)


def blocks_of(K, size=7):
    edges = [*range(0, len(K), size), len(K)]
    slices = [slice(*ends) for ends in pairwise(edges)]
    return [(rows, K[rows]) for rows in slices]


@settings(max_examples=25)
@given(
    st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 12), st.floats(1e-4, 100)
)
def test_coefficients_match_ridge(seed, n, S, ridge):
    K, y = random_columns(seed, n, S)
    path = RidgePath(lambda: blocks_of(K), y)
    coef, intercept = path.coefficients(ridge)
    expected = Ridge(ridge, solver="svd").fit(K, y)
    assert_allclose(coef, expected.coef_, rtol=1e-6, atol=1e-7)
    assert_allclose(intercept, expected.intercept_, rtol=1e-7)
    T = random_columns(seed + 1, 5, S)[0]
    assert_allclose(path.predictions(T, [ridge])[:, 0], expected.predict(T), rtol=1e-6)


@pytest.mark.parametrize("n", [8, 30])
def test_leave_one_out_error_matches_brute_force(n):
    K, y = random_columns(n=n, S=6)
    path = RidgePath(lambda: blocks_of(K), y)
    for ridge, error in zip(RIDGES, path.leave_one_out(RIDGES), strict=True):
        left_out = cross_val_predict(Ridge(ridge, solver="svd"), K, y, cv=LeaveOneOut())
        assert_allclose(error, np.mean((left_out - y) ** 2), rtol=1e-7)

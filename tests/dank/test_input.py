"""Invalid and extreme input gives clear errors or correct results."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adakern.dank import DANKClassifier, DANKRegressor
from adakern.dank.exact import fit_exact

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.where(X[:, 0] > 0, 1, -1)
SQUARE = np.random.default_rng(1).uniform(size=(20, 2))
PRECOMPUTED = {"kernel": "precomputed"}


def with_entries(upper, lower):
    K = np.eye(20)
    K[0, 1], K[1, 0] = upper, lower
    return K


@pytest.mark.parametrize("kind", [DANKClassifier, DANKRegressor])
@pytest.mark.parametrize(
    ("options", "rows", "message"),
    [
        ({"C": 0.0}, X, "'C' parameter"),
        ({"eta": 0.0}, X, "'eta' parameter"),
        ({"eta": np.nan}, X, "'eta' parameter"),
        ({"tau": -1.0}, X, "'tau' parameter"),
        (PRECOMPUTED, with_entries(3.0, 3.0), r"not positive semidefinite.*is -2"),
        (PRECOMPUTED, with_entries(0.5, 0.0), "not symmetric"),
        (PRECOMPUTED, np.ones((20, 3)), "square"),
        (
            PRECOMPUTED | {"strategy": "decomposed"},
            np.eye(20),
            r'kernel="precomputed" requires strategy="exact"',
        ),
        (
            PRECOMPUTED | {"strategy": "whole"},
            np.eye(20),
            r'kernel="precomputed" requires strategy="exact"',
        ),
        (
            {"kernel": "tl1", "gamma": 1.0},
            SQUARE,
            "kernel='tl1' is not positive semidefinite",
        ),
    ],
)
def test_invalid_input_raises(kind, options, rows, message):
    with pytest.raises(ValueError, match=message):
        kind(**options).fit(rows, Y)


def test_tl1_is_accepted_if_positive_semidefinite():
    line = np.linspace(0, 1, 20)[:, None]
    labels = np.where(line[:, 0] > 0.4, 1, -1)
    assert (
        DANKClassifier(kernel="tl1", gamma=2.0).fit(line, labels).score(line, labels)
        > 0.9
    )


def test_duplicate_rows_with_opposite_labels():
    doubled, labels = np.vstack([X, X]), np.concatenate([Y, -Y])
    fitted = DANKClassifier(C=1.0, gamma=1.0, tol=1e-6, extension="none").fit(
        doubled, labels
    )
    # Every label is contradicted: all dual variables equal C, and with the kernel of
    # the SVM the decision is constant.
    assert_allclose(np.abs(fitted.dual_coef_), 1.0)
    assert np.ptp(fitted.decision_function(X)) < 1e-9


@pytest.mark.parametrize("tau", [0.0, 0.01])
def test_constant_target(tau):
    fitted = DANKRegressor(tau=tau).fit(X, np.full(20, 3.0))
    assert_allclose(fitted.predict(X), 3.0, atol=0.11)
    assert fitted.converged_


def test_F_is_zero_if_threshold_exceeds_eigenvalues():
    fitted = DANKClassifier(tau=1e6, eta=1.0).fit(X, Y)
    assert fitted.rank_ == 0
    assert np.ptp(fitted.decision_function(X)) == 0


@pytest.mark.parametrize("n_rows", [10**6, 10**8, 10**10])
def test_too_little_memory_raises_before_computation(n_rows):
    with pytest.raises(MemoryError, match='strategy="decomposed"'):
        fit_exact(DANKClassifier(), range(n_rows), None)


def test_input_is_not_modified():
    K = X @ X.T + np.eye(20)
    original = K.copy()
    DANKClassifier(kernel="precomputed", tau=0.0).fit(K, Y).predict(K)
    assert_allclose(K, original, rtol=0, atol=0)


@pytest.mark.parametrize("seed", [7, 54])
def test_identity_as_kernel_matrix(seed):
    """Rows that are far apart: LAPACK failed for the repeated eigenvalues of F."""
    rng = np.random.default_rng(seed)
    n = rng.integers(10, 60)
    X, y = rng.normal(size=(n, 3)), rng.normal(size=n)
    model = DANKRegressor(gamma=1e4).fit(X, y)
    assert model.converged_
    # Each row is fitted by itself, y_i = F_ii d_i + b, or its d is at the bound.
    F = np.einsum("ir,ir->i", model.adaptive_factor_, model.adaptive_factor_)
    d = np.zeros(n)
    d[model.support_] = model.dual_coef_[0]
    residual = y - F * d - model.intercept_
    inside = np.abs(d) < 0.999
    assert (np.abs(residual[inside]) < 0.101).all()

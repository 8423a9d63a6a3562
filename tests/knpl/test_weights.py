"""Sample weights act as repeated rows, in KNPL's saddle function and predictions."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from adakern.kernels import gram_matrix
from adakern.knpl import KNPLClassifier
from adakern.knpl.solver import SaddleFunction, solve_exact
from adakern.svm.dual import classification_dual


def small_problem(n=12):
    rng = np.random.default_rng(3)
    X, y = rng.uniform(size=(n, 3)), np.where(rng.permutation(n) < n // 2, 1.0, -1.0)
    return X, y, rng.integers(1, 5, size=n)


def test_saddle_function_weights_match_repeated_rows():
    X, y, w = small_problem()
    X_all, y_all = X.repeat(w, axis=0), y.repeat(w)
    K, K_all = gram_matrix(X, gamma=2.0), gram_matrix(X_all, gamma=2.0)
    u = np.random.default_rng(0).uniform(0, 1, size=len(y))
    dual = classification_dual(y, 1.0, weights=w.astype(float))
    share = SaddleFunction(K, dual, 0.3)
    every = SaddleFunction(K_all, classification_dual(y_all, 1.0), 0.3)
    # Of a row that stands for w the variable is the sum of those of the w.
    point, expected = share(u * w), every(u.repeat(w))
    assert point.value == pytest.approx(expected.value, rel=1e-12)
    assert point.gap == pytest.approx(expected.gap, rel=1e-12)
    assert point.intercept == pytest.approx(expected.intercept, rel=1e-12)
    np.testing.assert_allclose(point.gradient.repeat(w), expected.gradient, rtol=1e-10)
    layer, expected = share.layer(y * u * w), every.layer(y_all * u.repeat(w))
    np.testing.assert_allclose(
        layer.repeat(w, axis=0).repeat(w, axis=1), expected, rtol=1e-10
    )


@pytest.mark.parametrize(("C", "reg"), [(1.0, 0.02), (10.0, 5.0)])
def test_optimum_weights_match_repeated_rows(C, reg):
    X, y, w = small_problem()
    K = gram_matrix(X, gamma=2.0)
    K_all = K.repeat(w, axis=0).repeat(w, axis=1)
    ends = {"max_iter": 5000, "tol": 1e-8}
    share = solve_exact(K, y, C, reg, weights=w.astype(float), **ends)
    every = solve_exact(K_all, y.repeat(w), C, reg, **ends)
    assert share.converged and every.converged
    assert share.objective == pytest.approx(every.objective, rel=1e-6)
    assert share.intercept == pytest.approx(every.intercept, abs=1e-3)


def wine():
    X, y = load_wine(return_X_y=True)
    w = np.random.default_rng(0).integers(0, 4, size=len(y))
    return scale(X), y, w


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_sample_weight_matches_repeated_rows(kernel):
    X, y, w = wine()
    X, y, w = X[::3], y[::3], w[::3]
    new = scale(load_wine().data)[1::3]
    model = KNPLClassifier(C=2.0, reg=5.0, gamma=0.1, kernel=kernel)
    rows = np.arange(len(y)).repeat(w)
    if kernel == "precomputed":
        K, K_new = gram_matrix(X, gamma=0.1), gram_matrix(new, X, gamma=0.1)
        repeated = model.fit(K[np.ix_(rows, rows)], y[rows]).decision_function(
            K_new[:, rows]
        )
        weighted = model.fit(K, y, sample_weight=w).decision_function(K_new)
    else:
        repeated = model.fit(X[rows], y[rows]).decision_function(new)
        weighted = model.fit(X, y, sample_weight=w).decision_function(new)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)
    assert not set(model.support_) & set(np.flatnonzero(w == 0))


def test_fractional_weights_match_svc():
    """With a large reg the layer is one, and the model is SVC's with these weights."""
    X, y, _ = wine()
    X, y = X[y < 2], y[y < 2]
    w = np.random.default_rng(1).uniform(0.2, 3, size=len(y))
    model = KNPLClassifier(reg=1e8, gamma=0.1, tol=1e-8).fit(X, y, sample_weight=w)
    svc = SVC(gamma=0.1, tol=1e-8).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(
        model.decision_function(X), svc.decision_function(X), atol=1e-3
    )


def test_unit_weights_and_invalid_weights():
    X, y, _ = wine()
    model = KNPLClassifier()
    plain = model.fit(X, y).decision_function(X)
    ones = model.fit(X, y, sample_weight=np.ones(len(y))).decision_function(X)
    np.testing.assert_array_equal(plain, ones)
    with pytest.raises(ValueError, match="zero"):
        model.fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="takes no sample_weight"):
        KNPLClassifier(solver="admm").fit(X, y, sample_weight=np.ones(len(y)))


def test_predict_proba_sample_weight():
    """Equal rows are in one fold, and count in the sigmoids as often as in the fit."""
    X, y, w = wine()
    model = KNPLClassifier(reg=20.0, gamma=0.1, probability=True)
    repeated = model.fit(X.repeat(w, axis=0), y.repeat(w)).predict_proba(X)
    weighted = model.fit(X, y, sample_weight=w).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-6)
    plain = model.fit(X, y).predict_proba(X)
    assert np.abs(weighted - plain).max() > 1e-3

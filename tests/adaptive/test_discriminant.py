"""Regularised discriminant analysis, compared with its definition and scikit-learn."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from adakern import AdaptiveKernelClassifier
from adakern.adaptive.members import discriminant
from steps import member, suited


def make_classes(n=90, d=4, k=3, seed=0):
    """Rows of k classes in turn, with a mean and a covariance for each class."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % k
    shapes = rng.standard_normal((k, d, d))
    X = np.einsum("ij,ijk->ik", rng.standard_normal((n, d)), shapes[codes])
    X += rng.standard_normal((k, d))[codes]
    return X, np.eye(k)[codes], rng.uniform(0.5, 2.0, n)


def fitted(X, Y, weights):
    return member("discriminant", classify=True).fit(X, Y, weights)


def test_predictions_equal_densities_by_definition():
    X, Y, weights = make_classes()
    codes = Y.argmax(axis=1)
    shrunk = []
    pooled = sum(
        np.cov(X[codes == c].T, aweights=weights[codes == c], ddof=0)
        * weights[codes == c].sum()
        for c in range(3)
    )
    for c in range(3):
        w = weights[codes == c]
        scatter = np.cov(X[codes == c].T, aweights=w, ddof=0) * w.sum()
        covariance = 0.95 * scatter + 0.05 * pooled
        covariance /= 0.95 * w.sum() + 0.05 * weights.sum()
        ridge = 0.05 * np.trace(covariance) / 4 * np.eye(4)
        mean = np.average(X[codes == c], axis=0, weights=w)
        density = multivariate_normal(mean, 0.95 * covariance + ridge)
        shrunk.append(density.logpdf(X) + np.log(w.sum() + 0.5))
    expected = log_softmax(np.transpose(shrunk), axis=1)
    found = fitted(X, Y, weights).predict(X)
    # Log probabilities are at least log(1e-6).
    np.testing.assert_allclose(found, np.maximum(expected, np.log(1e-6)), atol=1e-9)


def test_linear_discriminant_analysis_is_a_special_case(monkeypatch):
    monkeypatch.setattr(discriminant, "TO_POOLED", 1.0)
    monkeypatch.setattr(discriminant, "TO_IDENTITY", 0.0)
    X, Y, _ = make_classes()
    found = fitted(X, Y, np.ones(len(X))).predict(X)
    like = LinearDiscriminantAnalysis(solver="lsqr").fit(X, Y.argmax(axis=1))
    expected = np.maximum(like.predict_log_proba(X), np.log(1e-6))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_weight_two_equals_two_rows():
    X, Y, _ = make_classes()
    twice = np.repeat(np.arange(len(X)), 1 + np.arange(len(X)) % 2)
    found = fitted(X, Y, np.bincount(twice).astype(float)).predict(X)
    expected = fitted(X[twice], Y[twice], np.ones(len(twice))).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_classes_of_one_point_each_are_predicted():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0]], 5, axis=0)
    Y = np.eye(3)[[0] * 5 + [2] * 5]
    predicted = fitted(X, Y, np.ones(10)).predict(X)
    assert np.isfinite(predicted).all()
    np.testing.assert_array_equal(predicted.argmax(axis=1), Y.argmax(axis=1))
    assert np.exp(predicted[:, 1]).max() < 1e-5  # a class without rows


def test_it_suits_few_rows_of_numbers():
    assert "discriminant" in suited(299, 100, classify=True)
    assert "svm" not in suited(299, 100, classify=True)
    assert "discriminant" not in suited(300, 100, classify=True)
    assert "svm" in suited(300, 100, classify=True)
    assert "discriminant" not in suited(100, 101, classify=True)
    assert "discriminant" not in suited(100, 5, classify=True, fast=True)
    assert "discriminant" not in suited(100, 5)
    categories = np.array([False, True])
    few = suited(100, 2, classify=True, is_categorical=categories)
    assert "discriminant" not in few


@pytest.mark.parametrize("seed", range(3))
def test_classes_that_differ_in_spread_are_learned_from_few_rows(seed):
    """Two normal distributions with equal means; Bayes' log loss is their own."""
    rng = np.random.default_rng(seed)
    y = np.arange(1200) % 2
    spread = np.where(y, 2.0, 1.0)[:, None]
    X = spread * rng.standard_normal((1200, 8))
    model = AdaptiveKernelClassifier(random_state=0).fit(X[:200], y[:200])
    assert model.weights_["discriminant"] > 0.3
    known = np.stack([-np.sum(X**2, 1) / 2, -np.sum(X**2, 1) / 8 - 8 * np.log(2)], 1)
    own = y[:, None] == np.arange(2)
    bayes = -log_softmax(known, axis=1)[own][200:].mean()
    found = -np.log(model.predict_proba(X[200:])[own[200:]]).mean()
    assert found < bayes + 0.1

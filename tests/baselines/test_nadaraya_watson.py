import numpy as np
import pytest

from adakern.baselines import MetricNadarayaWatson


def gaussian_sample(n=300, d=6, seed=0):
    """Jointly normal x and y, with the slope across the axes of the covariance."""
    rng = np.random.default_rng(seed)
    scales = np.geomspace(1, 4, d)
    X = rng.normal(size=(n, d)) * scales
    slope = np.ones(d) / scales
    return X, X @ slope + 0.1 * rng.normal(size=n)


def local_metric(model, x):
    """The matrix A of the docstring at x, with determinant 1."""
    a, b = -model.precision_ @ (x - model.mean_), model.slope_
    A = np.outer(a, a) / (a @ a) + np.outer(b, b) / (b @ b) + model.reg * np.eye(len(x))
    return A / np.linalg.det(A) ** (1 / len(x))


def by_hand(model, x, X, y, A):
    weights = [np.exp(-(x - z) @ A @ (x - z) / (2 * model.bandwidth_**2)) for z in X]
    return np.dot(weights, y) / np.sum(weights)


def test_prediction_is_the_weighted_mean_of_its_definition():
    X, y = gaussian_sample(n=60, d=3)
    model = MetricNadarayaWatson().fit(X, y)
    for x in X[:5] + 0.1:
        expected = by_hand(model, x, X, y, local_metric(model, x))
        assert model.predict(x[None, :])[0] == pytest.approx(expected)


def test_local_metric_has_determinant_one_and_cancels_the_leading_bias():
    X, y = gaussian_sample()
    model = MetricNadarayaWatson(reg=1e-9).fit(X, y)
    for x in X[:5]:
        A = local_metric(model, x)
        assert np.linalg.det(A) == pytest.approx(1, rel=1e-6)
        a = -model.precision_ @ (x - model.mean_)
        B = np.outer(a, model.slope_) + np.outer(model.slope_, a)
        # The metric from the positive and the negative eigenvector of B.
        values, vectors = np.linalg.eigh(B)
        ends = vectors[:, [0, -1]]
        rank_two = (ends * np.abs(values[[0, -1]])) @ ends.T
        np.testing.assert_allclose(A / np.trace(A), rank_two / np.trace(rank_two), atol=1e-6)
        bias = np.trace(np.linalg.pinv(rank_two) @ B)
        assert abs(bias) < 1e-6


def test_bandwidth_has_the_least_leave_one_out_error():
    X, y = gaussian_sample(n=40, d=2)
    model = MetricNadarayaWatson().fit(X, y)
    best = min(model.loo_errors_, key=model.loo_errors_.get)
    assert model.bandwidth_ == best
    left_out = [
        by_hand(model, X[i], np.delete(X, i, axis=0), np.delete(y, i), local_metric(model, X[i]))
        for i in range(40)
    ]
    assert model.loo_errors_[best] == pytest.approx(np.mean((y - left_out) ** 2))


def test_learned_metric_beats_the_euclidean_one_on_gaussian_data():
    X, y = gaussian_sample(n=600)

    def error(reg):
        model = MetricNadarayaWatson(reg=reg).fit(X[:400], y[:400])
        return np.mean((model.predict(X[400:]) - y[400:]) ** 2)

    assert error(reg=0.1) < 0.7 * error(reg=1e9)


def test_constant_feature_and_constant_target():
    X, y = gaussian_sample(n=50, d=3)
    X[:, 1] = 7.0
    assert np.isfinite(MetricNadarayaWatson().fit(X, y).predict(X)).all()
    constant = MetricNadarayaWatson().fit(X, np.full(50, 3.0))
    np.testing.assert_allclose(constant.predict(X), 3.0)

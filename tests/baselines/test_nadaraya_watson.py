import numpy as np
import pytest

from adakern.baselines import MetricNadarayaWatson


def gaussian_sample(n=300, d=6, seed=0):
    """Jointly normal x and y, with a slope not aligned to the axes of
    the covariance.
    """
    rng = np.random.default_rng(seed)
    scales = np.geomspace(1, 4, d)
    X = rng.normal(size=(n, d)) * scales
    slope = np.ones(d) / scales
    return X, X @ slope + 0.1 * rng.normal(size=n)


def local_metric(model, x):
    """The matrix A of the docstring at x, scaled to determinant 1."""
    a, b = -model.precision_ @ (x - model.mean_), model.slope_
    A = np.outer(a, a) / (a @ a) + np.outer(b, b) / (b @ b) + model.reg * np.eye(len(x))
    return A / np.linalg.det(A) ** (1 / len(x))


def weighted_mean(model, x, X, y):
    A = local_metric(model, x)
    weights = [np.exp(-(x - z) @ A @ (x - z) / (2 * model.bandwidth_**2)) for z in X]
    return np.dot(weights, y) / np.sum(weights)


def test_prediction_equals_weighted_mean():
    X, y = gaussian_sample(n=60, d=3)
    model = MetricNadarayaWatson().fit(X, y)
    for x in X[:5] + 0.1:
        assert model.predict(x[None, :])[0] == pytest.approx(
            weighted_mean(model, x, X, y)
        )


def test_bandwidth_minimises_leave_one_out_error():
    X, y = gaussian_sample(n=40, d=2)
    model = MetricNadarayaWatson().fit(X, y)
    best = min(model.loo_errors_, key=model.loo_errors_.get)
    assert model.bandwidth_ == best
    left_out = [
        weighted_mean(model, X[i], np.delete(X, i, axis=0), np.delete(y, i))
        for i in range(40)
    ]
    assert model.loo_errors_[best] == pytest.approx(np.mean((y - left_out) ** 2))


def test_constant_feature_and_constant_target():
    X, y = gaussian_sample(n=50, d=3)
    X[:, 1] = 7.0
    assert np.isfinite(MetricNadarayaWatson().fit(X, y).predict(X)).all()
    np.testing.assert_allclose(
        MetricNadarayaWatson().fit(X, np.full(50, 3.0)).predict(X), 3.0
    )

"""A weight is a repeated row: in the loss of bandwidths, the ridge and the model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adakern.lab import LABRBFRegressor
from adakern.lab.objective import InterpolationLoss
from adakern.lab.refit import RIDGES, RidgePath

RNG = np.random.default_rng(0)
X, W = RNG.normal(size=(60, 2)), RNG.integers(0, 4, size=60)
Y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.2 * RNG.normal(size=60)
NEW = RNG.normal(size=(9, 2))


@pytest.mark.parametrize("rows", [None, np.array([3, 0, 7, 7])])
def test_loss_weights_match_repeated_rows(rows):
    """Equal support points share their coefficient: the bandwidths feel its sum."""
    w_s, w = RNG.integers(1, 4, size=8), RNG.integers(1, 4, size=20)
    support, others = (X[:8], Y[:8]), (X[8:28], Y[8:28])
    options = {"alpha": 0.1, "profile": "gaussian"}
    weights = {"support_weights": w_s.astype(float), "weights": w.astype(float)}
    weighted = InterpolationLoss(*support, *others, **options, **weights)
    parts = [a.repeat(w_s, axis=0) for a in support]
    parts += [a.repeat(w, axis=0) for a in others]
    every = InterpolationLoss(*parts, **options)
    theta = RNG.uniform(0.5, 2, size=(8, 2))
    chosen = rows
    if rows is not None:
        first = np.cumsum(w) - w
        chosen = np.concatenate([np.arange(first[i], first[i] + w[i]) for i in rows])
    value, gradient = weighted.value_and_gradient(theta, rows)
    expected, slopes = every.value_and_gradient(theta.repeat(w_s, axis=0), chosen)
    assert value == pytest.approx(expected, rel=1e-9)
    ends = np.cumsum(w_s) - w_s
    assert_allclose(gradient, np.add.reduceat(slopes, ends), rtol=1e-7, atol=1e-9)
    if rows is None:
        assert weighted.value(theta) == pytest.approx(expected, rel=1e-9)


def test_ridge_weights_match_repeated_rows():
    K, y, w = RNG.normal(size=(30, 4)), Y[:30], RNG.integers(1, 4, size=30)

    def path(K, y, w=None):
        return RidgePath(lambda: [(slice(None), K)], y, w)

    weighted = path(K, y, w.astype(float))
    coef, intercept = path(K.repeat(w, axis=0), y.repeat(w)).coefficients(0.3)
    assert_allclose(weighted.coefficients(0.3)[0], coef, rtol=1e-9)
    assert weighted.coefficients(0.3)[1] == pytest.approx(intercept)
    errors = []
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        part = path(K[rest], y[rest], w[rest].astype(float))
        errors.append(w[i] * (part.predictions(K[[i]]) - y[i]) ** 2)
    expected = np.sum(errors, axis=0).ravel() / w.sum()
    assert_allclose(weighted.leave_one_out(RIDGES), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [{}, {"variant": "paper", "alpha": 0.01}, {"bandwidth": 1.0, "locality": "global"}],
)
def test_sample_weight_matches_repeated_rows(options):
    model = LABRBFRegressor(max_support=12, max_iter=20, random_state=0, **options)
    weighted = model.fit(X, Y, sample_weight=W)
    support, predicted = weighted.support_, weighted.predict(NEW)
    assert not set(support) & set(np.flatnonzero(W == 0))
    every = np.arange(60).repeat(W)
    repeated = model.fit(X[every], Y[every])
    np.testing.assert_array_equal(every[repeated.support_], support)
    assert_allclose(repeated.predict(NEW), predicted, rtol=1e-12)
    plain = model.fit(X[W > 0], Y[W > 0]).predict(NEW)
    assert np.abs(plain - predicted).max() > 1e-3


def test_all_rows_as_support_matches_weighted_kernel_ridge():
    """All distinct rows are support: (K + alpha / w) a = y - b, with the weighted b."""
    w = RNG.uniform(0.5, 3, size=60)
    model = LABRBFRegressor(
        variant="paper", locality="global", bandwidth=1.0, alpha=0.5, max_support=60
    ).fit(X, Y, sample_weight=w)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    K, b = np.exp(-distances), np.average(Y, weights=w)
    coef = np.linalg.solve(K + 0.5 * np.diag(1 / w), Y - b)
    K_new = np.exp(-((NEW[:, None] - X[None]) ** 2).sum(axis=2))
    assert_allclose(model.predict(NEW), K_new @ coef + b, rtol=1e-6)


def test_unit_weights_and_invalid_weights():
    model = LABRBFRegressor(max_support=10, max_iter=10, random_state=0)
    plain = model.fit(X, Y).predict(NEW)
    np.testing.assert_array_equal(model.fit(X, Y, np.ones(60)).predict(NEW), plain)
    with pytest.raises(ValueError, match="zero"):
        model.fit(X, Y, np.zeros(60))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, Y, -np.ones(60))

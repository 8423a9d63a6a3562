import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma as gamma_distribution
from scipy.stats import truncnorm
from sklearn.datasets import load_diabetes, make_moons

from adakern.baselines import BayesianMKLRegressor, KernelBank, bayesian_mkl
from adakern.baselines.bayesian_mkl import (
    FixedPrecision,
    GammaFactor,
    GaussianTarget,
    MeanField,
)

BANK = KernelBank((0.3, 2.0, 20.0), (2,))


def classification_field(margin=1.0, output_scale=0.5):
    X, y = make_moons(40, noise=0.2, random_state=0)
    target = bayesian_mkl.TruncatedTarget(np.where(y == 1, 1.0, -1.0), margin)
    return MeanField(BANK.stack(X), target, FixedPrecision(output_scale**-2.0))


def regression_field():
    X = np.random.default_rng(0).uniform(size=(40, 2))
    y = np.sin(7 * X[:, 0]) + X[:, 1]
    return MeanField(BANK.stack(X), GaussianTarget(y), GammaFactor(count=4 * 40))


@pytest.mark.parametrize("make", [classification_field, regression_field])
def test_updates_maximise_the_lower_bound_over_each_factor(make, rng):
    field = make()
    bounds = [field.lower_bound()]
    for _ in range(15):
        for update in field.updates:
            update()
            bounds.append(field.lower_bound())
    assert np.diff(bounds).min() >= -1e-8 * abs(bounds[-1])
    assert bounds[-1] > bounds[0] + 1
    for update, name in (("weights", "a"), ("outputs", "G"), ("combination", "be")):
        getattr(field, f"update_{update}")()
        best, mean = field.lower_bound(), getattr(field, name).copy()
        for _ in range(5):
            setattr(field, name, mean + 0.05 * rng.normal(size=mean.shape))
            field.scores = (field.K.T @ field.a).reshape(field.G.shape)
            assert field.lower_bound() < best
        setattr(field, name, mean)
        field.scores = (field.K.T @ field.a).reshape(field.G.shape)


def test_covariance_of_weights():
    field = classification_field()
    field.update_weights()
    covariance = np.linalg.inv(
        np.diag(field.sample.mean) + field.upsilon.mean[0] * field.KK
    )
    np.testing.assert_allclose(field.a_variances, np.diag(covariance), rtol=1e-6)
    assert field.a_trace == pytest.approx(np.trace(field.KK @ covariance), rel=1e-6)
    assert field.a_logdet == pytest.approx(np.linalg.slogdet(covariance)[1], rel=1e-6)


def test_gamma_divergence_equals_integral():
    factor = GammaFactor(count=3)
    factor.update(4.0)
    q = gamma_distribution(factor.shape, scale=1 / factor.rate[0])
    p = gamma_distribution(1.0)
    value, _ = quad(lambda x: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), 0, 30)
    assert factor.divergence() == pytest.approx(value, rel=1e-6)


def test_truncated_moments_equal_scipy():
    y, score, margin = np.array([1.0, -1.0, 1.0]), np.array([0.3, 0.8, -4.0]), 0.7
    target = bayesian_mkl.TruncatedTarget(y, margin)
    target.update(score, 0.0)
    upper, infinity = margin - y * score, np.full(3, np.inf)
    reference = truncnorm(upper, infinity, loc=y * score)
    np.testing.assert_allclose(y * target.mean, reference.mean(), rtol=1e-6)
    squares = reference.var() + reference.mean() ** 2
    assert target.second_moment == pytest.approx(squares.sum(), rel=1e-6)


def test_invariance_to_scale_of_target():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120] * 10, y[:120]
    model = BayesianMKLRegressor(gammas=[0.1, 1.0], degrees=[1]).fit(X, y)
    scaled = BayesianMKLRegressor(gammas=[0.1, 1.0], degrees=[1]).fit(X, 1e4 * y - 7)
    np.testing.assert_allclose(scaled.predict(X), 1e4 * model.predict(X) - 7, rtol=1e-6)
    assert model.score(X, y) > 0.4

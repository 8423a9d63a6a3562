"""LABRBFRegressor as it comes: what it chooses on the rows it holds out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from adakern.lab import LABRBFRegressor, lab_gram_matrix
from adakern.lab.refit import RIDGES
from adakern.lab.selection import Candidate, choose

FOLDS = KFold(5, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def local_data():
    """A target whose frequency grows along the first of two features."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, size=(500, 2))
    return X, np.sin(2 * X[:, 0] ** 3) + 0.05 * rng.normal(size=500)


def units(d):
    """Of features: from thousandths to thousands."""
    return 1000.0 ** (np.arange(d) % 3 - 1)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("load", "least"),
    [
        (lambda: load_diabetes(return_X_y=True), 0.464),
        pytest.param(
            lambda: make_friedman1(2000, noise=1.0, random_state=0), 0.918, marks=pytest.mark.slow
        ),
    ],
    ids=["diabetes", "friedman1"],
)
def test_as_well_as_kernel_ridge_regression(load, least, scaled):
    """With a Gaussian kernel on standardised features."""
    X, y = load()
    X = X * units(X.shape[1]) if scaled else X
    scores = cross_val_score(LABRBFRegressor(random_state=0), X, y, cv=FOLDS)
    assert scores.mean() >= least


@pytest.mark.slow
def test_the_other_profile_is_as_safe():
    X, y = load_diabetes(return_X_y=True)
    model = LABRBFRegressor("laplacian", max_support=50, random_state=0)
    assert cross_val_score(model, X, y, cv=FOLDS).mean() >= 0.42


def test_locality_is_earned(local_data):
    X, y = local_data
    model = LABRBFRegressor(max_support=40, random_state=0).fit(X[:350], y[:350])
    assert model.locality_ == "local"
    score = model.score(X[350:], y[350:])
    single = LABRBFRegressor(max_support=40, locality="global", random_state=0)
    assert 1 - score < 0.5 * (1 - single.fit(X[:350], y[:350]).score(X[350:], y[350:]))
    # Little to be learned: a plane under noise.
    rng = np.random.default_rng(1)
    plane = X[:, 0] + rng.normal(size=500)
    assert LABRBFRegressor(random_state=0).fit(X, plane).locality_ != "local"


@pytest.mark.parametrize("locality", ["global", "shared", "local"])
def test_a_locality_asked_for_is_given(local_data, locality):
    X, y = local_data
    options = {"locality": locality, "max_support": 20, "max_iter": 50, "random_state": 0}
    model = LABRBFRegressor(**options).fit(X, y)
    assert model.locality_ == model.record_["locality"] == locality
    vectors = np.unique(model.bandwidths_ * X.std(axis=0), axis=0)
    if locality == "global":
        assert_allclose(vectors / vectors[0, 0], 1, rtol=1e-6)
    else:
        assert (len(vectors) == 1) == (locality == "shared")
    # The coefficients are a ridge regression of all rows.
    K = lab_gram_matrix(X, X[model.support_], model.bandwidths_, "gaussian")
    assert np.isclose(RIDGES, model.alpha_).any()
    ridge = Ridge(model.alpha_, solver="svd").fit(K, y / y.std())
    assert_allclose(model.predict(X), ridge.predict(K) * y.std(), atol=1e-5)


def test_rows_held_out_are_never_support_points(local_data):
    X, y = local_data
    model = LABRBFRegressor(max_support=400, max_iter=10, random_state=0)
    assert len(model.fit(X, y).support_) <= 400 * 0.8 + 1


def test_few_rows_get_one_bandwidth(local_data):
    X, y = local_data
    for n in (2, 10, 49):
        model = LABRBFRegressor(random_state=0).fit(X[:n], y[:n])
        assert model.locality_ == "global"
        assert np.isfinite(model.predict(X)).all()


def test_noise_is_not_learned(local_data):
    X, _ = local_data
    noise = np.random.default_rng(3).normal(size=500)
    rng = np.random.default_rng(4)
    model = LABRBFRegressor(random_state=0).fit(X, noise)
    assert model.score(rng.uniform(0, 3, size=(500, 2)), rng.permutation(noise)) > -0.2


def candidate(locality, errors):
    return Candidate(locality, np.arange(1), None, np.asarray(errors), 1.0)


def test_the_richer_candidate_has_to_be_better_by_a_standard_error():
    rng = np.random.default_rng(0)
    base = rng.uniform(1, 2, size=100)
    simple = candidate("global", base)
    slightly = candidate("local", base - 1e-3 + rng.normal(size=100))
    clearly = candidate("local", base - 0.5 + 0.1 * rng.normal(size=100))
    assert choose([simple, slightly]) is simple
    assert choose([simple, clearly, slightly]) is clearly
    assert choose([clearly]) is clearly

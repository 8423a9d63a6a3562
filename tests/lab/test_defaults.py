"""Default parameters of LABRBFRegressor: what it selects on held-out rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from adakern.lab import LABRBFRegressor, lab_gram_matrix
from adakern.lab.refit import RIDGES

FOLDS = KFold(5, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def local_data():
    """A target whose frequency grows along the first of two features."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 3, size=(500, 2))
    return X, np.sin(2 * X[:, 0] ** 3) + 0.05 * rng.normal(size=500)


def feature_scales(d):
    """Scales of d features, from thousandths to thousands."""
    return 1000.0 ** (np.arange(d) % 3 - 1)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    ("table", "options", "least"),
    [
        ("diabetes", {}, 0.464),
        pytest.param(
            *("diabetes", {"profile": "laplacian", "max_support": 50}, 0.42),
            marks=pytest.mark.slow,
        ),
        pytest.param("friedman1", {}, 0.918, marks=pytest.mark.slow),
    ],
)
def test_score_at_least_kernel_ridge(table, options, least, scaled):
    """With a Gaussian kernel on standardised features."""
    if table == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = make_friedman1(2000, noise=1.0, random_state=0)
    X = X * feature_scales(X.shape[1]) if scaled else X
    scores = cross_val_score(LABRBFRegressor(random_state=0, **options), X, y, cv=FOLDS)
    assert scores.mean() >= least


def test_locality_selected_by_validation(local_data):
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
def test_locality_parameter(local_data, locality):
    X, y = local_data
    options = {
        "locality": locality,
        "max_support": 20,
        "max_iter": 50,
        "random_state": 0,
    }
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


def test_few_rows_use_global_bandwidth(local_data):
    X, y = local_data
    for n in (2, 10, 49):
        model = LABRBFRegressor(random_state=0).fit(X[:n], y[:n])
        assert model.locality_ == "global"
        assert np.isfinite(model.predict(X)).all()


def test_pure_noise_is_not_overfitted(local_data):
    X, _ = local_data
    noise = np.random.default_rng(3).normal(size=500)
    rng = np.random.default_rng(4)
    model = LABRBFRegressor(random_state=0).fit(X, noise)
    assert model.score(rng.uniform(0, 3, size=(500, 2)), rng.permutation(noise)) > -0.2

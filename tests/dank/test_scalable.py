"""The strategies "decomposed" and "whole" of the estimators."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import minmax_scale, scale

from adakern.dank import DANKClassifier, DANKRegressor
from adakern.kernels import gram_matrix


def load_tumours(n=400):
    X, y = load_breast_cancer(return_X_y=True)
    return minmax_scale(X)[:n], y[:n]


def load_disease(n=300):
    X, y = load_diabetes(return_X_y=True)
    return X[:n], scale(y)[:n]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("eta", [30.0, 1e4, 1e12])  # the last equals the SVM
def test_whole_equals_exact_without_the_nuclear_norm(fit_intercept, eta):
    cases = (DANKClassifier, load_tumours(), 1.0), (DANKRegressor, load_disease(), 20.0)
    for Estimator, (X, y), gamma in cases:
        options = {"C": 5.0, "gamma": gamma, "eta": eta, "tol": 1e-8}
        options |= {"fit_intercept": fit_intercept, "extension": "none"}
        exact = Estimator(tau=0.0, **options).fit(X, y)
        whole = Estimator(strategy="whole", n_clusters=4, **options).fit(X, y)
        assert whole.objective_ == pytest.approx(exact.objective_, rel=1e-6)
        assert abs(whole.duality_gap_) <= 1e-8 * whole.objective_
        np.testing.assert_allclose(whole.intercept_, exact.intercept_, atol=1e-3)
        if not fit_intercept:
            assert whole.intercept_ == [0.0]


def test_clusters_do_not_change_whole_and_hardly_decomposed(
    monkeypatch,
):
    X, y = load_tumours(500)
    options = {"C": 5.0, "gamma": 1.0, "random_state": 0}
    tight = options | {"eta": 30.0, "tol": 1e-8}
    one = DANKClassifier(strategy="decomposed", n_clusters=1, **tight).fit(X, y)
    for n_clusters in (1, 16):  # from 9 on with a second partition
        whole = DANKClassifier(
            strategy="whole", n_clusters=n_clusters, fit_intercept=False, **tight
        ).fit(X, y)
        assert one.objective_ == pytest.approx(whole.objective_, rel=1e-7)
        np.testing.assert_allclose(
            one.decision_function(X), whole.decision_function(X), atol=1e-3
        )
    monkeypatch.setattr("adakern.dank.model.clusters_for", lambda n: n // 100)
    exact = DANKClassifier(**options).fit(X[:300], y[:300])
    fast = DANKClassifier(strategy="decomposed", **options).fit(X[:300], y[:300])
    assert len(fast.models_[0].partition.rows) == 3
    assert fast.score(X[300:], y[300:]) >= exact.score(X[300:], y[300:]) - 0.03


@pytest.mark.parametrize(("gamma", "full"), [(0.1, True), (1e-4, False)])
def test_rank_equals_sum_over_blocks(gamma, full):
    X, y = load_tumours()
    model = DANKClassifier(
        C=5.0, gamma=gamma, strategy="decomposed", n_clusters=3, random_state=0
    )
    pair = model.fit(X, y).models_[0]
    ranks = []
    for rows in pair.partition.rows:
        d = pair.dual_coef[rows]
        K = gram_matrix(X[rows], gamma=gamma)
        F = 1 + np.outer(d, d) * K / (4 * pair.eta)
        ranks.append(np.linalg.matrix_rank(F, hermitian=True))
    assert model.rank_ == pytest.approx(sum(ranks), abs=3)
    assert (model.rank_ > 0.95 * len(model.support_)) == full


@pytest.mark.parametrize("strategy", ["decomposed", "whole"])
def test_float32_predictions_far_from_the_origin(strategy):
    X, y = load_tumours()
    model = DANKClassifier(
        C=5.0, gamma=1.0, strategy=strategy, n_clusters=2, random_state=0
    )
    exact = model.fit(X, y).predict(X)
    far = X.astype(np.float32) + np.float32(1e3)
    model.fit(far, y)
    assert (model.predict(far) == exact).mean() >= 0.99
    assert model.decision_function(far).dtype == np.float32
    assert model.converged_

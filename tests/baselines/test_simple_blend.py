"""Leave-one-out kernel ridge regression, and the simple blend with its weights."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine, make_friedman1
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneOut, cross_val_predict, train_test_split

from adakern.baselines import (
    LOOKernelRidgeRegressor,
    SimpleBlendClassifier,
    SimpleBlendRegressor,
)
from adakern.baselines.loo_ridge import ALPHAS
from adakern.baselines.simple_blend import greedy_weights
from adakern.kernels import gram_matrix


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "l2-laplacian"])
def test_fit_equals_kernel_ridge_with_chosen_parameters(kernel):
    X, y = make_friedman1(80, random_state=1)
    model = LOOKernelRidgeRegressor(kernel).fit(X, y)
    K = gram_matrix(X, kernel=kernel, gamma=model.gamma_)
    ridge = KernelRidge(alpha=model.alpha_, kernel="precomputed")
    ridge.fit(K, y - y.mean())
    np.testing.assert_allclose(model.predict(X), ridge.predict(K) + y.mean(), rtol=1e-6)
    slow = cross_val_predict(ridge, K, y - y.mean(), cv=LeaveOneOut()) + y.mean()
    np.testing.assert_allclose(model.loo_prediction_, slow, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "l2-laplacian"])
def test_chosen_parameters_have_the_lowest_leave_one_out_error(kernel):
    """Among all ridges, for the chosen scale and its neighbours."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=25)
    model = LOOKernelRidgeRegressor(kernel).fit(X, y)
    least = ((model.loo_prediction_ - y) ** 2).mean()
    for factor, alpha in product((0.5, 1.0, 2.0), ALPHAS[::2]):
        ridge = KernelRidge(alpha=alpha, kernel="precomputed")
        K = gram_matrix(X, kernel=kernel, gamma=factor * model.gamma_)
        slow = cross_val_predict(ridge, K, y - y.mean(), cv=LeaveOneOut()) + y.mean()
        assert least <= ((slow - y) ** 2).mean() * (1 + 1e-6)


def test_search_on_subsample_and_fit_on_all_rows(monkeypatch):
    monkeypatch.setattr("adakern.baselines.loo_ridge.SEARCH_ROWS", 100)
    X, y = make_friedman1(300, random_state=2)
    model = LOOKernelRidgeRegressor("rbf", random_state=0).fit(X, y)
    assert model.loo_prediction_.shape == (300,)
    assert np.corrcoef(model.loo_prediction_, y)[0, 1] > 0.9


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n_members=st.integers(1, 6))
def test_greedy_weights_are_no_worse_than_the_best_member(seed, n_members):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=20)
    members = [y + rng.normal(size=20) for _ in range(n_members)]

    def loss(f):
        return np.mean((f - y) ** 2)

    weights = greedy_weights(members, loss)
    assert weights.sum() == pytest.approx(1) and (weights >= 0).all()
    blend = sum(w * member for w, member in zip(weights, members, strict=True))
    assert loss(blend) <= min(map(loss, members)) + 1e-12


def test_predict_proba_of_blend():
    X, y = load_wine(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    X, X_test, y, y_test = train_test_split(X, names, random_state=0, stratify=names)
    model = SimpleBlendClassifier(random_state=0).fit(X, y)
    probabilities = model.predict_proba(X_test)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert log_loss(y_test, probabilities) < 0.2
    assert model.score(X_test, y_test) > 0.95


def test_kernel_members_use_a_subsample_of_many_rows(monkeypatch):
    monkeypatch.setattr("adakern.baselines.simple_blend.MAX_KERNEL_ROWS", 60)
    X, y = make_friedman1(200, random_state=4)
    model = SimpleBlendRegressor(random_state=0).fit(X, y)
    assert len(model.members_["kernel ridge, rbf"].dual_coef_) == 60

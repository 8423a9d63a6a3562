"""The methods of the LAB RBF tables, against what they are defined to compute."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from adakern.baselines import EigenProRegressor, FalkonRegressor


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=200)


def test_falkon_solves_the_nystrom_normal_equations(data):
    X, y = data
    alpha, n = 1e-4, len(X)
    model = FalkonRegressor(gamma=1.0, alpha=alpha, n_centers=40, tol=1e-8, random_state=0)
    model.fit(X, y)
    centres = X[model.support_]
    K_nm, K_mm = rbf_kernel(X, centres, 1.0), rbf_kernel(centres, gamma=1.0)
    A = np.vstack(
        [K_nm / np.sqrt(n), np.sqrt(alpha) * np.linalg.cholesky(K_mm + 1e-12 * np.eye(40)).T]
    )
    b = np.concatenate([(y - y.mean()) / np.sqrt(n), np.zeros(40)])
    coef = np.linalg.lstsq(A, b, rcond=None)[0]
    T = X[:50] * 0.9
    expected = rbf_kernel(T, centres, 1.0) @ coef + y.mean()
    assert_allclose(model.predict(T), expected, atol=1e-5)
    assert model.n_iter_ < 60  # the preconditioner: plain CG needs hundreds here


def test_eigenpro_tends_to_the_interpolant(data):
    X, y = data
    gamma = 2.0
    K = np.exp(-gamma * np.abs(X[:, None] - X[None]).sum(axis=2))
    coef = np.linalg.solve(K, y - y.mean())
    model = EigenProRegressor(gamma=gamma, n_epochs=300, random_state=0).fit(X, y)
    T = X[:50] * 0.9
    K_test = np.exp(-gamma * np.abs(T[:, None] - X[None]).sum(axis=2))
    assert_allclose(model.predict(T), K_test @ coef + y.mean(), atol=0.02)
    few = EigenProRegressor(gamma=gamma, n_epochs=1, random_state=0).fit(X, y)
    assert few.score(X, y) < model.score(X, y)


def test_eigenpro_preconditioner_speeds_up(data):
    X, y = data
    scores = [
        EigenProRegressor(n_epochs=5, n_components=q, random_state=0).fit(X, y).score(X, y)
        for q in (1, 50)
    ]
    assert 1 - scores[1] < 0.5 * (1 - scores[0])


@pytest.mark.parametrize("estimator", [FalkonRegressor, EigenProRegressor])
def test_same_seed_same_model(data, estimator):
    X, y = data
    first, second = (estimator(random_state=3).fit(X, y).predict(X) for _ in range(2))
    assert_array_equal(first, second)


def torch_estimators():
    pytest.importorskip("torch")
    from adakern.baselines import ResNetRegressor, RFMRegressor

    return RFMRegressor, ResNetRegressor


@pytest.mark.parametrize("index", range(2))
def test_networks_and_feature_machines_learn_and_repeat(data, index):
    torch = pytest.importorskip("torch")
    pytest.importorskip("xrfm")
    estimator = torch_estimators()[index]
    X, y = data
    train, test = slice(0, 150), slice(150, None)
    state = torch.random.get_rng_state()
    model = estimator(random_state=0).fit(X[train], y[train])
    assert torch.equal(torch.random.get_rng_state(), state)
    assert model.score(X[test], y[test]) > 0.9
    again = estimator(random_state=0).fit(X[train], y[train])
    assert_array_equal(again.predict(X[test]), model.predict(X[test]))


def test_feature_machine_finds_the_features_that_matter(data):
    pytest.importorskip("xrfm")
    RFMRegressor = torch_estimators()[0]
    metric = RFMRegressor(random_state=0).fit(*data).model_.M
    assert metric[0, 0] > 10 * metric[2, 2]  # y does not depend on the last one


def test_feature_machine_classifies(data):
    """One regression for each class, on the metric that all of them learn together."""
    pytest.importorskip("xrfm")
    from adakern.baselines import RFMClassifier

    X, y = data
    names = np.array(["low", "middle", "high"])[np.digitize(y, [0.0, 0.7])]
    train, test = slice(0, 150), slice(150, None)
    model = RFMClassifier(random_state=0).fit(X[train], names[train])
    assert model.score(X[test], names[test]) > 0.8
    assert model.model_.M[0, 0] > 5 * model.model_.M[2, 2]  # y does not depend on it
    values = model.decision_function(X[test])
    assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(X[test]))
    # The indicators sum to one, and so do regressions on them where rows are dense.
    assert_allclose(values.sum(axis=1), 1, atol=0.1)


def test_feature_machine_of_two_classes_is_the_regression_on_their_signs(data):
    pytest.importorskip("xrfm")
    from adakern.baselines import RFMClassifier, RFMRegressor

    X, y = data
    signs = np.where(y > np.median(y), 1.0, -1.0)
    classifier = RFMClassifier(random_state=0).fit(X, signs)
    regressor = RFMRegressor(random_state=0).fit(X, signs)
    decision = classifier.decision_function(X)
    assert_allclose(2 * decision, regressor.predict(X), atol=1e-2)
    assert_array_equal(classifier.predict(X), np.sign(decision))


def test_feature_machine_of_many_columns_takes_no_square_root(data, monkeypatch):
    pytest.importorskip("xrfm")
    RFMRegressor = torch_estimators()[0]
    X, y = data
    expected = RFMRegressor(random_state=0).fit(X, y)
    assert expected.model_.sqrtM is not None
    monkeypatch.setattr("adakern.baselines.rfm.MANY_COLUMNS", 1)
    model = RFMRegressor(random_state=0).fit(X, y)
    assert model.model_.sqrtM is None
    assert_allclose(model.predict(X), expected.predict(X), atol=1e-4 * y.std())
    with pytest.warns(UserWarning, match="diagonal=True"):
        RFMRegressor(kernel="l1_kermac", random_state=0).fit(X, y)


def test_network_predicts_what_pytorch_computes(data):
    torch = pytest.importorskip("torch")
    ResNetRegressor = torch_estimators()[1]
    X, y = data
    model = ResNetRegressor(width=8, n_blocks=2, max_epochs=2, random_state=0).fit(X, y)
    linear = [
        (torch.tensor(W), torch.tensor(b))
        for W, b in zip(model.coefs_, model.intercepts_, strict=True)
    ]
    h = (X - X.mean(axis=0)) / X.std(axis=0)
    h = torch.nn.functional.linear(torch.tensor(h), linear[0][0].T, linear[0][1])
    for k in (1, 4):
        z = h
        for j in range(3):
            W, b = linear[k + j]
            z = torch.nn.functional.linear(z, W.T, b)
            z = torch.relu(z) if j < 2 else z
        h = torch.relu(h + z)
    expected = torch.nn.functional.linear(h, linear[-1][0].T, linear[-1][1])[:, 0]
    assert_allclose(model.predict(X), expected.numpy() * y.std() + y.mean(), rtol=1e-9)


def test_a_missing_package_is_named(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    from adakern.baselines import ResNetRegressor, RFMRegressor

    for estimator in (ResNetRegressor(), RFMRegressor()):
        with pytest.raises(ImportError, match=r"pip install '.\[torch\]'"):
            estimator.fit(*data)

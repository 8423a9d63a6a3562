"""Baselines of the LAB RBF paper, compared with their definitions."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from adakern import baselines
from adakern.baselines import EigenProRegressor, FalkonRegressor


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 3))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=200)


def test_falkon_solves_the_nystrom_normal_equations(data):
    X, y = data
    alpha, n = 1e-4, len(X)
    model = FalkonRegressor(
        gamma=1.0, alpha=alpha, n_centers=40, tol=1e-8, random_state=0
    )
    model.fit(X, y)
    centres = X[model.support_]
    K_nm, K_mm = rbf_kernel(X, centres, 1.0), rbf_kernel(centres, gamma=1.0)
    root = np.linalg.cholesky(K_mm + 1e-12 * np.eye(40)).T
    A = np.vstack([K_nm / np.sqrt(n), np.sqrt(alpha) * root])
    b = np.concatenate([(y - y.mean()) / np.sqrt(n), np.zeros(40)])
    coef = np.linalg.lstsq(A, b, rcond=None)[0]
    T = X[:50] * 0.9
    assert_allclose(
        model.predict(T), rbf_kernel(T, centres, 1.0) @ coef + y.mean(), atol=1e-5
    )
    assert model.n_iter_ < 60  # with preconditioner; plain CG needs hundreds


def test_eigenpro_converges_to_interpolant(data):
    X, y = data
    gamma = 2.0
    K = np.exp(-gamma * np.abs(X[:, None] - X[None]).sum(axis=2))
    coef = np.linalg.solve(K, y - y.mean())
    model = EigenProRegressor(gamma=gamma, n_epochs=300, random_state=0).fit(X, y)
    T = X[:50] * 0.9
    K_test = np.exp(-gamma * np.abs(T[:, None] - X[None]).sum(axis=2))
    assert_allclose(model.predict(T), K_test @ coef + y.mean(), atol=0.02)


def test_falkon_names_the_cause_of_a_breakdown(data, monkeypatch):
    """With nearly equal rows, SciPy's conjugate gradients may divide by zero."""

    def broken(operator, right, **_):
        return operator.matvec(right * np.nan)

    monkeypatch.setattr("adakern.baselines.falkon.cg", broken)
    with pytest.raises(ValueError, match="standardise X, or increase gamma, which is"):
        FalkonRegressor(n_centers=10, random_state=0).fit(*data)


ROWS = np.random.default_rng(0).normal(size=(60, 2))
ONES, LABELS = np.ones((60, 2)), np.arange(60) % 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("model", "X", "y", "expected"),
    [
        (baselines.LogDetKernel(random_state=0), 1.0 * (ROWS[17] == ROWS), LABELS, 0.0),
        (baselines.EasyMKL(), ONES, LABELS, 0.0),
        (baselines.MetricNadarayaWatson(), ONES, LABELS, 0.5),
        (FalkonRegressor(kernel="linear"), 0 * ONES, LABELS, 0.5),
        (baselines.SimpleMKLRegressor(), ROWS, 3 * ONES[:, 0], 3.0),
        (baselines.BayesianMKLRegressor(), ROWS, 3 * ONES[:, 0], 3.0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_uninformative_rows_give_the_mean(model, X, y, expected):
    model.fit(X, y)
    values = getattr(model, "decision_function", model.predict)(X[:9])
    assert_allclose(values, expected, atol=1e-5)


@pytest.fixture(scope="module")
def torch():
    """PyTorch and xRFM, as installed by the extra ``torch``."""
    pytest.importorskip("xrfm")
    return pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["RFMRegressor", "ResNetRegressor"])
@pytest.mark.slow
def test_networks_and_feature_machines_are_reproducible(data, torch, name):
    X, y = data
    state = torch.random.get_rng_state()
    model, again = (
        getattr(baselines, name)(random_state=0).fit(X[:150], y[:150]) for _ in "12"
    )
    assert torch.equal(torch.random.get_rng_state(), state)
    assert model.score(X[150:], y[150:]) > 0.9
    assert_array_equal(again.predict(X[150:]), model.predict(X[150:]))


def test_recursive_feature_machine_classifier(data, torch):
    """One regression per class, with a common metric."""
    X, y = data
    names = np.array(["low", "middle", "high"])[np.digitize(y, [0.0, 0.7])]
    model = baselines.RFMClassifier(random_state=0).fit(X[:150], names[:150])
    assert model.score(X[150:], names[150:]) > 0.8
    assert (
        model.model_.M[0, 0] > 5 * model.model_.M[2, 2]
    )  # y does not depend on this feature
    values = model.decision_function(X[150:])
    assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(X[150:]))
    # Indicators sum to one, and so do their regressions in regions with many rows.
    assert_allclose(values.sum(axis=1), 1, atol=0.1)


def test_missing_package_raises(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for estimator in (baselines.ResNetRegressor(), baselines.RFMRegressor()):
        with pytest.raises(ImportError, match=r"pip install '.\[torch\]'"):
            estimator.fit(*data)

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from adakern.baselines import SimpleMKLClassifier, SimpleMKLRegressor

BANK = {"gammas": [0.1, 1.0, 10.0], "degrees": [1, 3]}


def moons():
    X, y = make_moons(40, noise=0.3, random_state=0)
    return X, np.where(y == 1, 1.0, -1.0)


def waves():
    X = np.random.default_rng(0).uniform(size=(40, 2))
    return X, np.sin(8 * X[:, 0]) + X[:, 1]


def combined(grams, signs, value):
    """Epigraph of the largest quadratic form over the kernels."""
    factors = [np.linalg.cholesky(K + 1e-9 * np.eye(len(K))) for K in grams]
    return [cp.sum_squares(L.T @ signs) <= value for L in factors]


def classification_by_cvxpy(grams, y, C):
    a, t = cp.Variable(len(y)), cp.Variable()
    feasible = [a >= 0, a <= C, y @ a == 0]
    program = cp.Problem(
        cp.Maximize(cp.sum(a) - t / 2), feasible + combined(grams, cp.multiply(y, a), t)
    )
    return program.solve(solver=cp.CLARABEL)


def regression_by_cvxpy(grams, y, C, epsilon):
    d, t = cp.Variable(len(y)), cp.Variable()
    feasible = [cp.abs(d) <= C, cp.sum(d) == 0]
    value = y @ d - epsilon * cp.norm1(d) - t / 2
    return cp.Problem(cp.Maximize(value), feasible + combined(grams, d, t)).solve(
        solver=cp.CLARABEL
    )


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_classifier_reaches_the_optimum_of_the_quadratic_program(C):
    X, y = moons()
    model = SimpleMKLClassifier(C=C, tol=1e-4, max_iter=300, **BANK).fit(X, y)
    optimum = classification_by_cvxpy(model.bank_.stack(X), y, C)
    assert model.objective_ == pytest.approx(optimum, rel=3e-4)
    assert model.duality_gap_ <= 1e-4 * model.objective_


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_regressor_reaches_the_optimum_of_the_quadratic_program(C):
    X, y = waves()
    model = SimpleMKLRegressor(C=C, epsilon=0.05, tol=1e-4, max_iter=300, **BANK)
    model.fit(X, y)
    optimum = regression_by_cvxpy(model.bank_.stack(X), y, C, 0.05)
    assert model.objective_ == pytest.approx(optimum, rel=3e-4)


def test_weights_are_on_the_simplex_and_the_objective_falls():
    X, y = moons()
    model = SimpleMKLClassifier(C=5.0, tol=1e-3, **BANK).fit(X, y)
    assert model.kernel_weights_.min() >= 0
    assert model.kernel_weights_.sum() == pytest.approx(1)
    objectives = model.models_[0].history["objective"]
    assert np.all(np.diff(objectives) <= 1e-9)


def test_one_kernel_is_the_plain_model():
    X, y = moons()
    model = SimpleMKLClassifier(C=2.0, gammas=[1.5]).fit(X, y)
    plain = SVC(C=2.0, gamma=1.5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=5e-3)
    X, y = waves()
    regressor = SimpleMKLRegressor(C=2.0, epsilon=0.1, gammas=[1.5]).fit(X, y)
    plain = SVR(C=2.0, epsilon=0.1, gamma=1.5).fit(X, y)
    np.testing.assert_allclose(regressor.predict(X), plain.predict(X), atol=5e-3)


def test_non_convergence_warns_with_the_gap():
    X, y = moons()
    model = SimpleMKLClassifier(C=20.0, tol=1e-6, max_iter=1, **BANK)
    with pytest.warns(ConvergenceWarning, match="duality gap of"):
        model.fit(X, y)

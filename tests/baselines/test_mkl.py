"""Banks of kernels and SVMs on them, compared with scikit-learn and convex programs."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_wine, make_moons
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, SVR

from adakern.baselines import (
    EasyMKL,
    KernelBank,
    SimpleMKLRegressor,
    UniformMKLClassifier,
)

BANK = {"gammas": [0.1, 1.0, 10.0], "degrees": [1, 3]}


def moons(size=40, seed=0):
    X, y = make_moons(size, noise=0.3, random_state=seed)
    return X, np.where(y == 1, 1.0, -1.0)


def waves():
    X = np.random.default_rng(0).uniform(size=(40, 2))
    return X, np.sin(8 * X[:, 0]) + X[:, 1]


def test_bank_matches_scikit_learn_kernels(rng):
    X, Y = rng.uniform(size=(30, 4)), rng.uniform(size=(7, 4))

    def normalised(degree):
        options = {"degree": degree, "gamma": 1, "coef0": 1}
        ends = (np.diag(polynomial_kernel(Z, Z, **options)) for Z in (X, Y))
        return polynomial_kernel(X, Y, **options) / np.sqrt(np.outer(*ends))

    expected = [rbf_kernel(X, Y, gamma=0.1), rbf_kernel(X, Y, gamma=3.0), normalised(1)]
    bank = KernelBank(gammas=(0.1, 3.0), degrees=(1, 3))
    np.testing.assert_allclose(bank.stack(X, Y), [*expected, normalised(3)], atol=1e-12)
    for K in bank.grams(X):
        np.testing.assert_allclose(np.diag(K), 1)


@pytest.mark.parametrize(
    ("gammas", "degrees", "message"),
    [
        ((), (), "both empty"),
        ((-1.0,), (), "gammas"),
        ((1.0,), (0.5,), "degrees"),
        (("a",), (), "gammas=.* must contain only finite numbers"),
        ((), (np.inf,), "degrees=.* must contain only finite numbers"),
    ],
)
def test_invalid_bank_parameter_raises(gammas, degrees, message):
    with pytest.raises(ValueError, match=message):
        KernelBank(gammas, degrees)


def test_uniform_weights_equal_svc_on_the_mean_gram_matrix():
    X, y = load_wine(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    model = UniformMKLClassifier(C=2.0, degrees=(2,)).fit(X[::2], y[::2])
    svc = SVC(kernel="precomputed", C=2.0, decision_function_shape="ovo")
    svc.fit(model.bank_.stack(X[::2]).mean(axis=0), y[::2])
    K = model.bank_.stack(X[1::2], X[::2]).mean(axis=0)
    np.testing.assert_array_equal(model.predict(X[1::2]), svc.predict(K))
    # In SVC, positive values of a pair belong to the first class.
    decisions = -model._pair_decisions(X[1::2])
    np.testing.assert_allclose(decisions, svc.decision_function(K), atol=5e-3)


def test_one_kernel_equals_svm():
    X, y = moons()
    model = UniformMKLClassifier(2.0, gammas=[1.5]).fit(X, y)
    plain = SVC(C=2.0, gamma=1.5).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(X), atol=5e-3
    )
    X, y = waves()
    model = SimpleMKLRegressor(C=2.0, epsilon=0.05, gammas=[1.5]).fit(X, y)
    plain = SVR(C=2.0, epsilon=0.05, gamma=1.5).fit(X, y)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=5e-3)


def optimum(grams, coefficients, linear, feasible):
    """Maximum of ``linear - t / 2``, with t the largest quadratic form over the
    kernels.
    """
    t = cp.Variable()
    factors = [np.linalg.cholesky(K + 1e-9 * np.eye(len(K))) for K in grams]
    feasible += [cp.sum_squares(L.T @ coefficients) <= t for L in factors]
    return cp.Problem(cp.Maximize(linear - t / 2), feasible).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_simple_mkl_equals_cvxpy(C):
    options = {"C": C, "tol": 1e-4, "max_iter": 300, **BANK}
    X, y = waves()
    model, d = (
        SimpleMKLRegressor(epsilon=0.05, **options).fit(X, y),
        cp.Variable(len(y)),
    )
    linear = y @ d - 0.05 * cp.norm1(d)
    expected = optimum(
        model.bank_.stack(X), d, linear, [cp.abs(d) <= C, cp.sum(d) == 0]
    )
    assert model.objective_ == pytest.approx(expected, rel=3e-4)
    assert model.duality_gap_ <= 1e-4 * model.objective_
    assert model.kernel_weights_.min() >= 0
    assert model.kernel_weights_.sum() == pytest.approx(1)
    assert np.all(np.diff(model.models_[0].history["objective"]) <= 1e-9)


def hull_points_by_cvxpy(K, y, reg):
    Q = (1 - reg) * np.outer(y, y) * K + reg * np.eye(len(y))
    g = cp.Variable(len(y), nonneg=True)
    sums = [cp.sum(g[y > 0]) == 1, cp.sum(g[y < 0]) == 1]
    cp.Problem(cp.Minimize(cp.quad_form(g, cp.psd_wrap(Q))), sums).solve(
        solver=cp.CLARABEL
    )
    return g.value


@pytest.mark.parametrize("reg", [0.01, 0.2, 1.0])
def test_easymkl_equals_two_quadratic_programs(reg):
    X, y = moons((25, 15), seed=1)
    model = EasyMKL(reg=reg, gammas=[0.1, 1.0, 20.0], degrees=[1], tol=1e-6).fit(X, y)
    grams = model.bank_.stack(X)
    first = y * hull_points_by_cvxpy(grams.sum(axis=0), y, reg)
    weights = np.einsum("i,mij,j->m", first, grams, first)
    weights /= np.linalg.norm(weights)
    np.testing.assert_allclose(model.kernel_weights_, weights, atol=1e-4)
    K = np.tensordot(weights, grams, axes=1)
    points = hull_points_by_cvxpy(K, y, reg)
    f = K @ (y * points)
    np.testing.assert_allclose(
        model.decision_function(X), f - (f @ points) / 2, atol=1e-4
    )
    Q = (1 - reg) * np.outer(y, y) * K + reg * np.eye(len(y))
    assert model.objective_ == pytest.approx(points @ Q @ points, rel=1e-4)

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize._numdiff import approx_derivative
from sklearn.datasets import make_moons

from adakern.baselines import DeepMKL, KernelBank
from adakern.baselines.deep_mkl import ETA, SpanObjective, propagate, span_bound
from adakern.baselines.kernel_bank import l2_svm_dual

BANK = KernelBank((0.7, 3.0), (1, 2))


def moons(n=40, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, np.where(y == 1, 1.0, -1.0)


def random_weights(layers=3, seed=0):
    weights = np.random.default_rng(seed).uniform(size=(layers, len(BANK)))
    return weights / weights.sum(axis=1, keepdims=True)


def test_l2_svm_equals_cvxpy():
    X, y = moons()
    K = BANK.combine(X, weights=np.full(4, 0.25))
    d, b = l2_svm_dual(K, y, ridge=0.5, tol=1e-7)
    v, bias = cp.Variable(len(y)), cp.Variable()
    root = np.linalg.cholesky(K + 1e-10 * np.eye(len(y)))
    hinge = cp.pos(1 - cp.multiply(y, root @ v + bias))
    loss = 0.5 * cp.sum_squares(v) + 1.0 * cp.sum_squares(hinge)
    cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(K @ d + b, root @ v.value + bias.value, atol=1e-4)


def test_span_bound_equals_definition():
    """S_p^2 = min over 1'l = 1 of |x_p - sum l_i x_i|^2 + eta sum l_i^2 / a_i."""
    X, y = moons(n=16)
    K = BANK.combine(X, weights=np.full(4, 0.25)) + np.eye(16) / 5.0
    d, _ = l2_svm_dual(K - np.eye(16) / 5.0, y, ridge=0.2, tol=1e-8)
    rows = np.flatnonzero(d)
    K, y, s = K[np.ix_(rows, rows)], y[rows], len(rows)
    bordered = np.block([[K, np.ones((s, 1))], [np.ones((1, s)), np.zeros((1, 1))]])
    alpha = y * np.linalg.solve(bordered, np.append(y, 0))[:s]
    root = np.linalg.cholesky(K)
    lost = []
    for p in range(s):
        others = np.delete(np.arange(s), p)
        l = cp.Variable(s - 1)
        distance = cp.sum_squares(root[p] - l @ root[others])
        smooth = ETA * cp.sum(cp.multiply(1 / alpha[others], cp.square(l)))
        problem = cp.Problem(cp.Minimize(distance + smooth), [cp.sum(l) == 1])
        lost.append(alpha[p] * problem.solve(solver=cp.CLARABEL) - 1)
    expected = np.sum(1 / (1 + np.exp(-5 * np.array(lost))))
    value, _ = span_bound(K - np.eye(s) / 5.0, y, C=5.0)
    assert value == pytest.approx(expected, rel=1e-4)


def test_gradient_equals_finite_differences():
    """For a fixed set of support vectors, through all layers."""
    X, y = moons(n=30)
    weights = random_weights()
    objective = SpanObjective(weights, BANK, BANK.stack(X), y, C=5.0)
    support = np.flatnonzero(objective.d)
    grams = BANK.stack(X[support])

    def value(flat):
        theta = flat.reshape(weights.shape)
        first = np.tensordot(theta[0], grams, axes=1)
        return span_bound(propagate(BANK, theta, first)[-1], y[support], C=5.0)[0]

    numeric = approx_derivative(value, weights.ravel())
    assert objective.gradient().ravel() == pytest.approx(numeric, rel=1e-4, abs=1e-7)


def test_layer_is_the_kernel_bank_of_lower_features():
    X, _ = moons(n=10)
    weights = random_weights(layers=2)
    first = BANK.combine(X, weights=weights[0])
    values, vectors = np.linalg.eigh(first)
    features = vectors * np.sqrt(values.clip(min=0))
    above = BANK.combine(features, weights=weights[1])
    np.testing.assert_allclose(propagate(BANK, weights, first)[-1], above, atol=1e-8)


def test_fit_decreases_the_bound():
    X, y = moons(n=80)
    model = DeepMKL(C=5.0, gammas=[0.3, 3.0], degrees=[1]).fit(X, y)
    start = SpanObjective(
        np.full((3, 3), 1 / 3), model.bank_, model.bank_.stack(X), y, 5.0
    )
    assert model.objective_ < start.value
    np.testing.assert_allclose(model.kernel_weights_.sum(axis=1), 1)
    assert model.kernel_weights_.min() >= 0
    assert model.score(X, y) > 0.9

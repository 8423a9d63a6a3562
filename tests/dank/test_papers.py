"""The papers' constants and methods."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from adakern.dank.objective import make_objective
from adakern.dank.papers import lipschitz_constant, nesterov, projected_gradient
from adakern.kernels import gram_matrix
from adakern.svm.dual import classification_dual, regression_dual


def model(kernel, task, eta, tau, seed=0):
    rng = np.random.default_rng(seed)
    X = 3 * rng.normal(size=(25, 4))  # k(x, x) far above one but for "rbf"
    K = gram_matrix(X, kernel=kernel, gamma=0.5, degree=2, coef0=1.0)
    if task == "regression":
        dual = regression_dual(X[:, 0], 0.5, 0.1)
    else:
        dual = classification_dual(np.where(X[:, 0] > 0, 1.0, -1.0), 0.5)
    return make_objective(K, dual, eta, tau, tol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("tau", [0.0, 0.01])
@pytest.mark.parametrize("eta", [0.5, 1e6])
def test_gradient_changes_no_faster_than_the_theorems_say(kernel, task, tau, eta):
    h = model(kernel, task, eta, tau)
    L, rng = lipschitz_constant(h.K, h.dual, eta), np.random.default_rng(1)
    for size in (1e-2, 1.0):
        for _ in range(5):
            u = h.dual.project(rng.uniform(0, 0.5, len(h.dual.signs)))
            v = h.dual.project(u + size * rng.normal(size=len(u)))
            change = np.linalg.norm(h(u).gradient - h(v).gradient)
            assert change <= L * np.linalg.norm(u - v)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_without_kappa_the_constant_is_too_small(kernel):
    h = model(kernel, "classification", 1e12, 0.0)
    kappa = np.abs(h.K).max()
    u = np.zeros(len(h.K))
    v = 1e-3 * np.abs(np.linalg.eigh(h.K)[1][:, -1])
    change = np.linalg.norm(h(u).gradient - h(v).gradient) / np.linalg.norm(u - v)
    L = lipschitz_constant(h.K, h.dual, h.eta)
    assert L / kappa < change <= L


@pytest.mark.parametrize("method", [nesterov, projected_gradient])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_methods_climb_from_zero(method, task):
    h = model("rbf", task, 5.0, 0.01)
    start = np.full(len(h.dual.signs), 0.1)
    solution = method(h, start, tol=1e-12, max_iter=40, min_step=0.0)
    first, *others = solution.history["objective"]
    assert first == h(np.zeros_like(start)).value
    assert max(others) > first
    assert_allclose(h.dual.project(solution.point.u), solution.point.u, atol=1e-12)

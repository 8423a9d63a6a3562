import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import make_moons

from adakern.baselines import EasyMKL, KernelBank
from adakern.baselines.mkl import nearest_hull_points


def hull_points_by_cvxpy(K, y, reg):
    Q = (1 - reg) * np.outer(y, y) * K + reg * np.eye(len(y))
    g = cp.Variable(len(y), nonneg=True)
    sums = [cp.sum(g[y > 0]) == 1, cp.sum(g[y < 0]) == 1]
    cp.Problem(cp.Minimize(cp.quad_form(g, cp.psd_wrap(Q))), sums).solve(solver=cp.CLARABEL)
    return g.value


def unbalanced_moons(seed=0):
    X, y = make_moons((25, 15), noise=0.3, random_state=seed)
    return X, np.where(y == 1, 1.0, -1.0)


@pytest.mark.parametrize("reg", [0.01, 0.1, 0.5, 1.0])
def test_hull_points_solve_the_quadratic_program(reg):
    X, y = unbalanced_moons()
    K = KernelBank((0.5, 4.0), (2,)).combine(X, weights=np.ones(3))
    points = nearest_hull_points(K, y, reg, tol=1e-6)
    np.testing.assert_allclose(points, hull_points_by_cvxpy(K, y, reg), atol=1e-4)
    assert points[y > 0].sum() == pytest.approx(1)
    assert points[y < 0].sum() == pytest.approx(1)


def test_easymkl_follows_the_two_quadratic_programs_of_the_paper():
    X, y = unbalanced_moons(seed=1)
    model = EasyMKL(reg=0.2, gammas=[0.1, 1.0, 20.0], degrees=[1], tol=1e-6).fit(X, y)
    grams = model.bank_.stack(X)
    first = y * hull_points_by_cvxpy(grams.sum(axis=0), y, 0.2)
    weights = np.einsum("i,mij,j->m", first, grams, first)
    weights /= np.linalg.norm(weights)
    np.testing.assert_allclose(model.kernel_weights_, weights, atol=1e-4)

    K = np.tensordot(weights, grams, axes=1)
    points = hull_points_by_cvxpy(K, y, 0.2)
    f = K @ (y * points)
    middle = (f @ points) / 2
    np.testing.assert_allclose(model.decision_function(X), f - middle, atol=1e-4)
    Q = 0.8 * np.outer(y, y) * K + 0.2 * np.eye(len(y))
    assert model.objective_ == pytest.approx(points @ Q @ points, rel=1e-4)


def test_reg_one_separates_half_way_between_the_class_means():
    X, y = unbalanced_moons(seed=2)
    model = EasyMKL(reg=1.0, gammas=[1.0]).fit(X, y)
    K = model.bank_.combine(X, weights=[1.0])
    difference = K[:, y > 0].mean(axis=1) - K[:, y < 0].mean(axis=1)
    middle = (difference[y > 0].mean() + difference[y < 0].mean()) / 2
    np.testing.assert_allclose(model.decision_function(X), difference - middle, atol=1e-4)

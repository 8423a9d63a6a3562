import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from adakern.dank.newton import maximise_quadratic
from adakern.dank.objective import StoredHessian
from adakern.svm.dual import classification_dual, regression_dual


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n, rank", [(5, 5), (30, 10), (40, 40)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])  # of the bounded variables
def test_agrees_with_cvxpy(task, fit_intercept, n, rank, share):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, rank))
    H = A @ A.T / rank
    if task == "classification":
        y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
        dual = classification_dual(y, 2.0, fit_intercept)
    else:
        dual = regression_dual(rng.normal(size=n), 2.0, 0.1, fit_intercept)
    size = len(dual.signs)
    E = np.column_stack([dual.coefficients(e) for e in np.eye(size)])
    u = cp.Variable(size)
    bounds = [u >= 0, u <= 2.0]
    if fit_intercept:
        bounds.append(dual.signs @ u == 0)
    value = dual.linear @ u - cp.quad_form(E @ u, cp.psd_wrap(H)) / 2
    best = cp.Problem(cp.Maximize(value), bounds).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11
    )
    start = np.where(rng.uniform(size=size) < share, 0.0, 1.0)
    found = maximise_quadratic(StoredHessian(H), dual.linear, dual, 1e-10, start)
    d = E @ found
    assert_allclose(dual.linear @ found - d @ H @ d / 2, best, rtol=1e-7)
    assert found.min() >= 0 and found.max() <= 2.0
    if fit_intercept:
        assert abs(dual.signs @ found) < 1e-9

"""Small problems, and DANK as a semidefinite program, following Lanckriet et al.
(2004).
"""

import cvxpy as cp
import numpy as np

from adakern.dank import interior_point
from adakern.dank.objective import QuarticObjective, ThresholdedObjective
from adakern.svm.dual import classification_dual, regression_dual


def problem(n, seed, task):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    signal = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, signal if task == "regression" else np.where(signal > 0, 1.0, -1.0)


def dual_of(task, y, C, fit_intercept=True, epsilon=0.1):
    if task == "regression":
        return regression_dual(y, C, epsilon, fit_intercept)
    return classification_dual(y, C, fit_intercept)


def objective_of(K, dual, eta, tau, tol=1e-4):
    """The objective for this tau."""
    if tau > 0:
        return ThresholdedObjective(K, dual, eta, tau, tol)
    return QuarticObjective(K, dual, eta)


def solve_dank(K, dual, eta, tau):
    """The optimal value and F of DANK for a model, by cvxpy and Clarabel.

    For fixed F the model is, in its primal form over the decision values f,
    ``min 1/2 f'(F∘K)^-1 f + loss(f + b)``. The Schur complement
    ``[[F∘K, f], [f', t]]`` PSD bounds the quadratic form by t, so that the minimum over
    F, f and b together is a semidefinite program.
    """
    n = len(K)
    K = (K + K.T) / 2  # asymmetric rounding makes Clarabel stop at 1e-4 of F
    F = cp.Variable((n, n), PSD=True)
    f, t, b = cp.Variable((n, 1)), cp.Variable((1, 1)), cp.Variable()
    values = f[:, 0] + b if dual.fit_intercept else f[:, 0]
    copies = [values] * (len(dual.signs) // n)
    slack = dual.linear - cp.multiply(dual.signs, cp.hstack(copies))
    objective = (
        t[0, 0] / 2
        + dual.C * cp.sum(cp.pos(slack))
        + eta * cp.sum_squares(F - np.ones((n, n)))
        + tau * eta * cp.trace(F)
    )
    schur = cp.bmat([[cp.multiply(F, K), f], [f.T, t]])
    problem = cp.Problem(cp.Minimize(objective), [schur >> 0])
    tolerances = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-9)
    problem.solve(solver=cp.CLARABEL, **tolerances)
    return problem.value, F.value


def solve_quartic(quartic, share):
    """Solve by the interior-point method, to this fraction of the optimal value."""
    rough = interior_point.solve(quartic, None, 1e-3 * quartic.dual.C)
    return interior_point.solve(quartic, None, share * abs(rough.value))

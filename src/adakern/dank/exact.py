"""The strategy "exact": DANK on one stored Gram matrix, to a certified duality gap."""

from dataclasses import replace

import numpy as np
from numpy.polynomial import Polynomial
from scipy.optimize import brentq

from adakern._utils.arrays import as_numpy
from adakern._utils.memory import require_memory, row_blocks
from adakern._utils.threads import one_blas_thread
from adakern.dank import newton, quartic
from adakern.dank.extension import make_extension
from adakern.dank.objective import SVM_TOL, make_objective, svm_eta
from adakern.dank.quartic import Quartic, squared_product
from adakern.kernels import TrainingRows, gram_matrix
from adakern.linalg import require_positive_semidefinite
from adakern.svm import ascent
from adakern.svm.libsvm import svm_dual

#: Solvers by the values of the parameter ``method``.
METHODS = {"newton": newton.solve, "accelerated": ascent.solve}


def fit_exact(X, dual, kernel, *, eta, tau, method, tol, max_iter, **extension):
    """Fit an :class:`ExactModel` to rows X, or to their Gram matrix if precomputed."""
    n = len(X)
    require_memory(
        8 * n**2,
        f'strategy="exact" stores the {n} x {n} Gram matrix and',
        'use strategy="decomposed" (or "whole" with tau=0) for data of this size',
    )
    with one_blas_thread(n):
        X = np.asarray(X, dtype=np.float64)  # kernels of float32 lose the certificate
        K = X if kernel["kernel"] == "precomputed" else gram_matrix(X, **kernel)
        if not np.isfinite(K).all():
            raise ValueError(f"kernel={kernel['kernel']!r} gives infinite values here")
        if kernel["kernel"] in ("precomputed", "tl1", "poly"):
            require_positive_semidefinite(K, kernel["kernel"], "DANK")
        problem, start = make_problem(K, dual, eta, tau, tol)
        solution = METHODS[method](problem, problem(start), tol, max_iter=max_iter)
        point = solution.point
        rows = TrainingRows(X, K, kernel)
        Z = problem.factor(point)
        eta = problem.eta
        extension |= {"copies": dual.copies, "eta": eta, "tau": tau}
        rule = make_extension(Z, point.d, K, rows, **extension)
        return ExactModel(rows, eta, Z, solution, rule)


def make_problem(K, dual, eta, tau, tol):
    """Return h on a Gram matrix, and the starting point u, a multiple of the SVM's."""
    epsilon = dual.epsilon if dual.is_regression else None
    d, _ = svm_dual(K, dual.target, dual.C, SVM_TOL, epsilon, dual.weights)
    if not dual.fit_intercept:  # LIBSVM always has one
        d = _without_intercept(K, dual, np.clip(d, dual.lower, dual.upper))
    svm = dual.project(dual.variables(d))
    if eta == "svm":
        d = dual.coefficients(svm)
        eta = svm_eta(
            [dual.squares(d)],
            dual.C,
            lambda: [dual.squares(_without_intercept(K, dual, d))],
        )
    start = best_multiple(K, dual, eta, svm, tol)
    return make_objective(K, dual, eta, tau, tol), start


def _without_intercept(K, dual, start):
    """Coefficients of the SVM without an intercept, starting from other ones."""
    goal = SVM_TOL**2 * max(abs(dual.linear @ dual.variables(start)), dual.C)
    problem = Quartic(K, replace(dual, fit_intercept=False), np.inf)
    return quartic.solve(problem, start, goal).d


def best_multiple(K, dual, eta, u, tol):
    """Return the feasible multiple of u that maximises h with tau = 0.

    Along this line, h is a quartic. For a small eta the SVM's variables are too large,
    which makes Newton's method slow. If scaling raises h by less than the fraction tol
    of the linear term, u itself is returned, since it is optimal for the SVM.
    """
    d = dual.coefficients(u)
    linear = max(dual.linear @ u, 0.0)
    quadratic = d @ (K @ d)
    q = dual.squares(d)
    quartic = q @ squared_product(K, q) / (4 * eta)
    h = Polynomial([0.0, linear, -quadratic / 2, 0.0, -quartic / 4])
    slope = h.deriv()
    best = 1.0 if slope(1.0) >= 0 else brentq(slope, 0.0, 1.0)
    return best * u if h(best) - h(1.0) > tol * linear else u


class ExactModel:
    """Model with F on the training rows, and a rule that extends F to new rows."""

    def __init__(self, rows, eta, adaptive_factor, solution, extension):
        point = solution.point
        self.dual_coef = point.d
        self.intercept = point.intercept
        self.eta, self.adaptive_factor = eta, adaptive_factor
        self.rank = adaptive_factor.shape[1]
        self.objective = point.value
        self.duality_gap = solution.gap
        self.n_iter = solution.n_iter
        self.converged = solution.converged
        self.history = solution.history
        self.extension = extension
        self._rows = rows
        self._support = np.flatnonzero(point.d)

    def decision_function(self, X):
        """Decision values of new rows, or of their kernel values, by blocks."""
        X = as_numpy(X)
        support = self._support
        values = np.zeros(len(X))
        if len(support):
            right = self.extension.train_factor[support] * self.dual_coef[support, None]
            left = self.extension.transform(X)
            for part in row_blocks(len(X), 8 * (3 * len(support) + left.shape[1])):
                K = self._rows.kernel(X[part], support)
                values[part] = np.einsum("ir,ir->i", left[part], K @ right)
        return values + self.intercept

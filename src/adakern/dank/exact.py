"""The strategy "exact": DANK on one stored Gram matrix, to a certified duality gap."""

import numpy as np

from adakern._utils.blocks import row_blocks
from adakern._utils.memory import require_memory
from adakern._utils.threads import one_blas_thread
from adakern.dank import warm_start
from adakern.dank.extension import make_extension
from adakern.dank.newton import accelerated, newton
from adakern.dank.objective import make_objective
from adakern.dank.papers import nesterov, projected_gradient
from adakern.kernels import gram_matrix
from adakern.linalg import require_positive_semidefinite

METHODS = {
    "newton": newton,
    "accelerated": accelerated,
    "nesterov": nesterov,
    "projected-gradient": projected_gradient,
}


def fit_exact(X, dual, kernel, *, eta, tau, method, extension, tol, max_iter):
    """The :class:`ExactModel` of the rows X, or of their Gram matrix if precomputed.

    ``kernel`` has the arguments of :func:`adakern.kernels.gram_matrix`, ``extension``
    those of :func:`adakern.dank.extension.make_extension` that a user chooses.
    """
    n = len(X)
    require_memory(
        8 * n**2,
        f'strategy="exact" stores the {n} x {n} Gram matrix and',
        'use strategy="decomposed" (or "whole" with tau=0) for data of this size',
    )
    with one_blas_thread(n):
        X = np.asarray(X, dtype=np.float64)  # kernels of float32 lose the certificate
        precomputed = kernel["kernel"] == "precomputed"
        K = X if precomputed else gram_matrix(X, **kernel)
        if not np.isfinite(K).all():
            raise ValueError(f"kernel={kernel['kernel']!r} gives infinite values here")
        if kernel["kernel"] in ("precomputed", "tl1", "poly"):
            require_positive_semidefinite(K, kernel["kernel"], "DANK")
        svm = warm_start.support_vector_machine(K, dual)
        if eta == "svm":
            d = dual.coefficients(svm)
            eta = warm_start.svm_eta(
                [d], dual.C, lambda: [warm_start.svm_without_intercept(K, dual, d)]
            )
        h = make_objective(K, dual, eta, tau, tol)
        start = warm_start.best_multiple(K, dual, eta, svm, tol)
        solution = METHODS[method](h, start, tol=tol, max_iter=max_iter)
        Z, rows = h.factor(solution.point), None if precomputed else X
        rule = make_extension(Z, solution.point.d, K, rows, kernel, eta=eta, tau=tau, **extension)
        return ExactModel(rows, kernel, eta, Z, solution, rule)


class ExactModel:
    """A model with F on its training rows and a rule for F on new ones."""

    def __init__(self, X, kernel, eta, adaptive_factor, solution, extension):
        point = solution.point
        self.dual_coef, self.intercept = point.d, point.intercept
        self.eta, self.adaptive_factor = eta, adaptive_factor
        self.rank = self.adaptive_factor.shape[1]
        self.objective, self.duality_gap = point.value, max(point.gap, 0.0)
        self.n_iter, self.converged = solution.n_iter, solution.converged
        self.history = solution.history
        self.extension = extension
        self._rows, self._kernel = X, kernel
        self._support = np.flatnonzero(point.d)

    def decision_function(self, X):
        """Decision values of new rows, or of their kernel values, block by block."""
        support = self._support
        if not len(support):
            return np.full(len(X), self.intercept)
        coefficients = self.dual_coef[support]
        right = self.extension.train_factor[support] * coefficients[:, None]
        left = self.extension.transform(X)
        values = np.empty(len(X))
        for rows in row_blocks(len(X), 8 * (3 * len(support) + left.shape[1])):
            if self._rows is None:
                K = X[rows][:, support]
            else:
                K = gram_matrix(X[rows], self._rows[support], **self._kernel)
            values[rows] = np.einsum("ir,ir->i", left[rows], K @ right)
        return values + self.intercept

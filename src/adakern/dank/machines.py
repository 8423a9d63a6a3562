"""Fitted machines: what a strategy found, and how it decides on new rows.

A machine offers ``decision_function(X)``, where X are features, or precomputed kernel
values against the machine's rows, and the attributes ``dual_coef`` (n,), ``intercept``,
``eta``, ``adaptive_factor`` (n, r) or None, ``rank``, ``objective``, ``duality_gap``,
``n_iter``, ``converged`` and ``history``.
"""

from functools import cached_property

import numpy as np
from array_api_compat import array_namespace

from adakern._utils.arrays import as_index, as_numpy, asarray_like
from adakern._utils.blocks import row_blocks
from adakern.dank.decomposed import cluster_decisions
from adakern.kernels import gram_matrix, kernel_product
from adakern.linalg import numerical_rank

__all__ = ["DecomposedMachine", "ExactMachine", "WholeMachine", "adaptive_rank"]


class ExactMachine:
    """A machine with F on its training rows and a rule for F on new ones."""

    def __init__(self, X, kernel, saddle, solution, extension):
        point = solution.point
        self.dual_coef, self.intercept = point.d, point.intercept
        self.eta = saddle.eta
        self.adaptive_factor = saddle.factor(point)
        self.rank = self.adaptive_factor.shape[1]
        self.objective, self.duality_gap = point.value, max(point.gap, 0.0)
        self.n_iter, self.converged = solution.n_iter, solution.converged
        self.history = solution.history
        self.extension = extension
        self._rows, self._kernel = X, kernel
        self._support = np.flatnonzero(point.d)

    def decision_function(self, X):
        """Decision values of new rows, shape (m,), block by block."""
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


class DecomposedMachine:
    """Machines of the clusters, answering as one.

    ``adaptive_factor`` is None: F is block-diagonal and follows from ``dual_coef`` and
    ``eta``. ``history`` is a list, one for each cluster.
    """

    adaptive_factor = None
    intercept = 0.0

    def __init__(self, X, result, kernel):
        self.partition, self.eta = result.partition, result.eta
        self.dual_coef = as_numpy(result.dual_coef)
        self._kernel, self._supports = kernel, []
        for rows in result.partition.rows:
            support = rows[self.dual_coef[rows] != 0]
            self._supports.append((_rows(X, support), _rows(result.dual_coef, support)))
        solutions = result.solutions
        self.objective = sum(solution.objective for solution in solutions)
        self.duality_gap = sum(solution.gap for solution in solutions)
        self.n_iter = max(solution.n_iter for solution in solutions)
        self.converged = all(solution.converged for solution in solutions)
        self.history = [solution.history for solution in solutions]

    @cached_property
    def rank(self):
        """Numerical rank of the block-diagonal F, computed where it is asked for."""
        return sum(
            adaptive_rank(vectors, d, len(rows), self.eta, self._kernel)
            for rows, (vectors, d) in zip(
                self.partition.rows, self._supports, strict=True
            )
        )

    def decision_function(self, X):
        """Decision values of new rows, each by its own cluster, shape (m,)."""
        X = asarray_like(X, self.partition.centres)
        return cluster_decisions(X, self.partition, self._supports, self._kernel)


class WholeMachine:
    """One machine on all rows, without F on new ones; ``adaptive_factor`` is None."""

    adaptive_factor = None

    def __init__(self, X, solution, eta, kernel):
        self.intercept = solution.intercept
        self.dual_coef, self.eta = as_numpy(solution.dual_coef), eta
        support = np.flatnonzero(self.dual_coef)
        self._vectors, self._d = _rows(X, support), _rows(solution.dual_coef, support)
        self._kernel, self._n_rows = kernel, X.shape[0]
        self.objective, self.duality_gap = solution.objective, solution.gap
        self.n_iter, self.converged = solution.n_iter, solution.converged
        self.history = solution.history

    @cached_property
    def rank(self):
        """Numerical rank of F, computed where it is asked for."""
        return adaptive_rank(
            self._vectors, self._d, self._n_rows, self.eta, self._kernel
        )

    def decision_function(self, X):
        """Decision values of new rows, shape (m,)."""
        X = asarray_like(X, self._vectors)
        products = kernel_product(X, self._vectors, self._d, **self._kernel)
        return products + self.intercept


def _rows(X, rows):
    return array_namespace(X).take(X, as_index(rows, X), axis=0)


def adaptive_rank(vectors, d, n_rows, eta, kernel):
    """Numerical rank of ``F = 11' + diag(d) K diag(d) / (4 eta)`` on n_rows rows.

    All rows of F beyond the m support vectors are equal: they act as one, weighted by
    the root of their number.
    """
    d = as_numpy(d).astype(float) / np.sqrt(4 * eta)
    m = len(d)
    A = np.zeros((m + 1, m + 1))
    A[:m, :m] = d[:, None] * as_numpy(gram_matrix(vectors, **kernel)) * d if m else 0
    weights = np.ones(m + 1)
    weights[m] = np.sqrt(n_rows - m)
    A += np.outer(weights, weights)
    return numerical_rank(A, n_rows)

"""Models fitted without a Gram matrix: kernel expansions with F = 1 on new rows.

A new row has no dual variable, so the closed form ``F = 11' + diag(d) K diag(d) / (4
eta)`` is 1 for it. Its decision value is ``sum_i d_i k(x_i, x)``, over the rows of its
cluster or over all rows, plus the intercept.
"""

from functools import cached_property

import numpy as np
from array_api_compat import array_namespace

from adakern._utils.arrays import as_index, as_numpy, asarray_like
from adakern.dank import decomposed, whole
from adakern.dank.partition import clusters_for
from adakern.dank.working_set import RowsProblem
from adakern.kernels import gram_matrix, kernel_product
from adakern.linalg import numerical_rank

#: Solvers by the names of the strategies.
SOLVERS = {"decomposed": decomposed.solve, "whole": whole.solve}


def fit_on_features(estimator, X, dual):
    """Fit a :class:`SparseModel` to the rows X by a strategy without a Gram matrix."""
    problem = RowsProblem(X, estimator._kernel_params, dual, estimator.eta)
    n = X.shape[0]
    solution = SOLVERS[estimator.strategy](
        problem,
        None,
        estimator.tol,
        n_clusters=min(estimator.n_clusters or clusters_for(n), n),
        max_iter=estimator.max_iter,
        random_state=estimator.random_state,
        n_jobs=estimator.n_jobs,
    )
    return SparseModel(problem, solution)


class SparseModel:
    """Kernel expansions with F = 1 on new rows: one per cluster, or a single one."""

    adaptive_factor = None

    def __init__(self, problem, solution):
        X = problem.X
        parts = solution.parts
        self.partition = solution.partition
        self.eta = solution.eta
        self._kernel = problem.kernel
        self.dual_coef = as_numpy(solution.d)
        take = array_namespace(X).take
        clusters = self.partition.rows if self.partition else [np.arange(X.shape[0])]
        self._sizes = []
        self._supports = []
        self._shares = []
        each = solution.d / problem.dual.copies
        for rows in clusters:
            support = as_index(rows[self.dual_coef[rows] != 0], X)
            self._sizes.append(len(rows))
            self._supports.append((take(X, support, axis=0), take(solution.d, support)))
            self._shares.append(take(each, support))
        self.intercept = 0.0 if self.partition else parts[0].point.intercept
        self.objective = sum(part.point.value for part in parts)
        self.duality_gap = sum(part.gap for part in parts)
        self.n_iter = max(part.n_iter for part in parts)
        self.converged = all(part.converged for part in parts)
        histories = [part.history for part in parts]
        self.history = histories if self.partition else histories[0]

    @cached_property
    def rank(self):
        """Numerical rank of the block-diagonal F, computed on first access."""
        return sum(
            adaptive_rank(vectors, shares, n_rows, self.eta, self._kernel)
            for n_rows, (vectors, _), shares in zip(
                self._sizes, self._supports, self._shares, strict=True
            )
        )

    def decision_function(self, X):
        """Decision values of new rows by the models of their clusters, shape (m,)."""
        X = asarray_like(X, self._supports[0][0])
        if not self.partition:
            return (
                kernel_product(X, *self._supports[0], **self._kernel) + self.intercept
            )
        xp = array_namespace(X)
        labels = self.partition.assign(X)
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(np.bincount(labels, minlength=len(self._supports)))
        values = []
        for rows, support in zip(
            np.split(order, ends[:-1]), self._supports, strict=True
        ):
            part = xp.take(X, as_index(rows, X), axis=0)
            values.append(kernel_product(part, *support, **self._kernel))
        return xp.take(xp.concat(values), as_index(np.argsort(order, kind="stable"), X))


def adaptive_rank(vectors, d, n_rows, eta, kernel):
    """Numerical rank of ``F = 11' + diag(d) K diag(d) / (4 eta)`` on n_rows rows.

    All rows that are not support vectors are represented by one row, weighted by the
    square root of their number.
    """
    d = as_numpy(d).astype(float) / np.sqrt(4 * eta)
    m = len(d)
    A = np.zeros((m + 1, m + 1))
    A[:m, :m] = d[:, None] * as_numpy(gram_matrix(vectors, **kernel)) * d if m else 0
    weights = np.ones(m + 1)
    weights[m] = np.sqrt(n_rows - m)
    A += np.outer(weights, weights)
    return numerical_rank(A, n_rows)

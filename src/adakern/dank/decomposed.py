"""The strategies "decomposed" (JMLR, section 4) and "whole", without a Gram matrix.

Every k-means cluster is a problem of its own, with ``tau = 0`` and without a bias, and
F is block-diagonal. A new row belongs to a cluster and has no dual variable, so that
the closed form ``F = 11' + diag(d) K diag(d) / (4 eta)`` gives it the factor 1: the
decision value is ``sum_i d_i k(x_i, x)``. "whole" solves all rows together, started
from the clusters; its value is the same sum over all rows, plus the intercept.

The clusters share the eta of the whole problem, ||alpha_svm||^2; alpha_svm joins the
dual variables of one SVM for each cluster (the decomposed SVM, which is also the
start).
"""

from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from joblib import Parallel, delayed

from adakern._utils.arrays import as_index, as_numpy, asarray_like
from adakern._utils.threads import one_thread
from adakern.dank.objective import SVM_TOL, svm_eta
from adakern.dank.partition import Partition, partition
from adakern.dank.working_set import RowsSolution, maximise_on_rows
from adakern.kernels import gram_matrix, kernel_product
from adakern.linalg import numerical_rank
from adakern.svm.libsvm import dual_on_rows

#: With at least so many clusters, a partition into fewer and larger ones is solved
#: before all rows are.
FEWEST_TO_REFINE = 9


class SparseSolution(NamedTuple):
    """DANK solved cluster by cluster, or on all rows together."""

    #: None for all rows together.
    partition: Partition | None
    #: Signed dual variable d of all rows, in their order, shape (n,).
    dual_coef: Any
    #: The number that was used.
    eta: float
    #: One for each cluster.
    solutions: list[RowsSolution]


def solve_clusters(
    X,
    dual,
    kernel,
    *,
    eta,
    n_clusters,
    tol,
    max_iter,
    start=None,
    random_state=None,
    n_jobs=None,
):
    """Solve DANK without nuclear norm and bias, cluster by cluster, started from their
    SVMs.
    """
    with one_thread():  # k-means on a sample is over before its threads are awake
        cut = partition(X, n_clusters, random_state)
    xp, dual = array_namespace(X), replace(dual, fit_intercept=False)
    indices = [as_index(rows, X) for rows in cut.rows]
    parts = [(xp.take(X, rows, axis=0), dual.take(rows)) for rows in indices]
    if start is None:
        starts = for_each_cluster(
            _svm, [(*p, kernel, eta == "svm") for p in parts], n_jobs
        )
    else:
        starts = [xp.take(start, rows) for rows in indices]
    maximise = partial(maximise_on_rows, kernel=kernel, tol=tol, max_iter=max_iter)

    def solve(eta):
        tasks = [(*part, eta, start) for part, start in zip(parts, starts, strict=True)]
        return for_each_cluster(maximise, tasks, n_jobs)

    if eta == "svm":
        eta = svm_eta(starts, dual.C, lambda: [s.dual_coef for s in solve(np.inf)])
    solutions = solve(eta)
    back = np.argsort(np.concatenate(cut.rows), kind="stable")
    joined = xp.concat([solution.dual_coef for solution in solutions])
    return SparseSolution(cut, xp.take(joined, as_index(back, X)), eta, solutions)


def _svm(X, dual, kernel, precise):
    """Coefficients of the SVM with an intercept; LIBSVM may end early where not
    ``precise``.
    """
    d, ended = dual_on_rows(X, dual, kernel, SVM_TOL)
    if ended or not precise:
        return d
    dual = replace(dual, fit_intercept=True)
    return maximise_on_rows(X, dual, np.inf, d, kernel=kernel, tol=SVM_TOL).dual_coef


def solve_whole(X, dual, kernel, *, eta, n_clusters, tol, max_iter, **options):
    """Solve DANK without the nuclear norm on all rows, started from ever fewer
    clusters.
    """
    ends = {"tol": tol, "max_iter": max_iter}
    fine = solve_clusters(
        X, dual, kernel, eta=eta, n_clusters=n_clusters, **ends, **options
    )
    start, eta = fine.dual_coef, fine.eta
    if n_clusters >= FEWEST_TO_REFINE:
        options |= {"eta": eta, "start": start, "n_clusters": round(n_clusters**0.5)}
        start = solve_clusters(X, dual, kernel, **ends, **options).dual_coef
    if dual.fit_intercept:
        start = _balanced(start)
    solution = maximise_on_rows(X, dual, eta, start, kernel=kernel, **ends)
    return SparseSolution(None, solution.dual_coef, eta, [solution])


def _balanced(d):
    """d with its positive or its negative part scaled down, so that it sums to zero."""
    xp = array_namespace(d)
    size, total = float(xp.sum(xp.abs(d))), float(xp.sum(d))
    positive, negative = (size + total) / 2, (size - total) / 2
    least = min(positive, negative)
    up, down = least / (positive or 1.0), least / (negative or 1.0)
    return xp.where(d > 0, up * d, down * d)


def for_each_cluster(function, tasks, n_jobs=None):
    """``[function(*task) for task in tasks]`` through joblib, the largest cluster
    first.
    """
    order = sorted(range(len(tasks)), key=lambda c: -tasks[c][0].shape[0])
    calls = (delayed(_of_cluster)(function, tasks[c]) for c in order)
    # One thread of BLAS in each worker: with more of them sums would be taken in
    # another order, and rounded differently.
    with one_thread("blas"):
        results = Parallel(n_jobs, prefer="threads", batch_size=1)(calls)
    return [results[place] for place in np.argsort(order)]


def _of_cluster(function, task):
    with one_thread("blas"):
        return function(*task)


class SparseModel:
    """Kernel expansions without F on new rows: one for each cluster, or one for all."""

    adaptive_factor = None

    def __init__(self, X, kernel, solution):
        self.partition, dual_coef, self.eta, solutions = solution
        self._kernel, self.dual_coef = kernel, as_numpy(dual_coef)
        take = array_namespace(X).take
        clusters = self.partition.rows if self.partition else [np.arange(X.shape[0])]
        self._sizes, self._supports = [len(rows) for rows in clusters], []
        for rows in clusters:
            support = as_index(rows[self.dual_coef[rows] != 0], X)
            self._supports.append((take(X, support, axis=0), take(dual_coef, support)))
        self.intercept = 0.0 if self.partition else solutions[0].intercept
        self.objective = sum(solution.objective for solution in solutions)
        self.duality_gap = sum(solution.gap for solution in solutions)
        self.n_iter = max(solution.n_iter for solution in solutions)
        self.converged = all(solution.converged for solution in solutions)
        histories = [solution.history for solution in solutions]
        self.history = histories if self.partition else histories[0]

    @cached_property
    def rank(self):
        """Numerical rank of F, which is block-diagonal; computed when asked for."""
        return sum(
            adaptive_rank(vectors, d, n_rows, self.eta, self._kernel)
            for n_rows, (vectors, d) in zip(self._sizes, self._supports, strict=True)
        )

    def decision_function(self, X):
        """Decision values of new rows, each by its own cluster, shape (m,)."""
        X = asarray_like(X, self._supports[0][0])
        if not self.partition:
            return (
                kernel_product(X, *self._supports[0], **self._kernel) + self.intercept
            )
        xp, labels = array_namespace(X), self.partition.assign(X)
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

    Rows that are no support vectors act as one, weighted by the root of their number.
    """
    d = as_numpy(d).astype(float) / np.sqrt(4 * eta)
    m = len(d)
    A = np.zeros((m + 1, m + 1))
    A[:m, :m] = d[:, None] * as_numpy(gram_matrix(vectors, **kernel)) * d if m else 0
    weights = np.ones(m + 1)
    weights[m] = np.sqrt(n_rows - m)
    A += np.outer(weights, weights)
    return numerical_rank(A, n_rows)

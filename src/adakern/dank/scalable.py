"""The strategies of the DANK estimators that store no Gram matrix of all rows.

Both solve DANK with ``tau = 0``: "decomposed" cluster by cluster and without a bias
(section 4 of the paper), "whole" on all rows together, started from the clusters, with
or without a bias.

A new row has no dual variable, so that the closed form ``F = 11' + diag(d) K diag(d) /
(4 eta)`` gives it the factor 1, whatever ``extension`` says, and its decision value is
``sum_i d_i k(x_i, x)``, plus the bias.
"""

import warnings

import numpy as np
from array_api_compat import array_namespace
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from adakern._utils.arrays import as_index, as_numpy, asarray_like
from adakern.dank.decomposed import cluster_decisions, decompose, for_each_cluster
from adakern.dank.partition import clusters_for
from adakern.dank.quartic import label_box, tube_box
from adakern.dank.rank import adaptive_rank
from adakern.dank.working_set import maximise_on_rows
from adakern.kernels import kernel_product

__all__ = ["DecomposedMachine", "WholeMachine", "fit_decomposed", "fit_whole"]

#: Clusters from which on "whole" goes over larger clusters first.
FEWEST_TO_REFINE = 9


def fit_decomposed(estimator, X, dual):
    """Fit one machine cluster by cluster; see ``adakern.dank.base.STRATEGIES``."""
    _refuse_precomputed(estimator)
    box, svm = _box(estimator, X, dual)
    result = _decompose(estimator, X, box, svm, _n_clusters(estimator, X))
    machine = DecomposedMachine(X, result, estimator._kernel_params, estimator.n_jobs)
    _warn(estimator, machine, "increase max_iter or tol")
    return machine


def fit_whole(estimator, X, dual):
    """Fit one machine on all rows; see ``adakern.dank.base.STRATEGIES``.

    The start is refined over fewer, larger clusters before all rows come together: most
    of the rows that a small cluster takes for support vectors leave there, where it is
    cheap.
    """
    _refuse_precomputed(estimator)
    box, svm = _box(estimator, X, dual)
    n_clusters = _n_clusters(estimator, X)
    fine = _decompose(estimator, X, box, svm, n_clusters)
    start, eta = fine.dual_coef, fine.eta
    if n_clusters >= FEWEST_TO_REFINE:
        coarse = _decompose(
            estimator, X, box, svm, round(n_clusters**0.5), start=start, eta=eta
        )
        start = coarse.dual_coef
    kernel = estimator._kernel_params
    solution = maximise_on_rows(
        X,
        box,
        eta,
        kernel,
        start=_balanced(start) if dual.fit_intercept else start,
        balanced=dual.fit_intercept,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
    )
    machine = WholeMachine(X, solution, eta, kernel)
    _warn(estimator, machine, 'increase max_iter or tol, or use strategy="decomposed"')
    return machine


def _balanced(d):
    """d with its positive or its negative part scaled down, so that it sums to zero."""
    xp = array_namespace(d)
    size, total = float(xp.sum(xp.abs(d))), float(xp.sum(d))
    positive, negative = (size + total) / 2, (size - total) / 2
    least = min(positive, negative)
    up, down = least / (positive or 1.0), least / (negative or 1.0)
    return xp.where(d > 0, up * d, down * d)


def _refuse_precomputed(estimator):
    if estimator.kernel == "precomputed":
        raise ValueError(
            f'kernel="precomputed" does not go with strategy={estimator.strategy!r}, '
            'which works on features; use strategy="exact", or another kernel'
        )


def _box(estimator, X, dual):
    """The box of the dual, and the unfitted LIBSVM machine of the same problem."""
    target = asarray_like(dual.y, X)
    if len(dual.signs) == len(dual.y):
        return label_box(target, dual.C), SVC(C=dual.C)
    epsilon = estimator.epsilon
    return tube_box(target, dual.C, epsilon), SVR(C=dual.C, epsilon=epsilon)


def _n_clusters(estimator, X):
    return min(estimator.n_clusters or clusters_for(X.shape[0]), X.shape[0])


def _decompose(estimator, X, box, svm, n_clusters, start=None, eta=None):
    return decompose(
        X,
        box,
        svm,
        estimator._kernel_params,
        eta=estimator.eta if eta is None else eta,
        n_clusters=n_clusters,
        start=start,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        random_state=estimator.random_state,
        n_jobs=estimator.n_jobs,
    )


def _warn(estimator, machine, way_out):
    if machine.converged:
        return
    warnings.warn(
        f"strategy={estimator.strategy!r} stopped with the duality gap "
        f"{machine.duality_gap:.3g} at the objective {machine.objective:.6g}, above "
        f"its share tol={estimator.tol:g}; {way_out}",
        ConvergenceWarning,
        stacklevel=6,
    )


class DecomposedMachine:
    """Machines of the clusters, answering as one; see ``base.STRATEGIES``.

    ``adaptive_factor`` is None: F is block-diagonal and follows from ``dual_coef`` and
    ``eta``. ``history`` is a list, one for each cluster.
    """

    adaptive_factor = None
    intercept = 0.0

    def __init__(self, X, result, kernel, n_jobs):
        self.partition, self.eta = result.partition, result.eta
        self.dual_coef = as_numpy(result.dual_coef)
        self._kernel = kernel
        self._supports, tasks = [], []
        for rows in result.partition.rows:
            support = rows[self.dual_coef[rows] != 0]
            vectors, d = _rows(X, support), _rows(result.dual_coef, support)
            self._supports.append((vectors, d))
            vectors, d = as_numpy(vectors), as_numpy(d)
            tasks.append((vectors, d, len(rows), self.eta, kernel))
        self.rank = sum(for_each_cluster(adaptive_rank, tasks, n_jobs))
        solutions = result.solutions
        self.objective = sum(solution.objective for solution in solutions)
        self.duality_gap = sum(solution.gap for solution in solutions)
        self.n_iter = max(solution.n_iter for solution in solutions)
        self.converged = all(solution.converged for solution in solutions)
        self.history = [_history(solution) for solution in solutions]

    def decision_function(self, X):
        """Decision values of new rows, each by its own cluster, shape (m,)."""
        X = asarray_like(X, self.partition.centres)
        return cluster_decisions(X, self.partition, self._supports, self._kernel)


class WholeMachine:
    """One machine on all rows; see ``base.STRATEGIES``. ``adaptive_factor`` is None."""

    adaptive_factor = None

    def __init__(self, X, solution, eta, kernel):
        self.intercept = solution.intercept
        self.dual_coef, self.eta = as_numpy(solution.dual_coef), eta
        support = np.flatnonzero(self.dual_coef)
        self._vectors, self._d = _rows(X, support), _rows(solution.dual_coef, support)
        self._kernel = kernel
        vectors, d = as_numpy(self._vectors), as_numpy(self._d)
        self.rank = adaptive_rank(vectors, d, X.shape[0], eta, kernel)
        self.objective, self.duality_gap = solution.objective, solution.gap
        self.n_iter, self.converged = solution.n_iter, solution.converged
        self.history = _history(solution)

    def decision_function(self, X):
        """Decision values of new rows, shape (m,)."""
        X = asarray_like(X, self._vectors)
        products = kernel_product(X, self._vectors, self._d, **self._kernel)
        return products + self.intercept


def _rows(X, rows):
    return array_namespace(X).take(X, as_index(rows, X), axis=0)


def _history(solution):
    values, gaps = zip(*solution.history, strict=True)
    return {"objective": list(values), "gap": list(gaps)}

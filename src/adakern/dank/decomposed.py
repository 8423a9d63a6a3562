"""The strategy "decomposed" (JMLR, section 4), without a Gram matrix.

Every k-means cluster is a problem of its own, with ``tau = 0`` and without a bias, and
F is block-diagonal.

The clusters share the eta of the whole problem, ||alpha_svm||^2; alpha_svm joins the
dual variables of one SVM for each cluster (the decomposed SVM, which is also the
start).
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from joblib import Parallel, delayed

from adakern._utils.arrays import as_index
from adakern._utils.threads import one_thread
from adakern.dank.objective import SVM_TOL, svm_eta
from adakern.dank.partition import Partition, partition
from adakern.dank.working_set import RowsSolution, maximise_on_rows
from adakern.svm.libsvm import dual_on_rows


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

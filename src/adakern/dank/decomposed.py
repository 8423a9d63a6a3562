"""The strategy "decomposed" (JMLR, section 4), without a Gram matrix.

Each k-means cluster is a separate problem, with ``tau = 0`` and without an intercept,
so F is block-diagonal.

All clusters share the eta of the whole problem, ||alpha_svm||^2. Here, alpha_svm
concatenates the dual variables of one SVM per cluster (the decomposed SVM), which are
also the starting point.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from joblib import Parallel, delayed

from adakern._utils.arrays import as_index
from adakern._utils.resources import one_thread
from adakern.dank import working_set
from adakern.dank.objective import SVM_TOL, svm_eta
from adakern.dank.partition import Partition, partition
from adakern.svm.dual import Solution
from adakern.svm.libsvm import dual_on_rows


class SparseSolution(NamedTuple):
    """DANK solved cluster by cluster, or on all rows together."""

    #: None if all rows are solved together.
    partition: Partition | None
    #: Signed dual variables d of all rows, in their original order, shape (n,).
    d: Any
    #: Value of eta used.
    eta: float
    #: One for each cluster.
    parts: list[Solution]


def solve(problem, start, tol, *, n_clusters, max_iter, random_state=None, n_jobs=None):
    """Solve a :class:`RowsProblem <adakern.dank.working_set.RowsProblem>` by clusters.

    There is no intercept. If ``start`` is None, each cluster starts from its SVM.
    """
    X = problem.X
    eta = problem.eta
    with one_thread():  # for k-means on a sample, starting threads does not pay off
        cut = partition(X, n_clusters, random_state)
    xp = array_namespace(X)
    dual = replace(problem.dual, fit_intercept=False)
    indices = [as_index(rows, X) for rows in cut.rows]
    parts = [replace(problem, dual=dual).take(rows) for rows in indices]
    if start is None:
        starts = for_each_cluster(_svm, [(part,) for part in parts], n_jobs)
    else:
        starts = [xp.take(start, rows) for rows in indices]

    def solve_all(eta):
        maximise = partial(working_set.solve, tol=tol, max_iter=max_iter)
        tasks = [
            (replace(part, eta=eta), start)
            for part, start in zip(parts, starts, strict=True)
        ]
        return for_each_cluster(maximise, tasks, n_jobs)

    if eta == "svm":
        eta = svm_eta(
            [part.dual.squares(d) for part, d in zip(parts, starts, strict=True)],
            dual.C,
            lambda: [
                part.dual.squares(solution.point.d)
                for part, solution in zip(parts, solve_all(np.inf), strict=True)
            ],
        )
    solutions = solve_all(eta)
    back = np.argsort(np.concatenate(cut.rows), kind="stable")
    joined = xp.concat([solution.point.d for solution in solutions])
    return SparseSolution(cut, xp.take(joined, as_index(back, X)), eta, solutions)


def _svm(problem):
    """Coefficients of the SVM with an intercept.

    If eta is given, they are only a starting point, and LIBSVM may stop early.
    """
    d, ended = dual_on_rows(problem.X, problem.dual, problem.kernel, SVM_TOL)
    if ended or problem.eta != "svm":
        return d
    dual = replace(problem.dual, fit_intercept=True)
    svm = replace(problem, dual=dual, eta=np.inf)
    return working_set.solve(svm, d, SVM_TOL).point.d


def for_each_cluster(function, tasks, n_jobs=None):
    """Compute ``[function(*task) for task in tasks]`` by joblib, largest task first."""
    order = sorted(range(len(tasks)), key=lambda c: -tasks[c][0].X.shape[0])
    calls = (delayed(_with_one_thread)(function, tasks[c]) for c in order)
    # Each worker uses one BLAS thread: more threads would change the order of the sums,
    # and thereby their rounding.
    with one_thread("blas"):
        results = Parallel(n_jobs, prefer="threads", batch_size=1)(calls)
    return [results[place] for place in np.argsort(order)]


def _with_one_thread(function, task):
    with one_thread("blas"):
        return function(*task)

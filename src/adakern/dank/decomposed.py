"""DANK cluster by cluster: the strategy "decomposed" (JMLR, section 4).

The rows are cut into clusters by k-means; every cluster is a problem of its own, with
``tau = 0`` and without a bias, and F is block-diagonal. A new row is answered by the
cluster it belongs to. It has no dual variable, so that the closed form
``F = 11' + diag(d) K diag(d) / (4 eta)`` gives it the factor 1: the decision value is
``sum_i d_i k(x_i, x)``.

One number couples the clusters: eta. The paper solves all sub-problems with the eta of
the whole problem, eta = ||alpha_svm||^2; here alpha_svm joins the dual variables of one
SVM for each cluster (the decomposed SVM, which is also where the solver starts from),
so that eta costs no SVM on all rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from joblib import Parallel, delayed, effective_n_jobs

from adakern._utils.arrays import as_index
from adakern._utils.threads import one_thread
from adakern.dank.partition import Partition, partition
from adakern.dank.warm_start import svm_eta
from adakern.dank.working_set import RowsSolution, maximise_on_rows
from adakern.kernels import kernel_product
from adakern.svm.libsvm import dual_on_rows

__all__ = ["Decomposition", "cluster_decisions", "decompose", "for_each_cluster"]

#: Kernel values between a cluster's rows and its support vectors, up to which it is
#: solved in milliseconds, most of them Python's: two threads then wait for each other.
FEW_KERNEL_VALUES = 1_000_000


@dataclass(frozen=True)
class Decomposition:
    """DANK solved cluster by cluster."""

    partition: Partition
    #: Signed dual variable d of all rows, in their order, shape (n,).
    dual_coef: Any
    #: The number that was used.
    eta: float
    #: One for each cluster.
    solutions: list[RowsSolution]


def decompose(
    X,
    dual,
    svm,
    kernel,
    *,
    eta="svm",
    n_clusters=10,
    start=None,
    tol=1e-4,
    max_iter=200,
    random_state=None,
    n_jobs=None,
):
    """Solve DANK without the nuclear norm and the bias, cluster by cluster."""
    with one_thread():  # k-means on a sample is over before its threads are awake
        cut = partition(X, n_clusters, random_state)
    xp = array_namespace(X)
    indices = [as_index(rows, X) for rows in cut.rows]
    parts = [(xp.take(X, rows, axis=0), dual.take(rows)) for rows in indices]
    if start is None:
        tasks = [(*part, svm, kernel) for part in parts]
        starts = for_each_cluster(dual_on_rows, tasks, n_jobs)
    else:
        starts = [xp.take(start, rows) for rows in indices]

    are_small = all(
        start.shape[0] * int(xp.count_nonzero(start)) <= FEW_KERNEL_VALUES
        for start in starts
    )

    def solve(eta):
        options = {"kernel": kernel, "tol": tol, "max_iter": max_iter}
        tasks = [
            (*part, eta, start, options)
            for part, start in zip(parts, starts, strict=True)
        ]
        return for_each_cluster(_solve_cluster, tasks, 1 if are_small else n_jobs)

    if eta == "svm":
        eta = svm_eta(starts, dual.C, lambda: [s.dual_coef for s in solve(np.inf)])
    solutions = solve(eta)
    back = np.argsort(np.concatenate(cut.rows), kind="stable")
    joined = xp.concat([solution.dual_coef for solution in solutions])
    return Decomposition(cut, xp.take(joined, as_index(back, X)), eta, solutions)


def _solve_cluster(X, dual, eta, start, options):
    return maximise_on_rows(X, dual, eta, start=start, **options)


def for_each_cluster(function, tasks, n_jobs=None):
    """``[function(*task) for task in tasks]`` through joblib, one task per cluster.

    The cluster of the most rows starts first: begun last, it would run alone.
    """
    order = sorted(range(len(tasks)), key=lambda c: -tasks[c][0].shape[0])
    results = {}
    parallel = Parallel(
        n_jobs=n_jobs,
        prefer="threads",
        batch_size=1,
        return_as="generator_unordered",
    )
    calls = (delayed(_numbered)(function, c, tasks[c]) for c in order)
    try:
        # One thread of BLAS in each worker: with more of them sums would be taken in
        # another order, and rounded differently.
        with one_thread("blas"):
            for cluster, result in parallel(calls):
                results[cluster] = result
    except ClusterError:
        raise
    except Exception as error:
        unfinished = [c for c in order if c not in results]
        running = unfinished[: effective_n_jobs(n_jobs)]
        names = " or ".join(
            f"cluster {c} ({tasks[c][0].shape[0]} rows)" for c in running
        )
        raise RuntimeError(
            f"a worker died while it solved {names}, with {len(results)} of "
            f"{len(tasks)} clusters finished; if it ran out of memory, use more "
            "clusters (n_clusters) or fewer workers (n_jobs)"
        ) from error
    return [results[cluster] for cluster in range(len(tasks))]


class ClusterError(RuntimeError):
    """What went wrong, and in which cluster."""


def _numbered(function, cluster, task):
    try:
        with one_thread("blas"):
            return cluster, function(*task)
    except Exception as error:
        raise ClusterError(
            f"cluster {cluster} ({task[0].shape[0]} rows): {error}"
        ) from error


def cluster_decisions(X, partition, supports, kernel):
    """Decision value of each row of X by the machine of its own cluster, shape (n,)."""
    xp = array_namespace(X)
    labels = partition.assign(X)
    rows = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=len(supports)))
    values = [xp.zeros(0, dtype=X.dtype, device=getattr(X, "device", None))]
    for members, (vectors, dual_coef) in zip(
        np.split(rows, ends[:-1]), supports, strict=True
    ):
        part = xp.take(X, as_index(members, X), axis=0)
        values.append(kernel_product(part, vectors, dual_coef, **kernel))
    back = as_index(np.argsort(rows, kind="stable"), X)
    return xp.take(xp.concat(values), back)

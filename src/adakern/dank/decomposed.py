"""DANK cluster by cluster (section 4 of the paper).

The rows are cut into clusters by k-means; every cluster is a problem of its own, with
``tau = 0`` and without a bias, and F is block-diagonal. A new row is answered by the
cluster it belongs to. It has no dual variable, so that the closed form
``F = 11' + diag(d) K diag(d) / (4 eta)`` gives it the factor 1: the decision value is
``sum_i d_i k(x_i, x)``.

One number couples the clusters: eta. The paper solves all sub-problems with the eta of
the whole problem, eta = ||alpha_svm||^2; here alpha_svm joins the dual variables of one
SVM for each cluster (the decomposed SVM, which is also where the solver starts from),
so that eta costs no SVM on all rows. A cluster of one class has alpha_svm = 0; if all
clusters have, alpha_svm is that of the machines without a bias.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone, is_classifier

from adakern._utils.arrays import as_index, as_numpy, asarray_like
from adakern._utils.threads import one_thread
from adakern.dank.partition import Partition, partition
from adakern.dank.working_set import RowsSolution, maximise_on_rows
from adakern.kernels import gram_matrix, kernel_product
from adakern.svm.libsvm import fit_libsvm

__all__ = ["Decomposition", "decompose", "for_each_cluster", "svm_dual"]


@dataclass(frozen=True)
class Decomposition:
    """DANK solved cluster by cluster.

    Attributes
    ----------
    partition : Partition
    dual_coef : array of shape (n,)
        Signed dual variable d of all rows, in their order.
    eta : float
        The number that was used.
    solutions : list of RowsSolution
        One for each cluster.
    """

    partition: Partition
    dual_coef: Any
    eta: float
    solutions: list[RowsSolution]


def decompose(
    X,
    box,
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
    """Solve DANK without the nuclear norm and the bias, cluster by cluster.

    Parameters
    ----------
    X : array of shape (n, d)
    box : Box
        Targets and bounds of the n rows.
    svm : SVC or SVR
        The unfitted machine that gives alpha_svm, with its C and epsilon.
    kernel : dict
        Keyword arguments of :func:`adakern.kernels.gram_matrix`.
    eta : "svm" or float, default="svm"
        One number for all clusters; see the module.
    n_clusters : int, default=10
    start : array of shape (n,), default=None
        Dual variables of a decomposition into other clusters, for a given eta; those of
        one SVM for each cluster when None.
    tol : float, default=1e-4
        Largest accepted duality gap of a cluster, as a fraction of its objective.
    max_iter : int, default=200
        Largest number of rounds in a cluster.
    random_state : int, RandomState instance or None, default=None
        Of k-means.
    n_jobs : int, default=None
        Clusters solved at a time, by joblib: under ``joblib.parallel_config`` a Dask
        or Ray back end spreads them over machines. The result is the same for any
        number.

    Returns
    -------
    Decomposition

    Raises
    ------
    RuntimeError
        If a cluster cannot be solved or its worker dies; names the cluster.
    """
    with one_thread():  # Threads wait longer than it takes.
        cut = partition(X, n_clusters, random_state)
    parts = _parts(X, box, cut)
    if start is None:
        tasks = [(part, target, svm, kernel) for part, target in parts]
        starts = for_each_cluster(svm_dual, tasks, n_jobs)
    else:
        take = array_namespace(X).take
        starts = [take(start, as_index(rows, X)) for rows in cut.rows]
    if eta == "svm":
        eta = sum(_squared_norm(start) for start in starts)
    if not eta:
        free = _solve_clusters(parts, np.inf, kernel, starts, tol, max_iter, n_jobs)
        eta = sum(_squared_norm(solution.dual_coef) for solution in free)
    solutions = _solve_clusters(parts, eta, kernel, starts, tol, max_iter, n_jobs)
    xp = array_namespace(X)
    back = np.argsort(np.concatenate(cut.rows), kind="stable")
    joined = xp.concat([solution.dual_coef for solution in solutions])
    return Decomposition(cut, xp.take(joined, as_index(back, X)), eta, solutions)


def _parts(X, box, cut):
    take = array_namespace(X).take
    indices = [as_index(rows, X) for rows in cut.rows]
    return [(take(X, rows, axis=0), box.take(rows)) for rows in indices]


def _squared_norm(d):
    return float((d * d).sum()) if isinstance(d, np.ndarray) else float(d @ d)


def _solve_clusters(parts, eta, kernel, starts, tol, max_iter, n_jobs):
    tasks = [
        (part, target, eta, kernel, start, tol, max_iter)
        for (part, target), start in zip(parts, starts, strict=True)
    ]
    return for_each_cluster(_solve_cluster, tasks, n_jobs)


def _solve_cluster(X, box, eta, kernel, start, tol, max_iter):
    return maximise_on_rows(
        X, box, eta, kernel, start=start, tol=tol, max_iter=max_iter
    )


def svm_dual(X, box, svm, kernel):
    """Signed dual variable of LIBSVM on these rows, of the library of X.

    Zero where the SVM needs none: for a classifier on rows of one class. The number of
    LIBSVM's steps is bounded, since a rough start costs little and an endless one all.
    """
    target = as_numpy(box.target).astype(float)
    dual = np.zeros(len(target))
    if not is_classifier(svm) or np.ptp(target) > 0:
        named = kernel["kernel"] in ("rbf", "poly", "linear")
        machine = clone(svm).set_params(
            **(kernel if named else {"kernel": "precomputed"}),
            max_iter=max(10_000, 100 * len(target)),
        )
        rows = as_numpy(X if named else gram_matrix(X, **kernel))
        fit_libsvm(machine, rows, target)
        dual[machine.support_] = machine.dual_coef_[0]
    return asarray_like(dual, X)


def for_each_cluster(function, tasks, n_jobs=None):
    """``[function(*task) for task in tasks]`` through joblib, one task per cluster.

    The cluster of the most rows starts first: begun last, it would run alone.

    Raises
    ------
    RuntimeError
        If the function raises, or a worker dies; the message names the cluster.
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
        # The workers are the threads; sums over more of them would round otherwise.
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
    """Decision value of each row of X by the machine of its own cluster, shape (n,).

    Parameters
    ----------
    X : array of shape (n, d)
    partition : Partition
    supports : list of (array of shape (m, d), array of shape (m,))
        Support vectors of each cluster and their signed dual variables.
    kernel : dict
        Keyword arguments of :func:`adakern.kernels.gram_matrix`.
    """
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

"""One member fitted to some rows, in time, and what it predicts for the rest."""

import time

import numpy as np
from joblib import effective_n_jobs

from adakern._utils.arrays import computing_where
from adakern.adaptive.kernel_members import KernelRidgeMember
from adakern.adaptive.other_members import ConstantMember
from adakern.adaptive.plan import ENOUGH_ROWS

__all__ = ["fit_fold", "fitted", "in_time", "varies"]


def in_time(tasks, parallel, deadline):
    """What the tasks return; nothing if the first shows that the rest takes too long.

    Without a deadline (infinity) the first does not go ahead of the others.

    Parameters
    ----------
    tasks : list of joblib.delayed calls
    parallel : joblib.Parallel
    deadline : float
        By ``time.perf_counter``.

    Returns
    -------
    list
    """
    if deadline == np.inf:
        return parallel(tasks)
    started = time.perf_counter()
    function, args, kwargs = tasks[0]
    first = function(*args, **kwargs)
    ended = time.perf_counter()
    rounds = np.ceil((len(tasks) - 1) / effective_n_jobs(parallel.n_jobs))
    if ended + rounds * (ended - started) > deadline:
        return []
    return [first, *parallel(tasks[1:])]


def varies(A):
    """Whether any column of A holds two different values; a gap is one.

    Parameters
    ----------
    A : ndarray of shape (n, d)
    """
    first = A[:1]
    same = (first == A) | (np.isnan(first) & np.isnan(A))
    return not same.all()


def fitted(member, X, Y, weights):
    """The member, or the mean where there is nothing to learn from, fitted.

    Parameters
    ----------
    member : member
        Unfitted.
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, k)
    weights : ndarray of shape (n,)
        Positive.
    """
    if not (varies(X) and varies(Y)):
        member = ConstantMember(member)
    member.fit(X, Y, weights)
    return member


def fit_fold(member, views, table, left_out, place):
    """The member learned without the rows left out, and what it predicts for them.

    Twice: by itself, and as if it knew all other rows, where that has a closed form.
    Kernel members are refitted on all rows; what four fifths of few rows without noise
    predict is much worse than that, and the members would count for too little. They
    compute where ``place`` is, of which a worker process knows by it alone.

    Parameters
    ----------
    member : member
        Unfitted.
    views : dict
        Fitted views of the rows, by name.
    table : Table
    left_out : ndarray of bool, shape (n,)
    place : array
        Kernels are computed by its library, on its device.

    Returns
    -------
    member : member
        Fitted.
    predicted, values : ndarray of shape (n_left_out, k)
    """
    with computing_where(place):
        return _fit_and_predict(member, views, table, left_out)


def _fit_and_predict(member, views, table, left_out):
    X, train = views[member.view].transform(table.X), ~left_out
    member = fitted(member, X[train], table.Y[train], table.weights[train])
    predicted = member.predict(X[left_out])
    if not isinstance(member, KernelRidgeMember) or len(X) >= ENOUGH_ROWS:
        return member, predicted, predicted
    try:
        values = member.left_out(X, table.Y, table.weights)
    except np.linalg.LinAlgError:  # the ridge is too small for all rows
        return member, predicted, predicted
    return member, predicted, values[left_out]

"""The strategy "whole": DANK with tau = 0 on all rows, with no stored Gram matrix.

A new row has no dual variable, so that the closed form ``F = 11' + diag(d) K diag(d) /
(4 eta)`` gives it the factor 1, whatever ``extension`` says, and its decision value is
``sum_i d_i k(x_i, x)``, plus the intercept.
"""

from array_api_compat import array_namespace

from adakern.dank.decomposed import decompose
from adakern.dank.working_set import maximise_on_rows

__all__ = ["solve_whole"]

#: With at least so many clusters, a partition into fewer and larger ones is solved
#: before all rows are.
FEWEST_TO_REFINE = 9


def solve_whole(X, dual, svm, kernel, *, eta, n_clusters, tol, max_iter, **decomposing):
    """Maximise h over all rows, started from the solutions of clusters.

    Fewer, larger clusters are solved in between: most rows that are support vectors of
    a small cluster only are recognised there, where that is cheap.
    """
    ends = {"tol": tol, "max_iter": max_iter}
    cut = {**ends, **decomposing}
    fine = decompose(X, dual, svm, kernel, eta=eta, n_clusters=n_clusters, **cut)
    start, eta = fine.dual_coef, fine.eta
    if n_clusters >= FEWEST_TO_REFINE:
        cut |= {"eta": eta, "start": start, "n_clusters": round(n_clusters**0.5)}
        start = decompose(X, dual, svm, kernel, **cut).dual_coef
    if dual.fit_intercept:
        start = _balanced(start)
    balance = {"start": start, "balanced": dual.fit_intercept}
    return maximise_on_rows(X, dual, eta, kernel, **balance, **ends), eta


def _balanced(d):
    """d with its positive or its negative part scaled down, so that it sums to zero."""
    xp = array_namespace(d)
    size, total = float(xp.sum(xp.abs(d))), float(xp.sum(d))
    positive, negative = (size + total) / 2, (size - total) / 2
    least = min(positive, negative)
    up, down = least / (positive or 1.0), least / (negative or 1.0)
    return xp.where(d > 0, up * d, down * d)

"""The strategy "whole": all rows together, without a Gram matrix, from the clusters."""

from array_api_compat import array_namespace

from adakern.dank.decomposed import SparseSolution, solve_clusters
from adakern.dank.working_set import maximise_on_rows

#: With at least so many clusters, a partition into fewer and larger ones is solved
#: before all rows are.
FEWEST_TO_REFINE = 9


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

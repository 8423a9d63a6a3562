"""The strategy "whole": all rows together, warm-started, without a Gram matrix."""

from dataclasses import replace

from array_api_compat import array_namespace

from adakern.dank import decomposed, working_set
from adakern.dank.decomposed import SparseSolution

#: Minimum number of clusters for which a coarser partition is solved before the whole
#: problem.
FEWEST_TO_REFINE = 9


def solve(problem, start, tol, *, n_clusters, max_iter, **options):
    """Solve a :class:`RowsProblem <adakern.dank.working_set.RowsProblem>` in stages.

    Each stage has fewer clusters and starts from the solution of the previous one.
    """
    for count in (n_clusters, round(n_clusters**0.5)):
        fine = decomposed.solve(
            problem, start, tol, n_clusters=count, max_iter=max_iter, **options
        )
        problem = replace(problem, eta=fine.eta)
        start = fine.d
        if n_clusters < FEWEST_TO_REFINE:
            break
    if problem.dual.fit_intercept:
        start = _balance(start)
    solution = working_set.solve(problem, start, tol, max_iter=max_iter)
    return SparseSolution(None, solution.point.d, problem.eta, [solution])


def _balance(d):
    """Scale down the positive or the negative part of d so that d sums to zero."""
    xp = array_namespace(d)
    size = float(xp.sum(xp.abs(d)))
    total = float(xp.sum(d))
    positive = (size + total) / 2
    negative = (size - total) / 2
    least = min(positive, negative)
    up = least / (positive or 1.0)
    down = least / (negative or 1.0)
    return xp.where(d > 0, up * d, down * d)

"""Newton's method on the optimality conditions of the quartic or a quadratic program.

This is the primal-dual active set method (Hintermueller, Ito and Kunisch, SIAM Journal
on Optimization 13, 2002). Rows that a step takes beyond a bound are fixed at that
bound, and rows at a bound whose slope points inwards are freed, until neither occurs.
From a start near the maximiser, a few linear systems suffice to find it exactly; from
other starts, the active sets may cycle.
"""

import numpy as np
from array_api_compat import array_namespace

from adakern.linalg import factorised

#: Number of linear systems after which the active sets are assumed to cycle.
MAX_SYSTEMS = 25

#: A row at a bound is freed only if its slope exceeds this fraction of the largest
#: target.
SLACK = 1e-10


def solve(problem, start, tol):
    """Return the maximiser of h, or None if the active sets do not settle."""
    xp = array_namespace(start)
    dual = problem.dual
    total = float(xp.sum(start)) if dual.fit_intercept else None
    slack = SLACK * float(xp.max(xp.abs(dual.target)))
    point = problem.at(start)
    side = xp.zeros_like(start)
    side, lower, upper = _one_side(point, dual, side < 0, side)
    at_lower = start <= lower
    at_upper = start >= upper
    for _ in range(MAX_SYSTEMS):
        d = xp.minimum(xp.maximum(point.d, lower), upper)
        if xp.any(d != point.d):
            point = problem.at(d)
        free = ~(at_lower | at_upper)
        rows = xp.nonzero(free)[0]
        if rows.shape[0]:
            right = xp.take(point.gradient - dual.epsilon * side, rows)
            missing = total - float(xp.sum(d)) if dual.fit_intercept else None
            try:
                step, b = _newton_step(point.hessian(rows), right, missing)
            except ValueError:  # a singular system
                break
            d[free] = xp.take(d, rows) + step
            point = problem.at(d)
            point.intercept = b
        elif dual.fit_intercept:
            break
        below = free & (d < lower)
        above = free & (d > upper)
        side, lower, upper = _one_side(point, dual, free, side)
        at_lower = ~free & (d <= lower)
        at_upper = ~free & (d >= upper)
        inclined = point.gradient - point.intercept - dual.epsilon * side
        leave = (at_lower & (inclined > slack)) | (at_upper & (inclined < -slack))
        settled = not xp.any(below | above | leave)
        if settled and (np.isinf(problem.eta) or point.gap <= tol):
            return point
        at_lower, at_upper = (at_lower & ~leave) | below, (at_upper & ~leave) | above
    return None


def _one_side(point, dual, free, side):
    """Return the sides of zero that the rows may be on, and their bounds there.

    Without a tube, there are no sides. With a tube, free rows stay on their side. The
    variable of a row inside the tube is zero; the sign of its slope tells on which side
    the row would leave the tube.
    """
    if not dual.epsilon:
        return side, dual.lower, dual.upper
    xp = array_namespace(side)
    d = point.d
    zero = xp.zeros_like(d)
    slope = point.gradient - point.intercept
    fixed = xp.where(d != 0, xp.sign(d), xp.sign(slope))
    side = xp.where(free, side, fixed)
    lower = xp.where(side < 0, dual.lower, zero)
    return side, lower, xp.where(side > 0, dual.upper, zero)


def _newton_step(A, right, missing):
    """Solve ``A x + b 1 = right`` with 1'x = missing for x and b.

    If ``missing`` is None, b is 0.
    """
    if missing is None:
        return factorised(A)(right), 0.0
    xp = array_namespace(A)
    # Adding a multiple of 11' to A changes b but not x, and makes most singular systems
    # regular.
    weight = float(xp.mean(xp.linalg.diagonal(A)))
    A += weight
    solve = factorised(A)
    x = solve(right)
    response = solve(xp.ones_like(right))
    shift = (float(xp.sum(x)) - missing) / float(xp.sum(response))
    return x - shift * response, shift + weight * missing

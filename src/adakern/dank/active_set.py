"""Newton's method on the optimality conditions of the quartic or a quadratic program.

The primal-dual active set method (Hintermueller, Ito and Kunisch, SIAM Journal on
Optimization 13, 2002): all rows that a step takes beyond a bound are put on it, and
those on a bound whose slope points inwards are freed, until there are none. From a near
start few systems find the exact maximiser; from others the sets may cycle.
"""

import numpy as np
from array_api_compat import array_namespace

from adakern.linalg import factorised

#: Linear systems after which the active sets are taken to repeat themselves.
MAX_SYSTEMS = 25

#: A row at a bound is set free only if its slope exceeds this share of the largest
#: target.
SLACK = 1e-10


def solve(problem, start, tol):
    """The maximiser of h from a start whose active set is nearly right, or None."""
    xp = array_namespace(start)
    dual = problem.dual
    total = float(xp.sum(start)) if dual.fit_intercept else None
    slack = SLACK * float(xp.max(xp.abs(dual.target)))
    point = problem.at(start)
    side = _sides(start, point.slope, dual)
    lower, upper = _bounds_on(side, dual)
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
        slope = point.slope
        below = free & (d < lower)
        above = free & (d > upper)
        # A row inside the tube has the variable zero; its slope says on which side it
        # would leave.
        side = xp.where(free, side, _sides(d, slope, dual))
        lower, upper = _bounds_on(side, dual)
        at_lower = ~free & (d <= lower)
        at_upper = ~free & (d >= upper)
        inclined = slope - dual.epsilon * side
        leave = (at_lower & (inclined > slack)) | (at_upper & (inclined < -slack))
        settled = not xp.any(below | above | leave)
        if settled and (np.isinf(problem.eta) or point.gap <= tol):
            return point
        at_lower, at_upper = (at_lower & ~leave) | below, (at_upper & ~leave) | above
    return None


def _sides(d, slope, dual):
    """The signs of d around this point (at zero that of the slope); all 0 without a
    tube.
    """
    xp = array_namespace(d)
    if not dual.epsilon:
        return xp.zeros_like(d)
    return xp.where(d != 0, xp.sign(d), xp.sign(slope))


def _bounds_on(side, dual):
    """The bounds of rows that keep to these sides of zero, if there is a tube."""
    if not dual.epsilon:
        return dual.lower, dual.upper
    xp = array_namespace(side)
    zero = xp.zeros_like(side)
    return xp.where(side < 0, dual.lower, zero), xp.where(side > 0, dual.upper, zero)


def _newton_step(A, right, missing):
    """The solution of ``A x + b 1 = right`` with 1'x = missing, and b; b = 0 if that is
    None.
    """
    if missing is None:
        return factorised(A)(right), 0.0
    xp = array_namespace(A)
    # A multiple of 11' added to A changes b and not x; most singular systems become
    # regular by it.
    weight = float(xp.mean(xp.linalg.diagonal(A)))
    A += weight
    solve = factorised(A)
    x = solve(right)
    response = solve(xp.ones_like(right))
    shift = (float(xp.sum(x)) - missing) / float(xp.sum(response))
    return x - shift * response, shift + weight * missing

"""Newton's method on the optimality conditions of the quartic or a quadratic program.

The primal-dual active set method (Hintermueller, Ito and Kunisch, SIAM Journal on
Optimization 13, 2002): free rows that Newton's step takes beyond a bound are put on it
and those on a bound whose slope points inwards are freed, all at once, until there are
none. From a start with nearly the right rows at their bounds a few systems in the free
rows alone find the exact maximiser; from others the sets may cycle.
"""

import numpy as np
from array_api_compat import array_namespace

from adakern.dank.projected_newton import on_sides, sides
from adakern.dank.quartic import best_intercept, gradient, hessian, products, row_gaps
from adakern.linalg import add_to_diagonal, factorised, principal_submatrix

#: Linear systems after which the active sets are taken to repeat themselves.
MAX_SYSTEMS = 25

#: A row at a bound is set free only if its slope exceeds this share of the largest
#: target.
SLACK = 1e-10


def primal_dual_active_set(K, dual, eta, *, weight=0.0, start, gap_goal, balanced=False):
    """Maximise h from a start whose active set is nearly right."""
    xp = array_namespace(start)
    is_quadratic = np.isinf(eta)
    weight = weight + xp.zeros_like(start)
    total = float(xp.sum(start)) if balanced else None
    slack = SLACK * float(xp.max(xp.abs(dual.target)))

    def system(d, Qq, rows):
        block, weight_here = _block(K, rows), xp.take(weight, rows)
        if is_quadratic:
            return add_to_diagonal(block, 2 * weight_here)
        return hessian(block, xp.take(d, rows), xp.take(Qq, rows), eta, weight_here)

    d, (Kd, Qq) = start, products(K, start, eta)
    side = xp.zeros_like(d)
    if dual.epsilon:
        b = best_intercept(d, Kd, Qq, dual, eta, weight) if balanced else 0.0
        side = sides(d, gradient(d, Kd, Qq, dual, eta, weight) - b, dual)
    part = on_sides(dual, side)
    at_lower, at_upper = d <= part.lower, d >= part.upper
    for _ in range(MAX_SYSTEMS):
        before, d = d, xp.minimum(xp.maximum(d, part.lower), part.upper)
        if xp.any(d != before):
            Kd, Qq = products(K, d, eta)
        free, b = ~(at_lower | at_upper), 0.0
        rows = xp.nonzero(free)[0]
        if rows.shape[0]:
            slope = gradient(d, Kd, Qq, dual, eta, weight)
            right = xp.take(slope - dual.epsilon * side, rows)
            missing = total - float(xp.sum(d)) if balanced else None
            try:
                step, b = _newton_step(system(d, Qq, rows), right, missing)
            except ValueError:  # a singular system
                break
            d[free] = xp.take(d, rows) + step
            Kd, Qq = products(K, d, eta)
        elif balanced:
            break
        slope = gradient(d, Kd, Qq, dual, eta, weight) - b
        below, above = free & (d < part.lower), free & (d > part.upper)
        # A row inside the tube has the variable zero; its slope says on which side it
        # would leave.
        side = xp.where(free, side, sides(d, slope, dual))
        part = on_sides(dual, side)
        at_lower, at_upper = ~free & (d <= part.lower), ~free & (d >= part.upper)
        inclined = slope - dual.epsilon * side
        leave = (at_lower & (inclined > slack)) | (at_upper & (inclined < -slack))
        if not xp.any(below | above | leave):
            gap = float(xp.sum(row_gaps(d, Kd, Qq, dual, eta, weight, b)))
            if is_quadratic or gap <= gap_goal:
                return d, gap
        at_lower, at_upper = (at_lower & ~leave) | below, (at_upper & ~leave) | above
    return start, np.inf


def _block(A, rows):
    return A.block(rows) if hasattr(A, "block") else principal_submatrix(A, rows)


def _newton_step(A, right, missing):
    """The solution of ``A x + b 1 = right`` with 1'x = missing, and b.

    Without an intercept, which is where ``missing`` is None, b is zero.
    """
    if missing is None:
        return factorised(A)(right), 0.0
    xp = array_namespace(A)
    # A multiple of 11' added to A changes b and not x; most singular systems become
    # regular by it.
    weight = float(xp.mean(xp.linalg.diagonal(A)))
    A += weight
    solve = factorised(A)
    x, response = solve(right), solve(xp.ones_like(right))
    shift = (float(xp.sum(x)) - missing) / float(xp.sum(response))
    return x - shift * response, shift + weight * missing

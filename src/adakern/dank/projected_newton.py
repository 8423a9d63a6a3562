"""Projected Newton steps by conjugate gradients, on the quartic or a quadratic program.

In every step the rows at a bound that their slope or the step points out of stay there,
the others move by Newton's direction on their block of the Hessian, and the step is
bent along the box and halved until h rises as it should (Bertsekas, SIAM Journal on
Control and Optimization 20, 1982). From a start with nearly the right rows at their
bounds, as the solution of the last round is, a few steps reach the maximiser.

The direction comes from conjugate gradients. Where the Hessian of the free rows is well
conditioned, as on a rough kernel or with few support vectors, that takes some dozens of
products with K, where one Cholesky factorisation of n rows costs the time of about
n/50.
"""

import numpy as np
from array_api_compat import array_namespace

from adakern.dank.quartic import bisected

#: Relative residual that conjugate gradients stop at.
FORCING = 0.1

#: Products after which conjugate gradients are given up: the matrix of the free rows
#: then has a condition number above a few hundred.
SLOW = 30

#: Share of the predicted ascent that a step must reach, and the shortest step tried.
SUFFICIENT, SHORTEST = 1e-4, 1e-3


def projected_newton(problem, start, *, gap_goal, max_products, model=None):
    """The point to which Newton steps lead while conjugate gradients are quick.

    With a tube a step keeps the signs of d, as ``epsilon |d|`` is linear between them;
    a row that has come to zero may change its sign in the next. ``model`` stands in for
    the matrix K of a quadratic program where directions are looked for.
    """
    xp, dual = array_namespace(start), problem.dual
    total = float(xp.sum(start)) if dual.fit_intercept else None
    point, left, curvature = problem.at(start), max_products, None
    while point.gap > gap_goal and left > 0:
        d, side = point.d, sides(point.d, point.slope, dual)
        slope, (lower, upper) = point.slope - dual.epsilon * side, bounds_on(side, dual)
        free = ((d > lower) | (slope > 0)) & ((d < upper) | (slope < 0))
        curvature = _curvature(point, model, curvature)
        step = xp.zeros_like(d)
        while True:  # take rows that the direction of the others pushes out as held
            most = min(SLOW, left)
            step, made = _conjugate_gradients(
                *curvature, slope, free, dual.fit_intercept, most, step
            )
            # A direction that took all products allowed for one is the last.
            left = left - made if made < most else 0
            out = ((d <= lower) & (step < 0)) | ((d >= upper) & (step > 0))
            if left <= 0 or not xp.any(out & free):
                break
            free = free & ~out
        lower, upper = xp.where(free, lower, d), xp.where(free, upper, d)
        length = 1.0
        while True:
            new = problem.at(_nearest(d + length * step, lower, upper, total))
            left -= 1
            if new.value - point.value > SUFFICIENT * float(slope @ (new.d - d)):
                break
            length /= 2
            if length < SHORTEST:
                return point
        point = new
    return point


def _curvature(point, model, before):
    """Products with minus the second derivative of h, and its diagonal.

    Those from ``before`` serve again while the diagonal is nearly the same: conjugate
    gradients stop at that precision anyway.
    """
    K, eta, weight = point.problem.K, point.problem.eta, point.problem.weight
    if np.isinf(eta):
        K = K if model is None else model
        return lambda v: K @ v + 2 * weight * v, K.diagonal() + 2 * weight
    xp = array_namespace(point.d)
    diagonal = xp.linalg.diagonal(K)
    diagonal = diagonal + (point.d * diagonal) ** 2 / (2 * eta) + point.Qq / (4 * eta) + 2 * weight
    if before and not xp.any(xp.abs(diagonal - before[1]) > FORCING * diagonal):
        return before
    return point.hessian().__matmul__, diagonal


def sides(d, slope, dual):
    """The signs of d around this point: where a row is zero, that of its slope.

    With a tube ``epsilon |d|`` is linear on the rows' sides of zero. All are zero
    without one.
    """
    xp = array_namespace(d)
    if not dual.epsilon:
        return xp.zeros_like(d)
    return xp.where(d != 0, xp.sign(d), xp.sign(slope))


def bounds_on(side, dual):
    """The bounds of rows that keep to these sides of zero, if there is a tube."""
    if not dual.epsilon:
        return dual.lower, dual.upper
    xp = array_namespace(side)
    zero = xp.zeros_like(side)
    return xp.where(side < 0, dual.lower, zero), xp.where(side > 0, dual.upper, zero)


def _nearest(d, lower, upper, total):
    """The nearest point of the box, of this sum unless that is None."""
    xp = array_namespace(d)

    def shifted(t):
        return xp.minimum(xp.maximum(d + t, lower), upper)

    if total is None:
        return shifted(0.0)
    low, high = float(xp.min(lower - d)), float(xp.max(upper - d))
    return shifted(bisected(lambda t: float(xp.sum(shifted(t))) < total, low, high))


def _conjugate_gradients(product, diagonal, slope, free, balanced, most, start):
    """Preconditioned conjugate gradients on the free rows; zero elsewhere.

    They begin at the free rows of ``start``. A balanced direction sums to zero. Also
    returns how many of the products were made, ``most`` if they did not suffice.
    """
    xp = array_namespace(slope)
    zero = xp.zeros_like(slope)
    inverse = xp.where(free, 1 / xp.where(diagonal > 0, diagonal, zero + 1), zero)
    share = inverse / xp.sum(inverse) if balanced and xp.any(free) else zero

    def preconditioned(residual):
        scaled = inverse * residual
        return scaled - share * xp.sum(scaled)

    enough = FORCING**2 * float(slope @ preconditioned(slope))
    direction, residual, first = zero, slope, 0
    if xp.any(start != 0):
        direction = xp.where(free, start, zero)
        direction = direction - share * xp.sum(direction)
        residual, first = slope - product(direction), 1
    step = preconditioned(residual)
    size = float(residual @ step)
    for made in range(first, most):
        if size <= enough:
            return direction, made
        image = product(step)
        curvature = float(step @ image)
        if curvature <= 0:  # flat: nothing more to be learnt
            return direction, made
        direction = direction + (size / curvature) * step
        residual = residual - (size / curvature) * image
        scaled = preconditioned(residual)
        before, size = size, float(residual @ scaled)
        step = scaled + (size / before) * step
    return direction, most

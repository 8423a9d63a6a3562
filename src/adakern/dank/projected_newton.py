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

from dataclasses import replace

import numpy as np
from array_api_compat import array_namespace

from adakern.dank.quartic import (
    BISECTIONS,
    best_intercept,
    gradient,
    hessian,
    objective,
    products,
    row_gaps,
)

#: Relative residual that conjugate gradients stop at.
FORCING = 0.1

#: Products after which conjugate gradients are given up: the matrix of the free rows
#: then has a condition number above a few hundred.
SLOW = 30

#: Share of the predicted ascent that a step must reach, and the shortest step tried.
SUFFICIENT, SHORTEST = 1e-4, 1e-3


def projected_newton(
    K, dual, eta, *, weight=0.0, start, gap_goal, max_products, balanced=False, model=None
):
    """Ascend from ``start`` by Newton steps while conjugate gradients are quick.

    With a tube a step keeps the signs of d, as ``epsilon |d|`` is linear between them;
    a row that has come to zero may change its sign in the next.
    """
    xp = array_namespace(start)
    total = float(xp.sum(start)) if balanced else None
    left = max_products

    d, (Kd, Qq), curvature = start, products(K, start, eta), None
    while True:
        b = best_intercept(d, Kd, Qq, dual, eta, weight) if balanced else 0.0
        gap = float(xp.sum(row_gaps(d, Kd, Qq, dual, eta, weight, b)))
        if gap <= gap_goal or left <= 0:
            return d, gap
        slope = gradient(d, Kd, Qq, dual, eta, weight) - b
        side = sides(d, slope, dual)
        slope, part = slope - dual.epsilon * side, on_sides(dual, side)
        free = ((d > part.lower) | (slope > 0)) & ((d < part.upper) | (slope < 0))
        nearly = K if model is None else model
        curvature = _curvature(nearly, d, Qq, eta, weight, curvature)
        step = xp.zeros_like(d)
        while True:  # take rows that the direction of the others pushes out as held
            most = min(SLOW, left)
            step, made = _conjugate_gradients(*curvature, slope, free, balanced, most, step)
            # A direction that took all products allowed for one is the last.
            left = left - made if made < most else 0
            out = ((d <= part.lower) & (step < 0)) | ((d >= part.upper) & (step > 0))
            if left <= 0 or not xp.any(out & free):
                break
            free = free & ~out
        face = replace(
            part, lower=xp.where(free, part.lower, d), upper=xp.where(free, part.upper, d)
        )
        h, length = objective(d, Kd, Qq, dual, eta, weight), 1.0
        while True:
            new = _nearest(d + length * step, face, total)
            new_Kd, new_Qq = products(K, new, eta)
            left -= 1
            rise = objective(new, new_Kd, new_Qq, dual, eta, weight) - h
            if rise > SUFFICIENT * float(slope @ (new - d)):
                break
            length /= 2
            if length < SHORTEST:
                return d, gap
        d, Kd, Qq = new, new_Kd, new_Qq


def _curvature(K, d, Qq, eta, weight, before):
    """Products with minus the second derivative of h, and its diagonal.

    Those from ``before`` serve again while the diagonal is nearly the same: conjugate
    gradients stop at that precision anyway.
    """
    if np.isinf(eta):
        return lambda v: K @ v + 2 * weight * v, K.diagonal() + 2 * weight
    xp = array_namespace(d)
    diagonal = xp.linalg.diagonal(K)
    diagonal = diagonal + (d * diagonal) ** 2 / (2 * eta) + Qq / (4 * eta) + 2 * weight
    if before and not xp.any(xp.abs(diagonal - before[1]) > FORCING * diagonal):
        return before
    return hessian(K, d, Qq, eta, weight).__matmul__, diagonal


def sides(d, slope, dual):
    """The signs of d around this point: where a row is zero, that of its slope.

    With a tube ``epsilon |d|`` is linear on the rows' sides of zero. All are zero
    without one.
    """
    xp = array_namespace(d)
    if not dual.epsilon:
        return xp.zeros_like(d)
    return xp.where(d != 0, xp.sign(d), xp.sign(slope))


def on_sides(dual, side):
    """The problem with the rows kept on these sides of zero, if there is a tube."""
    if not dual.epsilon:
        return dual
    xp = array_namespace(side)
    zero = xp.zeros_like(side)
    lower = xp.where(side < 0, dual.lower, zero)
    upper = xp.where(side > 0, dual.upper, zero)
    return replace(dual, lower=lower, upper=upper)


def _nearest(d, dual, total):
    """The nearest point of the box, of this sum unless that is None."""
    xp = array_namespace(d)

    def shifted(t):
        return xp.minimum(xp.maximum(d + t, dual.lower), dual.upper)

    if total is None:
        return shifted(0.0)
    low = float(xp.min(dual.lower - d))
    high = float(xp.max(dual.upper - d))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if float(xp.sum(shifted(middle))) < total:
            low = middle
        else:
            high = middle
    return shifted(high)


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

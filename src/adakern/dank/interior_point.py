"""The interior-point method for DANK's quartic, and for quadratic programs.

Every step is one Cholesky factorisation of an (n, n) matrix; about ten steps are enough
whatever the conditioning of K, where projected gradient and projected Newton steps need
hundreds on a smooth kernel.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from adakern.dank.quartic import best_intercept, gradient, hessian, objective, products, row_gaps
from adakern.linalg import add_to_diagonal, factorised

#: Distance that a warm start keeps from the bounds, in units of the problem.
NEAR_BOUND = 0.1

#: Complementarity that the steps aim at in the end, as a fraction of the gap wanted.
LEAST = 1e-4

#: Steps without a better certificate after which the solver gives up.
PATIENCE = 10

#: Fraction of the way to the boundary that an interior step may go.
TO_BOUNDARY = 0.995


@dataclass(frozen=True)
class QuarticSolution:
    """Maximiser ``dual_coef`` (n,), with the certificate it was accepted by."""

    dual_coef: Any
    intercept: float
    objective: float
    gap: float
    n_iter: int
    converged: bool


def interior_point(
    K, dual, eta, *, weight=0.0, start=None, balanced=False, tol=1e-6, gap_goal=0.0, max_iter=100
):
    """Maximise h by a primal-dual interior-point method.

    Mehrotra's predictor-corrector method, with the Hessian of -h
    ``K + (diag(Qq) + 2 diag(d) Q diag(d)) / (4 eta) + 2 diag(w)``, Q = K o K.
    The certificate is that of the rounded point, never of the interior one.
    """
    xp = array_namespace(K)
    total = (0.0 if start is None else float(xp.sum(start))) if balanced else None
    point = _InteriorPoint(dual, total)
    if start is not None:
        Kd, Qq = products(K, start, eta)
        b = best_intercept(start, Kd, Qq, dual, eta, weight) if balanced else 0.0
        point.warm(start, gradient(start, Kd, Qq, dual, eta, weight) - b)
    best = None
    for n_iter in range(max_iter + 1):
        d = point.d
        Kd, Qq = products(K, d, eta)
        inside = abs(objective(d, Kd, Qq, dual, eta, weight))
        enough = max(gap_goal, tol * inside)
        if point.complementarity() <= 20 * enough or n_iter == max_iter:
            now = _certified(point.rounded(), K, dual, eta, weight, balanced, n_iter)
            now = replace(now, converged=now.gap <= max(gap_goal, tol * abs(now.objective)))
            if best is None or now.gap < best.gap:
                best = now
            # When steps no longer lower the gap, what is left of it is rounding.
            if best.converged or n_iter >= best.n_iter + PATIENCE:
                break
        H = hessian(K, d, Qq, eta, weight)
        point.step(H, gradient(d, Kd, Qq, dual, eta, weight), least=LEAST * enough)
    return best


def _certified(d, K, dual, eta, weight, balanced, n_iter):
    xp = array_namespace(K)
    Kd, Qq = products(K, d, eta)
    b = best_intercept(d, Kd, Qq, dual, eta, weight) if balanced else 0.0
    gap = float(xp.sum(row_gaps(d, Kd, Qq, dual, eta, weight, b)))
    h = objective(d, Kd, Qq, dual, eta, weight)
    return QuarticSolution(d, b, h, gap, n_iter, converged=False)


class _InteriorPoint:
    """A point strictly inside the box, with the multipliers of its bounds.

    d is ``offset + sum_k sign_k x_k`` with 0 < x_k < width_k: one leg (k = 1) without a
    tube; with a tube two, the positive and the negative part of d, because
    ``epsilon |d|`` is linear in them. Arrays of legs have shape (legs, n). The sum of d
    tends to ``total`` unless that is None.
    """

    def __init__(self, dual, total):
        self.total = total
        xp = self.xp = array_namespace(dual.target)
        if dual.epsilon:
            self.width = xp.stack([dual.upper, -dual.lower])
            self.sign = xp.stack([xp.ones_like(dual.target), -xp.ones_like(dual.target)])
            self.offset = xp.zeros_like(dual.target)
        else:
            self.width = (dual.upper - dual.lower)[None, :]
            self.sign = xp.ones_like(self.width)
            self.offset = dual.lower
        self.cost = dual.epsilon
        scale = float(xp.max(xp.abs(dual.target))) or 1.0
        self.unit = xp.where(self.width > 2 * scale, scale, self.width / 2)
        self.scale = scale
        # d starts at zero, or one unit from it where zero is a bound.
        self._place(-self.sign * self.offset, 1.0)
        self.z_lower = xp.full_like(self.x, scale)
        self.z_upper = xp.full_like(self.x, scale)

    def _place(self, x, distance):
        """Move to x, at least this many units from the bounds."""
        xp, least = self.xp, distance * self.unit
        self.x = xp.minimum(xp.maximum(x, least), self.width - least)
        self.rest = self.width - self.x

    @property
    def d(self):
        return self.offset + self.xp.sum(self.sign * self.x, axis=0)

    def warm(self, d, gradient):
        """Go near the point d with this gradient of h."""
        xp = self.xp
        self._place(self.sign * (d - self.offset), NEAR_BOUND)
        pull = self.sign * gradient - self.cost
        least = xp.full_like(pull, NEAR_BOUND * self.scale)
        self.z_lower = xp.maximum(-pull, least)
        self.z_upper = xp.maximum(pull, least)

    def complementarity(self):
        return float(self.xp.sum(self.z_lower * self.x) + self.xp.sum(self.z_upper * self.rest))

    def rounded(self):
        """d with every leg that tends to a bound put on it.

        Of x and its multiplier, in their own units, the smaller one tends to zero.
        """
        xp = self.xp
        ratio = self.unit / self.scale
        x = xp.where(self.x < ratio * self.z_lower, xp.zeros_like(self.x), self.x)
        x = xp.where(self.rest < ratio * self.z_upper, self.width, x)
        d = self.offset + xp.sum(self.sign * x, axis=0)
        return d if self.total is None else self._balanced(d, x)

    def _balanced(self, d, x):
        """d with its sum put right, by a shift of the rows inside the box."""
        xp = self.xp
        inside = xp.any((x > 0) & (x < self.width), axis=0)
        count = max(1, int(xp.count_nonzero(inside)))
        lower = self.offset + xp.sum(xp.where(self.sign < 0, -self.width, 0 * x), axis=0)
        upper = self.offset + xp.sum(xp.where(self.sign > 0, self.width, 0 * x), axis=0)
        for _ in range(3):
            shift = (self.total - float(xp.sum(d))) / count
            d = xp.where(inside, xp.minimum(xp.maximum(d + shift, lower), upper), d)
        return d

    def step(self, H, gradient, least):
        """One predictor-corrector step, for the gradient of h and Hessian H of -h.

        The complementarity aimed at is not below ``least``: h is no quadratic, and the
        multipliers must not vanish before its gradient agrees with them.
        """
        xp = self.xp
        x, rest, z_lower, z_upper = self.x, self.rest, self.z_lower, self.z_upper
        barrier = z_lower / x + z_upper / rest
        share = 1 / xp.sum(1 / barrier, axis=0)
        solve = self._solver(factorised(add_to_diagonal(H, share)))
        legs = xp.arange(x.shape[0], device=getattr(x, "device", None))
        loosest = xp.argmin(barrier, axis=0)[None, :] == legs[:, None]
        zero = xp.zeros_like(x)
        count = 2 * x.shape[0] * x.shape[1]
        mean = self.complementarity() / count

        def towards(lower, upper):
            """Newton direction to z_lower x = lower and z_upper rest = upper."""
            r = self.sign * gradient - self.cost + lower / x - upper / rest
            pull = share * xp.sum(self.sign * r / barrier, axis=0)
            dd = solve(pull)
            dx = (r - self.sign * (pull - share * dd)) / barrier
            # The leg of the smallest barrier gets what the others leave of dd: its own
            # step, divided by a barrier near zero, would be all rounding errors.
            others = xp.sum(xp.where(loosest, zero, self.sign * dx), axis=0)
            dx = xp.where(loosest, self.sign * (dd - others), dx)
            return (
                dx,
                (lower - z_lower * dx) / x - z_lower,
                (upper + z_upper * dx) / rest - z_upper,
            )

        dx, dl, du = towards(zero, zero)
        forward, upward = self._longest(dx, dl, du)
        predicted = (
            float(
                xp.sum((z_lower + upward * dl) * (x + forward * dx))
                + xp.sum((z_upper + upward * du) * (rest - forward * dx))
            )
            / count
        )
        goal = max(mean * (predicted / mean) ** 3, least / count)
        dx, dl, du = towards(goal - dx * dl, goal + dx * du)
        forward, upward = self._longest(dx, dl, du)
        # All four are kept away from underflow, as the barriers divide by them.
        tiny = float(xp.finfo(x.dtype).smallest_normal) ** 0.25
        self.x = xp.maximum(x + forward * dx, tiny * self.unit)
        self.rest = xp.maximum(rest - forward * dx, tiny * self.unit)
        least_z = xp.full_like(x, tiny * self.scale)
        self.z_lower = xp.maximum(z_lower + upward * dl, least_z)
        self.z_upper = xp.maximum(z_upper + upward * du, least_z)

    def _solver(self, solve):
        """``solve``, along the plane on which the sum of d reaches its total."""
        if self.total is None:
            return solve
        xp = self.xp
        missing = self.total - float(xp.sum(self.d))
        ones = solve(xp.ones_like(self.offset))

        def balanced(pull):
            free = solve(pull)
            return free - ones * ((xp.sum(free) - missing) / xp.sum(ones))

        return balanced

    def _longest(self, dx, dl, du):
        """Longest primal and dual steps that stay inside, at most 1."""
        forward = max(self._ratio(self.x, dx), self._ratio(self.rest, -dx))
        upward = max(self._ratio(self.z_lower, dl), self._ratio(self.z_upper, du))
        return min(1.0, TO_BOUNDARY / forward), min(1.0, TO_BOUNDARY / upward)

    def _ratio(self, value, change):
        return max(float(self.xp.max(-change / value)), np.finfo(float).tiny)

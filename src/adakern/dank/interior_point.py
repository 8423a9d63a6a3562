"""Interior-point method for DANK's quartic, and for quadratic programs.

Mehrotra's predictor-corrector method takes about ten Cholesky factorisations, whatever
the conditioning of K. Projected gradient ascent takes hundreds of steps with a smooth
kernel.
"""

import numpy as np
from array_api_compat import array_namespace

from adakern.linalg import add_to_diagonal, factorised

#: Distance that a warm start keeps from the bounds, in units of the problem.
NEAR_BOUND = 0.1

#: Final target of the complementarity, as a fraction of the tolerance on the gap.
LEAST = 1e-4

#: Number of steps without a smaller gap after which the solver stops.
PATIENCE = 10

#: Maximum step, as a fraction of the distance to the boundary.
TO_BOUNDARY = 0.995


def solve(problem, start, tol, *, max_iter=100):
    """Return the rounded point that maximises h; ``start`` may be None."""
    xp = array_namespace(problem.K)
    total = None
    if problem.dual.fit_intercept:
        total = 0.0 if start is None else float(xp.sum(start))
    iterate = _Iterate(problem.dual, total)
    if start is not None:
        point = problem.at(start)
        iterate.move_near(start, point.gradient - point.intercept)
    best, n_best = None, 0
    for n_iter in range(max_iter + 1):
        inside = problem.at(iterate.d)
        if iterate.complementarity() <= 20 * tol or n_iter == max_iter:
            now = problem.at(iterate.rounded())
            if best is None or now.gap < best.gap:
                best, n_best = now, n_iter
            # If steps no longer reduce the gap, what is left of it are rounding errors.
            if best.gap <= tol or n_iter >= n_best + PATIENCE:
                break
        iterate.step(inside.hessian(), inside.gradient, least=LEAST * tol)
    return best


class _Iterate:
    """Point strictly inside the box, with the multipliers of its bounds.

    d is ``offset + sum_k sign_k x_k`` with 0 < x_k < width_k. Without a tube there is
    one leg (k = 1); with a tube, the legs are the positive and the negative part of d.
    ``room`` holds the distances of x from its two bounds, and ``force`` the multipliers
    of the bounds, both of shape (2, legs, n). The sum of d tends to ``total`` unless
    that is None.
    """

    def __init__(self, dual, total):
        self.dual = dual
        self.total = total
        xp = self.xp = array_namespace(dual.target)
        ones = xp.ones_like(dual.target)
        if dual.epsilon:
            self.width = xp.stack([dual.upper, -dual.lower])
            self.offset = 0 * ones
            self.sign = xp.stack([ones, -ones])
        else:
            self.width = (dual.upper - dual.lower)[None, :]
            self.offset = dual.lower
            self.sign = ones[None, :]
        self.scale = float(xp.max(xp.abs(dual.target))) or 1.0
        self.unit = xp.where(self.width > 2 * self.scale, self.scale, self.width / 2)
        # d starts at zero, or one unit away from it if zero is a bound.
        self._place(-self.sign * self.offset, 1.0)
        self.force = xp.full_like(self.room, self.scale)

    def _place(self, x, distance):
        """Move to x, but keep at least ``distance`` units away from the bounds."""
        xp = self.xp
        least = distance * self.unit
        x = xp.minimum(xp.maximum(x, least), self.width - least)
        self.room = xp.stack([x, self.width - x])

    def _joined(self, x):
        return self.offset + self.xp.sum(self.sign * x, axis=0)

    @property
    def d(self):
        return self._joined(self.room[0, ...])

    def move_near(self, d, slope):
        """Move close to d, where h has the given slope."""
        xp = self.xp
        self._place(self.sign * (d - self.offset), NEAR_BOUND)
        pull = self.sign * slope - self.dual.epsilon
        least = xp.full_like(self.room, NEAR_BOUND * self.scale)
        self.force = xp.maximum(xp.stack([-pull, pull]), least)

    def complementarity(self):
        return float(self.xp.sum(self.force * self.room))

    def rounded(self):
        """Return d, with values near a bound moved to it and the sum corrected."""
        xp = self.xp
        dual = self.dual
        x = self.room[0, ...]
        vanishing = self.room < self.unit / self.scale * self.force
        x = xp.where(vanishing[0, ...], xp.zeros_like(x), x)
        x = xp.where(vanishing[1, ...], self.width, x)
        d = self._joined(x)
        if self.total is None:
            return d
        inside = xp.any((x > 0) & (x < self.width), axis=0)
        count = max(1, int(xp.count_nonzero(inside)))
        # Shifting the rows inside the box may take some of them to a bound.
        for _ in range(3):
            shift = (self.total - float(xp.sum(d))) / count
            d = xp.where(
                inside, xp.minimum(xp.maximum(d + shift, dual.lower), dual.upper), d
            )
        return d

    def step(self, H, gradient, least):
        """Take a predictor-corrector step that aims at complementarity >= ``least``.

        H is the Hessian of -h.
        """
        xp = self.xp
        room = self.room
        force = self.force
        barriers = force / room
        barrier = barriers[0, ...] + barriers[1, ...]
        share = 1 / xp.sum(1 / barrier, axis=0)
        solve = factorised(add_to_diagonal(H, share))
        if self.total is not None:
            ones = solve(xp.ones_like(self.offset))
            missing = self.total - float(xp.sum(self.d))
        legs = xp.arange(barrier.shape[0], device=getattr(barrier, "device", None))
        loosest = xp.argmin(barrier, axis=0)[None, :] == legs[:, None]

        def towards(goal):
            """Newton direction towards force * room = goal."""
            pulls = goal / room
            r = self.sign * gradient - self.dual.epsilon + pulls[0, ...] - pulls[1, ...]
            pull = share * xp.sum(self.sign * r / barrier, axis=0)
            dd = solve(pull)
            if self.total is not None:  # within the plane of the given sum
                dd = dd - ones * ((xp.sum(dd) - missing) / xp.sum(ones))
            dx = (r - self.sign * (pull - share * dd)) / barrier
            # The step of the leg with the smallest barrier is dd minus the steps of the
            # others. Divided by a barrier near zero, it would be lost to rounding.
            others = xp.sum(
                xp.where(loosest, xp.zeros_like(dx), self.sign * dx), axis=0
            )
            dx = xp.where(loosest, self.sign * (dd - others), dx)
            moved = xp.stack([dx, -dx])
            return moved, (goal - force * moved) / room - force

        count = 2 * barrier.shape[0] * barrier.shape[1]
        mean = self.complementarity() / count
        moved, changed = towards(xp.zeros_like(room))
        far = self._longest(room, moved)
        strong = self._longest(force, changed)
        predicted = (
            float(xp.sum((force + strong * changed) * (room + far * moved))) / count
        )
        goal = max(mean * (predicted / mean) ** 3, least / count)
        moved, changed = towards(goal - moved * changed)
        far = self._longest(room, moved)
        strong = self._longest(force, changed)
        # The barriers divide by these values, so they must not underflow.
        tiny = float(xp.finfo(room.dtype).smallest_normal) ** 0.25
        self.room = xp.maximum(room + far * moved, tiny * self.unit)
        self.force = xp.maximum(
            force + strong * changed, xp.full_like(force, tiny * self.scale)
        )

    def _longest(self, value, change):
        """Longest step, at most 1, that keeps the values positive."""
        ratio = max(float(self.xp.max(-change / value)), np.finfo(float).tiny)
        return min(1.0, TO_BOUNDARY / ratio)

"""Ascent methods for a smooth concave function over a simple convex set.

``objective(u, near)`` returns a :class:`adakern.svm.dual.DualEvaluation`, where
``near`` is None or an evaluation nearby, and ``objective.dual.project(u)`` the nearest
feasible point. An objective that can compute the evaluation at ``new + beta (new -
old)`` more cheaply, as a quadratic does, has a method ``extrapolate(new, old, beta)``.
Each method continues an :class:`Ascent`.
"""

from time import perf_counter

import numpy as np

#: Relative rounding error of the objective: smaller changes are ignored.
ROUNDING = 1e-13


class Ascent:
    """State of an ascent: present evaluation, history, and whether it converged."""

    def __init__(self, tol, point=None):
        self.tol, self.point, self._clock = tol, None, perf_counter()
        self.history = {"objective": [], "gap": [], "step": [], "seconds": []}
        if point is not None:
            self.add(point)

    def add(self, point):
        """Record an iteration."""
        now = perf_counter()
        step = 0.0 if self.point is None else np.linalg.norm(point.u - self.point.u)
        values = (point.value, point.gap, step, now - self._clock)
        for column, value in zip(self.history.values(), values, strict=True):
            column.append(float(value))
        self.point, self._clock = point, now

    @property
    def n_iter(self):
        return len(self.history["gap"]) - 1

    @property
    def converged(self):
        """Whether the duality gap is below ``tol`` times the objective."""
        return self.point.gap <= self.tol * abs(self.point.svm_value)


def rounds(objective, ascent, maximise_model, max_iter):
    """Alternate ``maximise_model(objective, point, tol)`` and a line search."""
    while not ascent.converged and ascent.n_iter < max_iter:
        point = ascent.point
        new = _line_search(
            objective, point, maximise_model(objective, point, ascent.tol)
        )
        if new is None:  # no ascent above the rounding error
            return
        ascent.add(new)


def _line_search(objective, point, target, shortest=1e-6):
    """Backtrack from the target to a sufficient ascent; None if there is none."""
    direction = target - point.u
    slope = point.gradient @ direction
    slack = ROUNDING * abs(point.value)
    share = 1.0
    if not direction.any():
        return None
    while share >= shortest:
        # The target itself: rounding could move variables off their bounds.
        new = objective(target if share == 1.0 else point.u + share * direction, point)
        gain = new.value - point.value
        if gain >= 0.1 * share * slope - slack and (slope > 0 or new.gap < point.gap):
            return new
        # The maximiser of the parabola through the two values and the slope.
        parabola = share * slope * share / (2 * (share * slope - gain))
        share = min(max(parabola, 0.1 * share), 0.5 * share)
    return None


def accelerated(objective, ascent, max_iter):
    """FISTA (Beck, Teboulle 2009) with restarts (O'Donoghue, Candes 2015)."""
    ahead, momentum, L = ascent.point, 1.0, 1.0
    while not ascent.converged and ascent.n_iter < max_iter:
        point = ascent.point
        while True:
            new = objective(objective.dual.project(ahead.u + ahead.gradient / L), ahead)
            step = new.u - ahead.u
            bound = ahead.value + ahead.gradient @ step - L / 2 * step @ step
            if new.value >= bound - ROUNDING * abs(ahead.value):
                break
            if np.linalg.norm(step) <= ROUNDING * np.linalg.norm(ahead.u):
                return  # The objective is not accurate to more digits than this.
            L *= 2
        if ahead.gradient @ (new.u - point.u) < 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        beta = (momentum - 1) / following
        ascent.add(new)
        momentum, L, ahead = following, 0.95 * L, new
        if beta > 0:
            if hasattr(objective, "extrapolate"):
                ahead = objective.extrapolate(new, point, beta)
            else:
                ahead = objective(new.u + beta * (new.u - point.u), new)

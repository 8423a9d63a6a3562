"""Ascent methods for a smooth concave function over a simple convex set.

They know nothing of data or kernels: ``objective(u, near)`` returns a
:class:`adakern.svm.dual.DualEvaluation`, where ``near`` is None or such a point nearby,
and ``project(u)`` the nearest feasible point. An objective that gets the point ``new +
beta (new - old)`` for less than an evaluation, as a quadratic does, offers
``extrapolate(new, old, beta)``.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

#: Relative rounding of the objective: smaller changes of it decide nothing.
ROUNDING = 1e-13


@dataclass
class Solution:
    """Where an ascent ended."""

    point: object
    converged: bool
    history: dict

    @property
    def n_iter(self):
        return len(self.history["objective"]) - 1


class History:
    """Objective, gap, step length and seconds of each iteration."""

    def __init__(self):
        self.rows = {"objective": [], "gap": [], "step": [], "seconds": []}
        self._clock = perf_counter()

    def add(self, point, step):
        """One more iteration."""
        now = perf_counter()
        values = (point.value, point.gap, step, now - self._clock)
        for column, value in zip(self.rows.values(), values, strict=True):
            column.append(float(value))
        self._clock = now


def joined(first, second):
    """The second solution, which began where the first ended, with both histories."""
    history = {name: first.history[name] + column[1:] for name, column in second.history.items()}
    return Solution(second.point, second.converged, history)


def is_certified(point, tol):
    """Whether the duality gap is below ``tol`` times the objective."""
    return point.gap <= tol * abs(point.svm_value)


def rounds(objective, start, maximise_model, *, tol, max_iter, progress=np.inf):
    """Rounds of a quadratic model, maximised on the set, and a line search towards it.

    ``maximise_model(point)`` returns the feasible maximiser of a model of the objective
    at the point: with the second-order model this is Newton's method. It ends early
    where that returns None, or when a round leaves more than the share ``progress`` of
    the gap.
    """
    history, point = History(), objective(start, None)
    history.add(point, 0.0)
    while not is_certified(point, tol):
        if len(history.rows["gap"]) > max_iter:
            return Solution(point, False, history.rows)
        target = maximise_model(point)
        new = None if target is None else _line_search(objective, point, target)
        if new is None:  # no ascent left above rounding
            return Solution(point, False, history.rows)
        history.add(new, np.linalg.norm(new.u - point.u))
        slow, point = new.gap > progress * point.gap, new
        if slow:
            break
    return Solution(point, is_certified(point, tol), history.rows)


def _line_search(objective, point, target, shortest=1e-6):
    """The first sufficient ascent on the way back from the target, or None."""
    direction = target - point.u
    slope = point.gradient @ direction
    slack = ROUNDING * abs(point.value)
    share = 1.0
    if not direction.any():
        return None
    while share >= shortest:
        # The target itself, lest rounding move variables off their bounds.
        new = objective(target if share == 1.0 else point.u + share * direction, point)
        gain = new.value - point.value
        if gain >= 0.1 * share * slope - slack and (slope > 0 or new.gap < point.gap):
            return new
        # The maximiser of the parabola through the two values and the slope.
        parabola = share * slope * share / (2 * (share * slope - gain))
        share = min(max(parabola, 0.1 * share), 0.5 * share)
    return None


def accelerated(objective, start, project, *, tol, max_iter, lipschitz=1.0):
    """FISTA with backtracking and adaptive restart.

    The step 1/L follows the curvature that is met; the momentum is dropped whenever it
    points downhill (Beck and Teboulle 2009; O'Donoghue and Candes 2015).
    """
    history, point = History(), objective(start, None)
    history.add(point, 0.0)
    ahead, momentum, L = point, 1.0, lipschitz
    extrapolate = getattr(
        objective,
        "extrapolate",
        lambda new, old, beta: objective(new.u + beta * (new.u - old.u), new),
    )
    while not is_certified(point, tol):
        if len(history.rows["gap"]) > max_iter:
            return Solution(point, False, history.rows)
        while True:
            new = objective(project(ahead.u + ahead.gradient / L), ahead)
            step = new.u - ahead.u
            bound = ahead.value + ahead.gradient @ step - L / 2 * step @ step
            if new.value >= bound - ROUNDING * abs(ahead.value):
                break
            if np.linalg.norm(step) <= ROUNDING * np.linalg.norm(ahead.u):
                # The objective is not known to more digits than this.
                return Solution(point, False, history.rows)
            L *= 2
        if ahead.gradient @ (new.u - point.u) < 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        beta = (momentum - 1) / following
        change = new.u - point.u
        history.add(new, np.linalg.norm(change))
        old, point, momentum, L = point, new, following, 0.95 * L
        ahead = extrapolate(new, old, beta) if beta > 0 else new
    return Solution(point, True, history.rows)

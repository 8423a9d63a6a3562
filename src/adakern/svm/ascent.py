"""Accelerated ascent on a smooth concave function over a simple convex set.

``problem(u, near)`` returns a :class:`adakern.svm.dual.DualEvaluation`, where ``near``
is None or the evaluation of a nearby point. ``problem.dual.project(u)`` returns the
nearest feasible point. A problem that can evaluate the point ``new + beta (new - old)``
at a lower cost, such as a quadratic, provides ``extrapolate(new, old, beta)``.
"""

import numpy as np

from adakern.svm.dual import Ascent

#: Relative rounding error of the objective; smaller changes are ignored.
ROUNDING = 1e-13


def solve(problem, start, tol, *, max_iter):
    """Maximise by FISTA with backtracking and restarts.

    See Beck, Teboulle (2009) and O'Donoghue, Candes (2015).
    """
    ascent = Ascent(start, tol)
    ahead = start
    momentum = 1.0
    L = 1.0
    while not ascent.converged and ascent.n_iter < max_iter:
        point = ascent.point
        while True:
            new = problem(problem.dual.project(ahead.u + ahead.gradient / L), ahead)
            step = new.u - ahead.u
            bound = ahead.value + ahead.gradient @ step - L / 2 * step @ step
            if new.value >= bound - ROUNDING * abs(ahead.value):
                break
            if np.linalg.norm(step) <= ROUNDING * np.linalg.norm(ahead.u):
                # The objective is not known more precisely than this.
                return ascent
            L *= 2
        if ahead.gradient @ (new.u - point.u) < 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        beta = (momentum - 1) / following
        ascent.add(new)
        momentum, L, ahead = following, 0.95 * L, new
        if beta > 0:
            if hasattr(problem, "extrapolate"):
                ahead = problem.extrapolate(new, point, beta)
            else:
                ahead = problem(new.u + beta * (new.u - point.u), new)
    return ascent

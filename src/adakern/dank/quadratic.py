"""The quadratic programs inside the rounds of Newton's method."""

from dataclasses import replace

import numpy as np

from adakern.dank.quartic_solver import maximise_from

__all__ = ["maximise_quadratic", "program_in_coefficients"]


def maximise_quadratic(H, linear, dual, tol, start):
    """Maximise ``linear'u - 1/2 d'H d`` over the feasible u of a dual problem."""
    d, _ = maximise_from(
        dual.coefficients(dual.project(start)),
        H,
        program_in_coefficients(linear, dual),
        np.inf,
        gap_goal=tol,
        balanced=dual.fit_intercept,
    )
    return dual.variables(d)


def program_in_coefficients(linear, dual):
    """The dual problem in d whose linear term in the variables u is ``linear``."""
    n = len(dual.target)
    rows = dual.signs * linear
    target = (rows[:n] + rows[n:]) / 2 if dual.is_regression else rows
    return replace(dual, target=target)

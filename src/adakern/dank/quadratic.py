"""The box-constrained quadratic programs inside DANK, by active sets.

From a start with nearly the right active set, as that of the last round is, a few
systems in the free variables alone find the exact maximiser. Where the sets cycle an
interior-point method finds them.
"""

import numpy as np
import scipy.linalg

__all__ = ["maximise_quadratic"]

#: Share of the way to the nearest bound that one interior-point step may go.
STEP_SHARE = 0.995

#: Share of C below which a variable of the start is taken to be zero.
ROUNDING = 1e-10

#: Changes of the active set before it is given up.
ACTIVE_SETS = 25


def maximise_quadratic(H, linear, dual, tol, start):
    """Maximise ``linear'u - 1/2 d'H d`` over the feasible u of a dual problem.

    Parameters
    ----------
    H : StoredHessian, or another with ``@``, ``block`` and ``shape``
        Of shape (n, n); positive semidefinite, up to rounding.
    linear : ndarray of shape (n_variables,)
    dual : Dual
    tol : float
        Complementarity (the duality gap of the quadratic program) to reach where the
        active sets fail; where they do not, the solution is exact.
    start : ndarray of shape (n_variables,)
        Its variables at a bound are the first active set.

    Returns
    -------
    ndarray of shape (n_variables,)
        Feasible, with variables at a bound exactly there.
    """
    exact = _change_active_sets(H, linear, dual, start)
    if exact is None:
        start = _interior_point(H, linear, dual, tol)
        exact = _change_active_sets(H, linear, dual, start)
    return dual.project(start) if exact is None else exact


def _change_active_sets(H, linear, dual, start):
    """The exact maximiser, from the bounds that the start holds; None if they cycle.

    The primal-dual active set method (Hintermueller, Ito and Kunisch 2002), which is
    Newton's method on the optimality conditions: free variables beyond a bound are put
    on it and those on a bound whose slope points inwards are freed, all at once, until
    there are none.
    """
    n, nothing = H.shape[0], ROUNDING * dual.C
    start = _one_of_two(start, n)
    at_lower, at_upper = start <= nothing, start >= dual.C - nothing
    slack = 1e-10 * np.abs(linear).max()
    for _ in range(ACTIVE_SETS):
        free = np.flatnonzero(~(at_lower | at_upper))
        u = np.where(at_upper, dual.C, 0.0)
        solved = _solve_free(H, linear, dual, u, free)
        if solved is None:
            return None
        u[free], b = solved
        slope = linear - dual.pull_back(H @ dual.coefficients(u)) - b * dual.signs
        below, above = u < 0, u > dual.C
        leave_upper = at_upper & (slope < -slack)
        leave_lower = at_lower & (slope > slack)
        if len(u) > n:  # of the two variables of a row one leaves its bound at a time
            leave_lower &= np.roll(at_lower, n)
        if not (below | above | leave_lower | leave_upper).any():
            return u
        at_lower = (at_lower & ~leave_lower) | below
        at_upper = (at_upper & ~leave_upper) | above
    return None


def _one_of_two(u, n):
    """The variables u with the same coefficients of which one of a row is positive."""
    return u - np.tile(u.reshape(2, n).min(axis=0), 2) if len(u) > n else u


def _solve_free(H, linear, dual, held, free):
    """The stationary point in the free variables, the others held, and its intercept.

    None where there is none: no free variable, both variables of a row free (the tube
    of the regression has a width, so this is never a solution), or a singular system.
    In the coefficients d of the free rows it solves ``H d + b 1 = right``, with 1'd
    given where there is an intercept b.
    """
    rows, signs = free % H.shape[0], dual.signs[free]
    if not len(free) or len(np.unique(rows)) < len(free):
        return None
    system = H.block(rows)
    right = signs * linear[free] - (H @ dual.coefficients(held))[rows]
    # A multiple of 11' changes b alone, and leaves as few systems singular as can be.
    weight = np.trace(system) / len(free) if dual.fit_intercept else 0.0
    system += weight
    try:
        factor = scipy.linalg.cho_factor(system, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    columns = np.column_stack([right, np.ones(len(free))])
    d, response = scipy.linalg.cho_solve(factor, columns, check_finite=False).T
    b = 0.0
    if dual.fit_intercept:
        total = -(dual.signs @ held)
        shifted = (d.sum() - total) / response.sum()
        d = d - shifted * response
        b = shifted + weight * total
    return (signs * d, b) if np.isfinite(d).all() else None


def _interior_point(H, linear, dual, tol, max_iter=60):
    """A point whose gap is below tol, with variables near a bound put on it.

    Mehrotra's predictor-corrector method. With d = coefficients(u) and the diagonal
    barrier T = diag(t), t summed over the variables of a row, each step solves one
    system with ``H + T^-1``, whatever the number of variables (Nocedal and Wright,
    Numerical Optimization, section 16.6).
    """
    H = H.block(np.arange(H.shape[0]))
    signs, C = dual.signs, dual.C
    scale = max(np.abs(linear).max(), np.finfo(float).tiny)
    u = np.full(len(signs), C / 2)
    lower = np.full(len(signs), scale)  # multipliers of u >= 0
    upper = lower.copy()  # and of u <= C
    b = 0.0
    for _ in range(max_iter):
        slack = C - u
        stationarity = (
            linear
            - dual.pull_back(H @ dual.coefficients(u))
            - b * signs
            + lower
            - upper
        )
        balance = -(signs @ u) if dual.fit_intercept else 0.0
        gap = u @ lower + slack @ upper
        if gap <= tol:  # the infeasibility falls faster than the gap
            break
        solve = _newton_system(H, dual, u, slack, lower, upper)
        mu = gap / (2 * len(u))
        # Predictor: straight to complementarity zero; it shows how far mu can fall.
        step = solve(stationarity, balance, u * lower, slack * upper)
        length = _step_length(u, slack, lower, upper, *step, share=1.0)
        du, dl, dw, _ = step
        ahead = (u + length * du) @ (lower + length * dl)
        ahead += (slack - length * du) @ (upper + length * dw)
        target = mu * (ahead / gap) ** 3
        step = solve(
            stationarity,
            balance,
            u * lower + du * dl - target,
            slack * upper - du * dw - target,
        )
        length = _step_length(u, slack, lower, upper, *step, share=STEP_SHARE)
        du, dl, dw, db = step
        u = u + length * du
        lower = lower + length * dl
        upper = upper + length * dw
        b = b + length * db
    u = _one_of_two(u, len(H))
    u = np.where(u / C < lower / scale, 0.0, u)
    u = np.where((C - u) / C < upper / scale, C, u)
    return u


def _newton_system(H, dual, u, slack, lower, upper):
    """A function that solves the Newton equations at this iterate."""
    signs = dual.signs
    barrier = lower / u + upper / slack
    t = (1 / barrier).reshape(-1, len(H)).sum(axis=0)
    system = H.copy(order="F")
    system[np.diag_indices(len(H))] += 1 / t
    factor = scipy.linalg.cho_factor(
        system, lower=True, overwrite_a=True, check_finite=False
    )
    ones = np.ones(len(H))
    response = scipy.linalg.cho_solve(factor, ones, check_finite=False)

    def solve(stationarity, balance, low, up):
        right = stationarity - low / u + up / slack
        pull = dual.coefficients(right / barrier) / t
        free = scipy.linalg.cho_solve(factor, pull, check_finite=False)
        db = (free.sum() - balance) / response.sum() if dual.fit_intercept else 0.0
        dd = free - db * response
        du = (right - db * signs - dual.pull_back(H @ dd)) / barrier
        dl = -(low + lower * du) / u
        dw = -(up - upper * du) / slack
        return du, dl, dw, db

    return solve


def _step_length(u, slack, lower, upper, du, dl, dw, db, share):
    """The longest step, at most 1, that keeps everything positive."""
    longest = 1.0
    for value, change in ((u, du), (slack, -du), (lower, dl), (upper, dw)):
        falling = change < 0
        if falling.any():
            bound = (value[falling] / -change[falling]).min()
            longest = min(longest, share * bound)
    return longest

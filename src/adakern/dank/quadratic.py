"""The box-constrained quadratic programs inside DANK, by an interior-point method."""

import numpy as np
import scipy.linalg

__all__ = ["maximise_quadratic"]

#: Share of the way to the nearest bound that one interior-point step may go.
STEP_SHARE = 0.995

#: Changes of the active set after the interior-point iterations.
POLISH_ROUNDS = 8


def maximise_quadratic(H, linear, dual, tol, max_iter=60):
    """Maximise ``linear'u - 1/2 d'H d`` over the feasible u of a dual problem.

    Mehrotra's predictor-corrector method. With d = coefficients(u) and the diagonal
    barrier T = diag(t), t summed over the variables of a row, each step solves one
    system with ``H + T^-1``, whatever the number of variables (Nocedal and Wright,
    Numerical Optimization, section 16.6).

    Parameters
    ----------
    H : ndarray of shape (n, n)
        Positive semidefinite, up to rounding.
    linear : ndarray of shape (n_variables,)
    dual : Dual
    tol : float
        Complementarity (the duality gap of the quadratic program) to reach.
    max_iter : int, default=60

    Returns
    -------
    ndarray of shape (n_variables,)
        Feasible, with variables at a bound exactly there.
    """
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
    u = np.where(u / C < lower / scale, 0.0, u)
    u = np.where((C - u) / C < upper / scale, C, u)
    return _polish(H, linear, dual, dual.project(u))


def _polish(H, linear, dual, u):
    """The exact maximiser, by active sets from the bounds that u holds; or u.

    The interior-point iterates end some digits short of the solution, and the duality
    gap of a support vector machine feels each of them. The few variables whose bound
    was taken wrongly change sides until none does.
    """
    at_lower, at_upper = u <= 0, u >= dual.C
    slack = 1e-10 * np.abs(linear).max()
    for _ in range(POLISH_ROUNDS):
        free = np.flatnonzero(~(at_lower | at_upper))
        held = np.where(at_upper, dual.C, 0.0)
        solved = _solve_free(H, linear, dual, held, free)
        if solved is None:
            return u
        held[free], b = solved
        below, above = held < 0, held > dual.C
        if below.any() or above.any():
            at_lower |= below
            at_upper |= above
            continue
        slope = linear - dual.pull_back(H @ dual.coefficients(held)) - b * dual.signs
        leave_lower = at_lower & (slope > slack)
        leave_upper = at_upper & (slope < -slack)
        if not (leave_lower.any() or leave_upper.any()):
            return held
        at_lower &= ~leave_lower
        at_upper &= ~leave_upper
    return u


def _solve_free(H, linear, dual, held, free):
    """The stationary point in the free variables, the others held, and its intercept.

    None where there is none: no free variable, both variables of a row free (the tube
    of the regression has a width, so this is never a solution), or a singular system.
    """
    rows = free % len(H)
    if not len(free) or len(np.unique(rows)) < len(free):
        return None
    signs = dual.signs[free]
    gradient = linear - dual.pull_back(H @ dual.coefficients(held))
    system = np.zeros((len(free) + 1, len(free) + 1))
    system[:-1, :-1] = H[np.ix_(rows, rows)] * np.outer(signs, signs)
    system[-1, :-1] = system[:-1, -1] = signs * dual.fit_intercept
    system[-1, -1] = not dual.fit_intercept
    right = np.append(gradient[free], -(dual.signs @ held) * dual.fit_intercept)
    try:
        *values, b = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        return None
    return (values, b) if np.isfinite(b) else None


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

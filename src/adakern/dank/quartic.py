"""DANK without the nuclear norm: a concave quartic over a box.

With ``tau = 0`` the minimiser F of the DANK problem is ``F = 11' + Gamma`` with
``Gamma = diag(d) K diag(d) / (4 eta)`` (JMLR, equation 9), and what is left to maximise
over the coefficients d needs no matrix F (JMLR, problem 18, which drops the intercept):

    h(d) = t'd - epsilon |d|_1 - w'q - 1/2 d'K d - 1/(16 eta) q'(K∘K) q,    q = d∘d,

over the bounds of an :class:`adakern.svm.dual.Dual` with the targets t. The multiplier
b of the constraint ``1'd = 0`` of a model with an intercept is that intercept. The
weights w are zero for a whole problem; where only some rows move, they carry the
quartic's coupling to the rows held fixed. With eta infinite and the target replaced, h
is any quadratic program over these bounds.

All that is known about h is here: value, gradient, Hessian, best intercept and, since h
is a Lagrangian dual whose primal separates over the rows, a certificate for every
single row. :mod:`adakern.dank.interior_point`, :mod:`adakern.dank.projected_newton` and
:mod:`adakern.dank.working_set` maximise it. Arrays are NumPy's, PyTorch's or those of
any array-API library.
"""

import math

from array_api_compat import array_namespace

from adakern._utils.blocks import CACHE_BYTES, TILE_BYTES, by_row_blocks, row_blocks
from adakern.linalg import add_to_diagonal

#: Halvings of the interval of the intercept.
BISECTIONS = 64


def squared_product(K, q):
    """``(K∘K) q`` without a second matrix, shape (n,)."""
    return by_row_blocks(lambda rows: (rows * rows) @ q, K, 8 * q.shape[0], TILE_BYTES)


def products(K, d, eta):
    """``K d`` and ``(K∘K) (d∘d)``, which all the functions below ask for."""
    Kd = K @ d
    if math.isinf(eta):
        return Kd, array_namespace(d).zeros_like(d)
    return Kd, squared_product(K, d * d)


def objective(d, Kd, Qq, dual, eta, weight=0.0):
    """The value h(d), from the products ``Kd = K d`` and ``Qq = (K∘K)(d o d)``."""
    xp = array_namespace(d)
    rows = (
        d * (dual.target - 0.5 * Kd) - dual.epsilon * xp.abs(d) - d * d * (weight + Qq / (16 * eta))
    )
    return float(xp.sum(rows))


def gradient(d, Kd, Qq, dual, eta, weight=0.0):
    """Gradient of the smooth part of h, without epsilon |d|; shape (n,)."""
    return dual.target - Kd - d * (Qq / (4 * eta) + 2 * weight)


def hessian(K, d, Qq, eta, weight=0.0):
    """Minus the second derivative of h, ``K + dd'∘K∘K / (2 eta) + diag(.)``, (n, n)."""
    H, scaled = array_namespace(K).empty_like(K), (d / (2 * eta))[None, :]
    for rows in row_blocks(K.shape[0], 8 * K.shape[0], CACHE_BYTES):
        part = K[rows, :]
        tile = part * part
        tile *= d[rows][:, None]
        tile *= scaled
        tile += part
        H[rows, :] = tile
    return add_to_diagonal(H, Qq / (4 * eta) + 2 * weight)


def _best_rows(residual, curvature, dual):
    """The u in the box that maximises ``u residual - epsilon |u| - u^2 curvature``."""
    xp = array_namespace(residual)
    excess = xp.abs(residual) - dual.epsilon
    zero = xp.zeros_like(residual)
    towards = xp.where(excess > 0, xp.sign(residual) * excess, zero)
    # A row with no curvature goes to the end of its box; the floor bars an overflow.
    floor = float(xp.finfo(residual.dtype).smallest_normal) ** 0.5
    best = towards / (2 * xp.where(curvature > floor, curvature, zero + floor))
    return xp.minimum(xp.maximum(best, dual.lower), dual.upper)


def best_intercept(d, Kd, Qq, dual, eta, weight=0.0):
    """The multiplier b of ``1'd = const`` with the smallest duality gap.

    The gap (see :func:`row_gaps`) is convex in b; its slope is ``1'd`` less the sum of
    the best rows for b, which falls in b and is bisected.
    """
    xp = array_namespace(d)
    residual, curvature = dual.target - Kd, weight + Qq / (8 * eta)
    total = float(xp.sum(d))
    if not xp.any(curvature != 0):
        return _intercept_of_steps(residual, dual, total)
    low = float(xp.min(residual)) - dual.epsilon
    high = float(xp.max(residual)) + dual.epsilon
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if float(xp.sum(_best_rows(residual - middle, curvature, dual))) > total:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _intercept_of_steps(residual, dual, total):
    """The same where every best row jumps from one end of its box to the other."""
    xp = array_namespace(residual)
    points, jumps = residual, dual.upper - dual.lower
    if dual.epsilon:
        points = xp.concat([residual - dual.epsilon, residual + dual.epsilon])
        jumps = xp.concat([dual.upper, -dual.lower])
    order = xp.argsort(points)
    sums = xp.sum(dual.upper) - xp.cumulative_sum(xp.take(jumps, order))
    above = int(xp.count_nonzero(sums > total))
    return float(xp.take(points, order)[min(above, points.shape[0] - 1)])


def row_gaps(d, Kd, Qq, dual, eta, weight=0.0, intercept=0.0):
    """Upper bounds on what each row can still add to h; their sum is a duality gap.

    With w = sum d_i phi(x_i) and v = sum d_i^2 psi(x_i) in the feature spaces of K and
    of K∘K, h is the dual of the convex problem

        1/2 |w|^2 + 1/(16 eta) |v|^2 + sum_i max_u m_i(u),
        m_i(u) = u (t_i - <w, phi_i>) - epsilon |u| - u^2 (w_i + <v, psi_i>/(8 eta)),

    u in the box of row i, w_i its weight, and at the (w, v) of d primal minus dual is
    ``sum_i max_u m_i(u) - m_i(d_i)``: no term is negative. Under ``1'd = const`` the
    same holds with ``t - intercept`` in place of t, for any number.
    """
    xp = array_namespace(d)
    residual = dual.target - intercept - Kd
    curvature = weight + Qq / (8 * eta)

    def m(u):
        return u * (residual - curvature * u) - dual.epsilon * xp.abs(u)

    gaps = m(_best_rows(residual, curvature, dual)) - m(d)
    return xp.where(gaps > 0, gaps, xp.zeros_like(d))

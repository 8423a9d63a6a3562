"""DANK without the nuclear norm: a concave quartic over a box.

With ``tau = 0`` the minimiser F of the DANK problem is ``F = 11' + Gamma`` with
``Gamma = diag(d) K diag(d) / (4 eta)`` (JMLR, equation 9), and what is left to maximise
over the coefficients d needs no matrix F (JMLR, problem 18, which drops the intercept):

    h(d) = t'd - epsilon |d|_1 - w'd² - 1/2 d'K d - 1/(16 eta) q'(K∘K) q,    q = d∘d,

over the bounds of an :class:`adakern.svm.dual.Dual` with the targets t. With eta
infinite and the target replaced, h is any quadratic program over these bounds. A row
that stands for c equal ones has the sum of their coefficients as d, and in q that of
their squares, d^2/c.

h is a Lagrangian dual whose primal separates over the rows, so that every single row
has a certificate. With w = sum d_i phi(x_i) and v = sum d_i^2 psi(x_i) in the feature
spaces of K and of K∘K it is (each row counting once) the dual of the convex problem

    1/2 |w|^2 + 1/(16 eta) |v|^2 + sum_i max_u m_i(u),
    m_i(u) = u (t_i - <w, phi_i>) - epsilon |u| - u^2 (w_i + <v, psi_i>/(8 eta)),

u in the box of row i, w_i its weight, and at the (w, v) of d primal minus dual is
``sum_i max_u m_i(u) - m_i(d_i)``: no term is negative. Under ``1'd = const`` the same
holds with ``t - b`` in place of t, for any number b.

Its solvers take the duality gap to reach, in units of h, and return the
:class:`QuarticPoint` where they end. Arrays are NumPy's, PyTorch's or those of any
array-API library.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace

from adakern._utils.blocks import CACHE_BYTES, TILE_BYTES, by_row_blocks, row_blocks
from adakern.dank import active_set, interior_point
from adakern.linalg import add_to_diagonal, principal_submatrix
from adakern.svm.dual import Dual

#: Halvings of an interval, to its last digit.
BISECTIONS = 64


def solve(problem, start, tol):
    """Maximise h, from a start whose active set is nearly right: by active sets, else
    by the interior-point method.
    """
    point = active_set.solve(problem, start, tol)
    if point and point.gap <= tol:
        return point
    best = interior_point.solve(problem, start, tol)
    return point if point and point.gap <= best.gap else best


def squared_product(K, q):
    """``(K∘K) q`` without a second matrix, shape (n,)."""
    return by_row_blocks(lambda rows: (rows * rows) @ q, K, 8 * q.shape[0], TILE_BYTES)


@dataclass(frozen=True)
class Quartic:
    """The function h of one Gram matrix, to be maximised over the bounds of a dual."""

    #: Positive semidefinite, shape (n, n); not needed where only points are made.
    K: Any
    dual: Dual
    eta: float
    #: The weights w: zero for a whole problem; where only some rows move, they carry
    #: the quartic's coupling to the rows held fixed.
    weight: Any = 0.0

    def at(self, d):
        """The :class:`QuarticPoint` d."""
        Kd = self.K @ d
        if math.isinf(self.eta):
            return QuarticPoint(self, d, Kd, array_namespace(d).zeros_like(d))
        return QuarticPoint(self, d, Kd, squared_product(self.K, self.dual.squares(d)))


@dataclass
class QuarticPoint:
    """One d, with all that follows from ``Kd = K d`` and ``Qq = (K∘K) q``."""

    problem: Quartic
    d: Any
    Kd: Any
    Qq: Any

    def __post_init__(self):
        """Slope at zero, and curvature, of the function m of each row."""
        problem = self.problem
        self.residual = problem.dual.target - self.Kd
        share = self.Qq / problem.dual.copies
        self.curvature = problem.weight + share / (8 * problem.eta)

    @cached_property
    def value(self):
        """The value h(d)."""
        d = self.d
        problem = self.problem
        dual = self.problem.dual
        xp = array_namespace(d)
        linear = d * (dual.target - 0.5 * self.Kd) - dual.epsilon * xp.abs(d)
        share = self.Qq / dual.copies
        square = d * d * (problem.weight + share / (16 * problem.eta))
        return float(xp.sum(linear - square))

    @cached_property
    def gradient(self):
        """Gradient of the smooth part of h, without epsilon |d|; shape (n,)."""
        return self.residual - self.d * (2 * self.curvature)

    @property
    def slope(self):
        """The gradient of the Lagrangian: less the multiplier of ``1'd = const``."""
        return self.gradient - self.intercept

    def hessian(self, rows=None):
        """Minus the second derivative ``K + dd'∘K∘K / (2 eta) + diag(.)``, of all rows
        or some.
        """
        K = self.problem.K
        d = self.d / self.problem.dual.copies
        diagonal = 2 * self.curvature
        if rows is not None:
            take = array_namespace(d).take
            d, diagonal = take(d, rows), take(diagonal, rows)
            K = principal_submatrix(K, rows)
            if math.isinf(self.problem.eta):
                return add_to_diagonal(K, diagonal)
        H = array_namespace(K).empty_like(K)
        scaled = (d / (2 * self.problem.eta))[None, :]
        for block in row_blocks(K.shape[0], 8 * K.shape[0], CACHE_BYTES):
            part = K[block, :]
            tile = part * part
            tile *= d[block][:, None]
            tile *= scaled
            tile += part
            H[block, :] = tile
        return add_to_diagonal(H, diagonal)

    @cached_property
    def intercept(self):
        """The multiplier b of ``1'd = const`` with the smallest duality gap, by
        bisection.
        """
        dual = self.problem.dual
        if not dual.fit_intercept:
            return 0.0
        xp = array_namespace(self.d)
        total = float(xp.sum(self.d))
        low = float(xp.min(self.residual)) - dual.epsilon
        high = float(xp.max(self.residual)) + dual.epsilon
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            best = _best_rows(self.residual - middle, self.curvature, dual)
            if float(xp.sum(best)) > total:
                low = middle
            else:
                high = middle
        return high

    @cached_property
    def row_gaps(self):
        """Upper bounds on what each row can still add to h, shape (n,)."""
        xp = array_namespace(self.d)
        dual = self.problem.dual
        residual = self.residual - self.intercept
        best = _best_rows(residual, self.curvature, dual)
        u = xp.stack([best, self.d])
        m = u * (residual - self.curvature * u) - dual.epsilon * xp.abs(u)
        gaps = m[0, ...] - m[1, ...]
        return xp.where(gaps > 0, gaps, xp.zeros_like(gaps))

    @cached_property
    def gap(self):
        """The duality gap: what h can still gain, at most."""
        return float(array_namespace(self.d).sum(self.row_gaps))


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

"""DANK without the nuclear norm: a concave quartic over a box.

With ``tau = 0``, the minimiser F of the DANK problem is ``F = 11' + Gamma`` with
``Gamma = diag(d) K diag(d) / (4 eta)`` (JMLR, equation 9). What remains to be maximised
over the coefficients d has no matrix F (JMLR, problem 18, which drops the intercept):

    h(d) = t'd - epsilon |d|_1 - w'd² - 1/2 d'K d - 1/(16 eta) q'(K∘K) q,    q = d∘d,

over the bounds of an :class:`adakern.svm.dual.Dual` with the targets t. If eta is
infinite and the target is replaced, h is an arbitrary quadratic program over these
bounds. For a row with c copies, d is the sum of their coefficients, and q is the sum of
their squares, d^2/c.

h is a Lagrangian dual whose primal separates over the rows, so that each row has its
own certificate. Let w = sum d_i phi(x_i) and v = sum d_i^2 psi(x_i) in the feature
spaces of K and of K∘K. If each row counts once, h is the dual of the convex problem

    1/2 |w|^2 + 1/(16 eta) |v|^2 + sum_i max_u m_i(u),
    m_i(u) = u (t_i - <w, phi_i>) - epsilon |u| - u^2 (w_i + <v, psi_i>/(8 eta)),

with u in the box of row i, and w_i its weight. At the (w, v) of d, primal minus dual is
``sum_i max_u m_i(u) - m_i(d_i)``, in which no term is negative. Under the constraint
``1'd = const``, the same holds with ``t - b`` in place of t, for any number b.

The solvers take a tolerance on the duality gap, in units of h, and return the final
:class:`QuarticPoint`. Arrays may be of NumPy, PyTorch or any array API library.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace

from adakern._utils.resources import CACHE_BYTES, TILE_BYTES, by_row_blocks, row_blocks
from adakern.dank import active_set, interior_point
from adakern.linalg import add_to_diagonal, principal_submatrix
from adakern.svm.dual import Dual

#: Number of bisections, enough for full precision.
BISECTIONS = 64


def solve(problem, start, tol):
    """Maximise h by active sets, or by the interior-point method if they cycle.

    The active set of the start should be close to that of the maximiser.
    """
    point = active_set.solve(problem, start, tol)
    if point and point.gap <= tol:
        return point
    best = interior_point.solve(problem, start, tol)
    return point if point and point.gap <= best.gap else best


def squared_product(K, q):
    """``(K∘K) q`` without a second n x n matrix, shape (n,)."""
    return by_row_blocks(lambda rows: (rows * rows) @ q, K, 8 * q.shape[0], TILE_BYTES)


@dataclass(frozen=True)
class Quartic:
    """Function h of a Gram matrix, to be maximised over the bounds of a dual."""

    #: Positive semidefinite, shape (n, n); None if points are only constructed.
    K: Any
    dual: Dual
    eta: float
    #: Weights w. They are zero if all rows may change; otherwise they contain the
    #: quartic's coupling to the fixed rows.
    weight: Any = 0.0

    def at(self, d, Kd=None, Qq=None):
        """Return the :class:`QuarticPoint` at d, with its products if known."""
        if Kd is None:
            Kd = self.K @ d
            if math.isinf(self.eta):
                Qq = array_namespace(d).zeros_like(d)
            else:
                Qq = squared_product(self.K, self.dual.squares(d))
        residual = self.dual.target - Kd
        curvature = self.weight + Qq / self.dual.copies / (8 * self.eta)
        gradient = residual - d * (2 * curvature)
        return QuarticPoint(self, d, Kd, Qq, residual, curvature, gradient)


@dataclass
class QuarticPoint:
    """A point d, with the quantities derived from ``Kd = K d`` and ``Qq = (K∘K) q``."""

    problem: Quartic
    d: Any
    Kd: Any
    Qq: Any
    #: Slope at zero, and curvature, of the function m of each row.
    residual: Any
    curvature: Any
    #: Gradient of the smooth part of h, without epsilon |d|; shape (n,).
    gradient: Any

    @cached_property
    def value(self):
        """Value h(d)."""
        d = self.d
        problem = self.problem
        dual = self.problem.dual
        xp = array_namespace(d)
        linear = d * (dual.target - 0.5 * self.Kd) - dual.epsilon * xp.abs(d)
        share = self.Qq / dual.copies
        square = d * d * (problem.weight + share / (16 * problem.eta))
        return float(xp.sum(linear - square))

    def hessian(self, rows=None):
        """Hessian of -h, ``K + dd'∘K∘K / (2 eta) + diag(.)``, for all or some rows."""
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
        """Multiplier b of ``1'd = const`` with the smallest duality gap."""
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
        """Upper bounds on the possible increase in h by each row, shape (n,)."""
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
        """Duality gap, an upper bound on the suboptimality of d."""
        return float(array_namespace(self.d).sum(self.row_gaps))


def _best_rows(residual, curvature, dual):
    """Maximise ``u residual - epsilon |u| - u^2 curvature`` over u in the box."""
    xp = array_namespace(residual)
    excess = xp.abs(residual) - dual.epsilon
    zero = xp.zeros_like(residual)
    towards = xp.where(excess > 0, xp.sign(residual) * excess, zero)
    # A row without curvature goes to a bound; the floor prevents an overflow.
    floor = float(xp.finfo(residual.dtype).smallest_normal) ** 0.5
    best = towards / (2 * xp.where(curvature > floor, curvature, zero + floor))
    return xp.minimum(xp.maximum(best, dual.lower), dual.upper)

"""Newton's method for DANK on a stored Gram matrix.

What is maximised is the h of :mod:`adakern.dank.objective`. A round maximises a model
of h over the feasible set and searches on the line towards its maximiser. Without a
nuclear norm h itself is the model, with one it is the second-order model. Accelerated
ascent takes what is left.
"""

from dataclasses import replace

import numpy as np

from adakern._utils.blocks import CACHE_BYTES, row_blocks
from adakern.dank.quartic import Quartic
from adakern.dank.quartic_solver import maximise_quartic
from adakern.svm.ascent import accelerated, rounds

#: The matrix of the quadratic model is stored for up to so many rows.
DENSE_ROWS = 2000


def newton(h, ascent, max_iter):
    """Maximise h by one method after another, until the gap is reached."""
    rounds(h, ascent, _second_order if h.tau else _quartic, max_iter)
    accelerated(h, ascent, max_iter)


def _quartic(h, point, tol):
    """The maximiser of h, which is a quartic without a nuclear norm."""
    goal = tol / 2 * abs(point.svm_value)
    return h.dual.variables(maximise_quartic(h, point.d, gap_goal=goal).d)


def _second_order(h, point, tol):
    """The maximiser of the second-order model of h."""
    H = ThresholdedHessian(h, point)
    if len(h.K) <= DENSE_ROWS:
        H = H.block(np.arange(len(h.K)))
    linear = point.gradient + h.dual.adjoint(H @ point.d)
    accuracy = max(1e-2 * tol, 1e-12) * (abs(point.svm_value) + point.gap)
    return maximise_quadratic(H, linear, h.dual, accuracy, start=point.u)


def maximise_quadratic(H, linear, dual, gap_goal, start):
    """The feasible u that maximises ``linear'u - 1/2 d'H d`` up to the gap.

    H is a matrix or offers ``@``, ``block`` and ``shape``. The variables at a bound in
    ``start`` are the first active set; those of the result lie at their bounds exactly.
    """
    program, d = quadratic_program(H, linear, dual), dual.coefficients(dual.project(start))
    return dual.variables(maximise_quartic(program, d, gap_goal=gap_goal).d)


def quadratic_program(H, linear, dual):
    """The same as a problem in d.

    In a regression the mean of a row's two variables is -epsilon, as in
    ``dual.linear``.
    """
    rows = (dual.signs * linear).reshape(-1, len(dual.target))
    target = (rows[0] + rows[1]) / 2 if dual.is_regression else rows[0]
    return Quartic(H, replace(dual, target=target), np.inf)


class ThresholdedHessian:
    """Minus the second derivative of h in d, for tau > 0.

    It is ``F∘K`` plus the curvature of the thresholding, ``2 eta <J'(A)[E], E>``.

    Here ``E = (diag(v) K diag(d) + diag(d) K diag(v)) / (4 eta)``. With eigenvalues f
    of F above zero, their eigenvectors U, ``W = K diag(d) U`` and the weights
    ``omega = 2 f / (f + tau/2)`` of pairs of a kept and a lost eigenvector it is

        8 eta H = K∘(8 eta Z Z' + U omega W' diag(d) + diag(d) W omega U')
                  + diag(rowsum(W² omega)) + (U U')∘(W (2 - omega) W')
                  + (U W')∘(W (1 - omega) U') + (W U')∘(U (1 - omega) W').

    Two things make this a slight under-estimate: lost eigenvalues enter as if they were
    zero, and ``W W'`` stands for ``K diag(d)² K``, the sum over all eigenvectors, which
    would cost n^3 operations. What that leaves out is at most the share ``max (tau/2) /
    (f + tau/2)`` of F∘K.
    """

    def __init__(self, h, point):
        f, U, Z, KZ = (point.parts[name] for name in ("f", "U", "Z", "KZ"))
        scale, omega = 8 * h.eta, 2 * f / (f + h.tau / 2)
        W = KZ / np.sqrt(f)
        self.K, self.shape = h.K, h.K.shape
        halves = np.hstack([Z / 2, omega / scale * U]), np.hstack([Z, point.d[:, None] * W])
        self.left, self.right = np.hstack(halves), np.hstack(halves[::-1])
        self.diagonal = W**2 @ (omega / scale)
        # H is K∘(left right') and the sum of (P Q')∘(R S') over these.
        kept, lost = (2 - omega) / scale * W, (1 - omega) / scale * W
        self._products = [(U, U, kept, W), (U, W, lost, U), (W, U, U, lost)]

    def __matmul__(self, v):
        v = v[:, None]
        result = np.einsum("ik,ik->i", self.left, self.K @ (self.right * v))
        for P, Q, R, S in self._products:
            result += np.einsum("ik,ik->i", P @ ((Q * v).T @ S), R)
        return result + self.diagonal * v[:, 0]

    def block(self, rows):
        """The rows and columns ``rows``, as an array of its own."""
        K, every = self.K, len(rows) == len(self.K)
        left, right = self.left[rows], self.right[rows]
        products = [[factor[rows] for factor in four] for four in self._products]
        H = np.empty((len(rows), len(rows)))
        # The lower triangle, and its mirror image.
        for part in row_blocks(len(rows), 8 * len(rows), CACHE_BYTES):
            before = slice(0, part.stop)
            tile = left[part] @ right[before].T
            tile *= K[part, before] if every else K[rows[part]][:, rows[before]]
            for P, Q, R, S in products:
                tile += (P[part] @ Q[before].T) * (R[part] @ S[before].T)
            H[part, before] = tile
            H[: part.start, part] = tile[:, : part.start].T
        H[np.diag_indices(len(rows))] += self.diagonal[rows]
        return H

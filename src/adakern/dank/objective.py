"""DANK's problem: the saddle function, and its minimum over F, the concave function h.

In the variables u of :mod:`adakern.svm.dual` and a positive semidefinite matrix F, the
saddle function (JMLR, problem 4; problem 22 for regression) is

    linear'u - 1/2 d'(F∘K)d + eta ||F - 11'||_F^2 + tau eta ||F||_*.

Its minimiser over F is ``F = J(11' + Gamma)`` with ``Gamma = diag(d) K diag(d) / (4
eta)``, where J soft-thresholds the eigenvalues by tau/2 (JMLR, Lemma 1). h(u) is the
value at this minimiser. The functions compute this as printed, with dense matrices; the
solvers are tested against them. The classes compute the same from factors ``F = Z Z'``,
with Z of shape (n, r), by ``(F∘K) v = rowsum(Z ∘ (K (Z ∘ v)))``. Calling them has no
side effects. If a nearby point is passed, the search for eigenvectors starts from its
eigenvectors.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from adakern._utils.arrays import as_numpy
from adakern._utils.resources import CACHE_BYTES, row_blocks
from adakern.dank import quartic
from adakern.dank.quartic import Quartic
from adakern.linalg import (
    add_to_diagonal,
    leading_eigenpairs,
    principal_submatrix,
    symmetric_product,
)
from adakern.svm.dual import Dual, DualEvaluation

#: Tolerance on the optimality conditions of the support vector machines that determine
#: eta. LIBSVM's default of 1e-3 would affect all results; with this value, the error of
#: eta is in the sixth digit.
SVM_TOL = 1e-4

#: Allowed error of the gap, as a fraction of the gap at the previous point. At the
#: first point, the error may be the square of this value times the objective.
ACCEPTED = 0.1

#: The Gram matrix of the support vectors is stored in addition to K if they are at most
#: this fraction of the rows. The first value is for up to ``FEW_ROWS`` rows, for which
#: the Hessian is stored as well.
MOST_OF_FEW = 0.9
MOST_OF_MANY = 0.5
FEW_ROWS = 2000


def saddle_value(u, F, K, dual, eta, tau):
    """The saddle function at the variables u and the matrix F (JMLR, problem 4)."""
    d = dual.coefficients(u)
    nuclear_norm = np.linalg.norm(F, "nuc") if tau else 0.0
    regulariser = ((F - 1) ** 2).sum() + tau * nuclear_norm
    return dual.linear @ u - d @ (F * K) @ d / 2 + eta * regulariser


def saddle_gradient(u, F, K, dual):
    """Gradient of the saddle function in u.

    At F = ``best_factor(u)`` it is also the gradient of h (JMLR, equation 26).
    """
    return dual.linear - dual.adjoint((F * K) @ dual.coefficients(u))


def best_factor(u, K, dual, eta, tau):
    """Positive semidefinite F that minimises the saddle function at u."""
    d = dual.coefficients(u)
    values, vectors = np.linalg.eigh(1 + np.outer(d, d) * K / (4 * eta))
    return (vectors * np.maximum(values - tau / 2, 0)) @ vectors.T


def concave_value(u, K, dual, eta, tau):
    """h(u), the minimum of the saddle function over F."""
    return saddle_value(u, best_factor(u, K, dual, eta, tau), K, dual, eta, tau)


def duality_gap(u, F, K, dual):
    """Upper bound on the suboptimality of u in the dual of the SVM with kernel F∘K."""
    d = dual.coefficients(u)
    scores = (F * K) @ d
    return d @ scores + dual.loss(scores)[0] - dual.linear @ u


def svm_eta(squares, C, without_intercept):
    """The papers' rule ``eta = ||alpha_svm||_2^2`` (preprint, section 6).

    ``squares`` are arrays of squared coefficients. If all are zero (rows of one class,
    or a tube that contains all targets), those of ``without_intercept`` are used. A
    multiple of C^2 keeps eta above zero.
    """
    squares = [as_numpy(part) for part in squares]
    if not any(part.any() for part in squares):
        squares = [as_numpy(part) for part in without_intercept()]
    # Sums, since the rounding of a dot product depends on memory alignment.
    eta = sum(float(part.sum()) for part in squares)
    return max(eta, np.finfo(float).eps * C**2)


class QuarticObjective(Quartic):
    """DANK without the nuclear norm: :mod:`adakern.dank.quartic` in the variables u."""

    def __call__(self, u, near=None):
        point = self.at(self.dual.coefficients(u))
        q = self.dual.squares(point.d)
        regulariser = q @ point.Qq / (16 * self.eta)  # eta ||Gamma||^2
        return DualEvaluation(
            self.dual, u, self.dual.target - point.gradient, regulariser
        )

    def maximise_model(self, point, tol):
        """Maximiser of h itself, which needs no model."""
        goal = tol / 2 * abs(point.svm_value)
        return self.dual.variables(quartic.solve(self, point.d, goal).d)

    def factor(self, point):
        """Z with F = Z Z', shape (n, 1 + r).

        Its columns are 1 and diag(d) L / (2 sqrt(eta)), where K = L L'.
        """
        support = np.flatnonzero(point.d)
        values, vectors = np.linalg.eigh(self.K[np.ix_(support, support)])
        keep = values > len(support) * np.finfo(float).eps * values.max(initial=0.0)
        Z = np.zeros((len(point.d), 1 + keep.sum()))
        Z[:, 0] = 1.0
        each = (point.d / self.dual.copies)[support, None]
        scaled = each / np.sqrt(4 * self.eta)
        Z[support, 1:] = scaled * vectors[:, keep] * np.sqrt(values[keep])
        return Z


class _OnesPlusGamma:
    """The matrix ``ss' + diag(c) K diag(c)`` as an operator on its support.

    Its m + 1 rows are in a basis of the unit vectors of the m rows with c != 0, and of
    the normalised s restricted to the other rows. The columns of ``basis`` are these
    vectors. If each row counts once, s is the vector of ones.
    """

    def __init__(self, K, c, s):
        n = len(c)
        support = np.flatnonzero(c)
        if len(support) > (MOST_OF_FEW if n <= FEW_ROWS else MOST_OF_MANY) * n:
            support = np.arange(n)
        else:
            K = principal_submatrix(K, support)
        m = len(support)
        self.K = K
        self.c = c[support, None]
        self.shape = (m + 1, m + 1)
        rest = np.delete(np.arange(n), support)
        size = np.linalg.norm(s[rest])
        self.s = np.append(s[support], size)[:, None]
        values = np.append(np.ones(m), s[rest] / (size or 1.0))
        rows = np.append(support, rest)
        columns = np.minimum(np.arange(n), m)
        self.basis = csr_array((values, (rows, columns)), shape=(n, m + 1))

    def __matmul__(self, X):
        image = self.s * (self.s.T @ X)
        image[:-1] += self.c * (self.K @ (self.c * X[:-1]))
        return image


@dataclass(frozen=True)
class ThresholdedObjective:
    """DANK with a nuclear norm, tau > 0.

    With sample weights w and ``s = sqrt(w)``, the norms of F for the repeated rows are
    those of ``G = diag(s) F diag(s)``. The minimiser is ``G = J(ss' + diag(d/s) K
    diag(d/s) / (4 eta))``.
    """

    K: Any
    dual: Dual
    eta: float
    tau: float
    #: Relative tolerance on the duality gap.
    tol: float = 1e-4

    def __call__(self, u, near=None):
        d = self.dual.coefficients(u)
        s = np.sqrt(self.dual.copies) * np.ones(len(d))
        A = _OnesPlusGamma(self.K, d / s / np.sqrt(4 * self.eta), s)
        start = None if near is None else A.basis.T @ near.parts["block"]
        tol = self._residual(d, u, s, near)
        values, U, block = leading_eigenpairs(A, self.tau / 2, start=start, tol=tol)
        U = A.basis @ U
        f = values - self.tau / 2
        # ||G - ss'||_F^2 without the cancellation against n^2, from the components of
        # s/sqrt(n) in the orthonormal basis U, and its norm outside the span.
        n = s @ s
        inside = (s[:, None] * U).sum(axis=0) / np.sqrt(n)
        outside = np.linalg.norm(s * n**-0.5 - U @ inside)
        ones = np.append(inside, outside)
        difference = np.diag(np.append(f, 0.0)) - n * np.outer(ones, ones)
        U = U / s[:, None]  # eigenvectors of G as factors of F
        Z = U * np.sqrt(f)
        KZ = symmetric_product(self.K, Z * d[:, None])
        scores = np.einsum("ir,ir->i", Z, KZ)
        regulariser = self.eta * ((difference**2).sum() + self.tau * f.sum())
        return DualEvaluation(
            self.dual,
            u,
            scores,
            regulariser,
            f=f,
            U=U,
            Z=Z,
            KZ=KZ,
            block=A.basis @ block,
        )

    def _residual(self, d, u, s, near):
        """Residual rho of the eigenpairs that gap and line searches tolerate.

        It changes h by at most 4 eta rho^2 and F by at most sqrt(2) rho. The error in a
        row of F affects the same row of ``(F∘K) d``, and the gap changes by C times the
        sum over the rows. Any positive semidefinite F gives a valid gap, so a large gap
        may have a large error.
        """
        if near is None:
            aim = max(self.tol, ACCEPTED**2) * abs(self.dual.linear @ u)
        else:
            aim = max(self.tol * abs(near.svm_value), ACCEPTED * near.gap)
        size = np.linalg.norm(d / s)
        bound = self.dual.C * np.sqrt(2 * (s @ s)) + 2 * size
        slope = self.K.diagonal().max() * size * bound  # the largest entry of K
        rise = 0.1 * aim / max(slope, 1e3 * aim, np.finfo(float).tiny)  # at most 1e-4
        return min(np.sqrt(1e-8 * aim / self.eta), rise)

    def maximise_model(self, point, tol):
        """Maximiser of the second-order model of h, a quadratic program in d.

        In regression, the two linear terms of a row have the mean -epsilon, as in
        ``dual.linear``.
        """
        H = self.hessian(point)
        dual = self.dual
        linear = point.gradient + dual.adjoint(H @ point.d)
        rows = (dual.signs * linear).reshape(-1, len(dual.target))
        target = (rows[0] + rows[1]) / 2 if dual.is_regression else rows[0]
        program = Quartic(H, replace(dual, target=target), np.inf)
        accuracy = max(1e-2 * tol, 1e-12) * (abs(point.svm_value) + point.gap)
        start = dual.coefficients(dual.project(point.u))
        return dual.variables(quartic.solve(program, start, accuracy).d)

    def hessian(self, point):
        """Minus the second derivative of h in d, shape (n, n).

        It is ``F∘K`` plus the curvature of the thresholding, ``2 eta <J'(A)[E], E>``
        for ``E = (diag(v) K diag(d) + diag(d) K diag(v)) / (4 eta)``. With eigenvalues
        f of F above zero, their eigenvectors U, ``W = K diag(d) U`` and the weights
        ``omega = 2 f / (f + tau/2)`` it is

            8 eta H = K∘(8 eta Z Z' + U omega W' diag(d) + diag(d) W omega U')
                      + diag(rowsum(W² omega)) + (U U')∘(W (2 - omega) W')
                      + (U W')∘(W (1 - omega) U') + (W U')∘(U (1 - omega) W').

        This is a slight underestimate: eigenvalues below the threshold enter as zero,
        and ``W W'`` replaces ``K diag(d)² K``, which would take n^3 operations. With
        sample weights, U and Z are the factors of F; the diagonal, and d outside of W,
        are divided by the weights.
        """
        f, U, Z, KZ = (point.parts[name] for name in ("f", "U", "Z", "KZ"))
        copies = self.dual.copies
        each = (point.d / copies)[:, None]
        scale = 8 * self.eta
        omega = 2 * f / (f + self.tau / 2)
        W = KZ / np.sqrt(f)
        halves = np.hstack([Z / 2, omega / scale * U]), np.hstack([Z, each * W])
        left = np.hstack(halves)
        right = np.hstack(halves[::-1])
        # H is K∘(left right') and the sum of (P Q')∘(R S') over these.
        kept = (2 - omega) / scale * W
        lost = (1 - omega) / scale * W
        products = [(U, U, kept, W), (U, W, lost, U), (W, U, U, lost)]
        H = np.empty_like(self.K)
        for part in row_blocks(len(H), 8 * len(H), CACHE_BYTES):
            # Compute the lower triangle, and copy it to the upper one.
            before = slice(0, part.stop)
            tile = left[part] @ right[before].T
            tile *= self.K[part, before]
            for P, Q, R, S in products:
                tile += (P[part] @ Q[before].T) * (R[part] @ S[before].T)
            H[part, before] = tile
            H[: part.start, part] = tile[:, : part.start].T
        return add_to_diagonal(H, W**2 @ (omega / scale) / copies)

    def factor(self, point):
        """Z with F = Z Z', shape (n, r)."""
        return point.parts["Z"]

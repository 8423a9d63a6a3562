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

import numpy as np

from adakern._utils.arrays import as_numpy
from adakern.dank.quartic import Quartic
from adakern.linalg import leading_eigenpairs, principal_submatrix, symmetric_product
from adakern.svm.dual import DualEvaluation

#: Tolerance on the optimality conditions of the support vector machines that determine
#: eta. LIBSVM's default of 1e-3 would affect all results; this value changes eta only
#: in the sixth digit.
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

    At F = ``best_factor(u)`` it is also the gradient of h (JMLR, Theorem 4).
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


def make_objective(K, dual, eta, tau, tol=1e-4):
    """Return the function h of one model, in closed form if tau is zero."""
    if tau > 0:
        return ThresholdedObjective(K, dual, eta, tau, tol)
    return QuarticObjective(K, dual, eta)


class QuarticObjective(Quartic):
    """DANK without the nuclear norm: :mod:`adakern.dank.quartic` in the variables u."""

    tau = 0.0

    def __call__(self, u, near=None):
        point = self.at(self.dual.coefficients(u))
        q = self.dual.squares(point.d)
        regulariser = q @ point.Qq / (16 * self.eta)  # eta ||Gamma||^2
        return DualEvaluation(
            self.dual, u, self.dual.target - point.gradient, regulariser
        )

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

    The basis consists of the unit vectors of the m rows with c != 0, and of the
    normalised s restricted to the other rows. In it, the matrix has m + 1 rows.
    ``reduced`` and ``expanded`` map vectors to this basis and back. If each row counts
    once, s is the vector of ones.
    """

    def __init__(self, K, c, s):
        n = len(c)
        support = np.flatnonzero(c)
        if len(support) > (MOST_OF_FEW if n <= FEW_ROWS else MOST_OF_MANY) * n:
            support = np.arange(n)
        else:
            K = principal_submatrix(K, support)
        self.K = K
        self.c = c[support, None]
        self.support = support
        self.rest = np.delete(np.arange(n), support)
        outside = s[self.rest, None]
        size = np.linalg.norm(outside)
        self.along = outside / (size or 1.0)
        self.s = np.vstack([s[support, None], [[size]]])
        self.shape = (len(self.s), len(self.s))

    def __matmul__(self, X):
        image = self.s * (self.s.T @ X)
        image[:-1] += self.c * (self.K @ (self.c * X[:-1]))
        return image

    def reduced(self, V):
        return np.vstack([V[self.support], (self.along * V[self.rest]).sum(axis=0)])

    def expanded(self, W):
        V = np.empty((len(self.support) + len(self.rest), W.shape[1]))
        V[self.support], V[self.rest] = W[:-1], self.along * W[-1]
        return V


class ThresholdedObjective:
    """DANK with a nuclear norm, tau > 0; see :func:`make_objective`.

    With sample weights w and ``s = sqrt(w)``, the norms of F for the repeated rows are
    those of ``G = diag(s) F diag(s)``. The minimiser is ``G = J(ss' + diag(d/s) K
    diag(d/s) / (4 eta))``.
    """

    def __init__(self, K, dual, eta, tau, tol=1e-4):
        self.K = K
        self.dual = dual
        self.eta = eta
        self.tau = tau
        self.tol = tol
        self.s = np.sqrt(dual.copies) * np.ones(len(K))

    def __call__(self, u, near=None):
        d = self.dual.coefficients(u)
        A = _OnesPlusGamma(self.K, d / self.s / np.sqrt(4 * self.eta), self.s)
        start = None if near is None else A.reduced(near.parts["block"])
        tol = self._residual(d, u, near)
        values, U, block = leading_eigenpairs(A, self.tau / 2, start=start, tol=tol)
        U, block = A.expanded(U), A.expanded(block)
        f = values - self.tau / 2
        distance = _distance_to_ones(f, U, self.s)
        U = U / self.s[:, None]  # eigenvectors of G as factors of F
        Z = U * np.sqrt(f)
        KZ = symmetric_product(self.K, Z * d[:, None])
        scores = np.einsum("ir,ir->i", Z, KZ)
        regulariser = self.eta * (distance + self.tau * f.sum())
        parts = {"f": f, "U": U, "Z": Z, "KZ": KZ, "block": block}
        return DualEvaluation(self.dual, u, scores, regulariser, **parts)

    def _residual(self, d, u, near):
        """Residual rho of the eigenpairs that the gap and the line searches tolerate.

        It changes h by at most 4 eta rho^2 and F by at most sqrt(2) rho. The error in a
        row of F affects the same row of ``(F∘K) d``, and the gap changes by C times the
        sum over the rows. Any positive semidefinite F gives a valid gap, so a large gap
        may be off by a fraction of itself.
        """
        if near is None:
            aim = max(self.tol, ACCEPTED**2) * abs(self.dual.linear @ u)
        else:
            aim = max(self.tol * abs(near.svm_value), ACCEPTED * near.gap)
        size = np.linalg.norm(d / self.s)
        bound = self.dual.C * np.sqrt(2 * (self.s @ self.s)) + 2 * size
        slope = self.K.diagonal().max() * size * bound  # the largest entry of K
        rise = 0.1 * aim / max(slope, np.finfo(float).tiny)
        return min(np.sqrt(1e-8 * aim / self.eta), rise, 1e-4)

    def factor(self, point):
        """Z with F = Z Z', shape (n, r)."""
        return point.parts["Z"]


def _distance_to_ones(f, U, s):
    """||G - ss'||_F^2 from the factors, without the cancellation against n^2."""
    n = s @ s
    # Components of s/sqrt(n) in the orthonormal basis U, and its norm outside the span
    inside = (s[:, None] * U).sum(axis=0) / np.sqrt(n)
    outside = np.linalg.norm(s * n**-0.5 - U @ inside)
    ones = np.append(inside, outside)
    difference = np.diag(np.append(f, 0.0)) - n * np.outer(ones, ones)
    return (difference**2).sum()

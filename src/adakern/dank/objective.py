"""DANK's problem: the saddle function, and the concave h that its maximisation leaves.

The saddle function (JMLR, problem 4; 22 for a regression) is, in the variables u of
:mod:`adakern.svm.dual` and a positive semidefinite F,

    linear'u - 1/2 d'(F∘K)d + eta ||F - 11'||_F^2 + tau eta ||F||_*.

Its minimiser over F is ``F = J(11' + Gamma)`` with ``Gamma = diag(d) K diag(d) / (4
eta)`` and J the soft-thresholding of eigenvalues by tau/2 (JMLR, Lemma 1), and h(u) its
value there. The first functions compute this as it is printed, with dense matrices:
they are what solvers are tested against. The classes compute the same from factors ``F
= Z Z'``, Z of shape (n, r); all products with F∘K go through ``(F∘K) v = rowsum(Z ∘ (K
(Z ∘ v)))``. They change nothing by being called. A point that lies near may be handed
over: the search for eigenvectors then starts from its own.
"""

import numpy as np

from adakern._utils.arrays import as_numpy
from adakern.dank.quartic import Quartic
from adakern.linalg import leading_eigenpairs, principal_submatrix, symmetric_product
from adakern.svm.dual import DualEvaluation

#: Largest violation of the optimality conditions in the support vector machines that
#: give eta. LIBSVM's own 1e-3 would leave its mark on every result; this moves eta in
#: its sixth digit.
SVM_TOL = 1e-4

#: The gap may be wrong by this share of the gap at the point before; at the first point
#: the square of it, as a share of the objective, is allowed.
ACCEPTED = 0.1

#: The Gram matrix of the support vectors is stored beside K where they are at most this
#: share of the rows: of few rows, for which the Hessian is stored too, and of many.
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
    """Its gradient in u: at F = ``best_factor(u)`` also that of h (JMLR, Theorem 4)."""
    return dual.linear - dual.adjoint((F * K) @ dual.coefficients(u))


def best_factor(u, K, dual, eta, tau):
    """The positive semidefinite F that minimises the saddle function for this u."""
    d = dual.coefficients(u)
    values, vectors = np.linalg.eigh(1 + np.outer(d, d) * K / (4 * eta))
    return (vectors * np.maximum(values - tau / 2, 0)) @ vectors.T


def concave_value(u, K, dual, eta, tau):
    """h(u), the least value of the saddle function for this u."""
    return saddle_value(u, best_factor(u, K, dual, eta, tau), K, dual, eta, tau)


def duality_gap(u, F, K, dual):
    """What the dual value of the SVM with the kernel F∘K can still gain over u."""
    d = dual.coefficients(u)
    scores = (F * K) @ d
    return d @ scores + dual.loss(scores)[0] - dual.linear @ u


def svm_eta(squares, C, without_intercept):
    """The papers' rule ``eta = ||alpha_svm||_2^2`` (preprint, section 6; one for all).

    What is given are arrays of squares. Where all are zero (rows of one class, a tube
    that holds all) those ``without_intercept`` serve, and the bound C keeps eta above
    zero.
    """

    def total(squares):
        # A sum; a product's digits depend on how the rows are aligned.
        return sum(float(as_numpy(part).sum()) for part in squares)

    eta = total(squares) or total(without_intercept())
    return max(eta, np.finfo(float).eps * C**2)


def make_objective(K, dual, eta, tau, tol=1e-4):
    """The function h of one model, in closed form when tau is zero."""
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
        """Z with F = Z Z', shape (n, 1 + r): 1 and diag(d) L / (2 sqrt(eta)), where K =
        L L'.
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

    In the basis of the unit vectors of the m rows with c != 0 and the vector along s of
    length one on the others it has m + 1 rows; ``reduced`` and ``expanded`` take
    vectors there and back. Where each row counts once s is the vector of ones.
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

    With the weights w of the rows and ``s = sqrt(w)``, the norms of the repeated rows'
    F are those of ``G = diag(s) F diag(s)``, whose minimiser is ``J(ss' + diag(d/s) K
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
        """Residual rho of the eigenpairs that the gap and the line searches can bear.

        It moves h by at most 4 eta rho^2 and F by at most sqrt(2) rho; each row of
        ``(F∘K) d`` feels its row of F, and the gap C times their sum. Any positive
        semidefinite F gives a valid gap, so that a large one may be moved by a share of
        itself.
        """
        if near is None:
            aim = max(self.tol, ACCEPTED**2) * abs(self.dual.linear @ u)
        else:
            aim = max(self.tol * abs(near.svm_value), ACCEPTED * near.gap)
        size = np.linalg.norm(d / self.s)
        bound = self.dual.C * np.sqrt(2 * (self.s @ self.s)) + 2 * size
        slope = self.K.diagonal().max() * size * bound  # no entry of K is larger
        rise = 0.1 * aim / max(slope, np.finfo(float).tiny)
        return min(np.sqrt(1e-8 * aim / self.eta), rise, 1e-4)

    def factor(self, point):
        """Z with F = Z Z', shape (n, r)."""
        return point.parts["Z"]


def _distance_to_ones(f, U, s):
    """||G - ss'||_F^2 from the factors, without the cancellation against n^2."""
    n = s @ s
    # s/sqrt(n) in the orthonormal basis of U and what of it lies outside their span
    inside = (s[:, None] * U).sum(axis=0) / np.sqrt(n)
    outside = np.linalg.norm(s * n**-0.5 - U @ inside)
    ones = np.append(inside, outside)
    difference = np.diag(np.append(f, 0.0)) - n * np.outer(ones, ones)
    return (difference**2).sum()

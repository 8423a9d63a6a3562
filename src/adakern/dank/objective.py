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

from adakern._utils.blocks import CACHE_BYTES, row_blocks
from adakern.dank import quartic
from adakern.linalg import leading_eigenpairs, principal_submatrix, symmetric_product
from adakern.svm.dual import evaluate_dual

#: The gap may be wrong by this share of the gap at the point before; at the first point
#: the square of it, as a share of the objective, is allowed.
ACCEPTED = 0.1

#: The Gram matrix of the support vectors is stored beside K where they are at most this
#: share of the rows: of few rows, for which the Hessian is stored too, and of many.
MOST_OF_FEW, MOST_OF_MANY, FEW_ROWS = 0.9, 0.5, 2000


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
    """What the dual value of the SVM with the kernel F∘K can still gain over u.

    At F = ``best_factor(u)`` the regulariser cancels, and h gains no more either.
    """
    d = dual.coefficients(u)
    scores = (F * K) @ d
    return d @ scores + dual.loss(scores)[0] - dual.linear @ u


def make_objective(K, dual, eta, tau, tol=1e-4):
    """The function h of one model, in closed form when tau is zero."""
    if tau > 0:
        return ThresholdedObjective(K, dual, eta, tau, tol)
    return QuarticObjective(K, dual, eta)


class QuarticObjective:
    """DANK without the nuclear norm: :mod:`adakern.dank.quartic` in the variables u."""

    tau = 0.0

    def __init__(self, K, dual, eta):
        self.K, self.dual, self.eta = K, dual, eta

    def __call__(self, u, near=None):
        d = self.dual.coefficients(u)
        Kd, Qq = self.K @ d, quartic.squared_product(self.K, d * d)
        scores = self.dual.target - quartic.gradient(d, Kd, Qq, self.dual, self.eta)
        regulariser = (d * d) @ Qq / (16 * self.eta)  # eta ||Gamma||^2
        return evaluate_dual(self.dual, u, scores, regulariser, Qq=Qq)

    def factor(self, point):
        """Z with F = Z Z', shape (n, 1 + r): 1 and diag(d) L / (2 sqrt(eta)), K = L L'.

        L is that of the support vectors.
        """
        support = np.flatnonzero(point.d)
        values, vectors = np.linalg.eigh(self.K[np.ix_(support, support)])
        keep = values > len(support) * np.finfo(float).eps * values.max(initial=0.0)
        Z = np.zeros((len(point.d), 1 + keep.sum()))
        Z[:, 0] = 1.0
        scaled = point.d[support, None] / np.sqrt(4 * self.eta)
        Z[support, 1:] = scaled * vectors[:, keep] * np.sqrt(values[keep])
        return Z


class _OnesPlusGamma:
    """The matrix ``11' + diag(c) K diag(c)`` as an operator on its support.

    On rows with c = 0 all its images are constant. In the basis of the unit vectors of
    the m other rows and the constant vector of length one on these it is a matrix of
    m + 1 rows, with the same eigenvalues; ``reduced`` and ``expanded`` take vectors
    there and back.
    """

    def __init__(self, K, c):
        n, support = len(c), np.flatnonzero(c)
        if len(support) > (MOST_OF_FEW if n <= FEW_ROWS else MOST_OF_MANY) * n:
            support = np.arange(n)
        else:
            K = principal_submatrix(K, support)
        self.K, self.c, self.support = K, c[support, None], support
        self.rest = np.delete(np.arange(n), support)
        self.ones = np.ones((len(support) + 1, 1))
        self.ones[-1] = np.sqrt(len(self.rest))
        self.shape = (len(self.ones), len(self.ones))

    def __matmul__(self, X):
        image = self.ones * (self.ones.T @ X)
        image[:-1] += self.c * (self.K @ (self.c * X[:-1]))
        return image

    def reduced(self, V):
        constant = V[self.rest].sum(axis=0) / max(self.ones[-1], 1.0)
        return np.vstack([V[self.support], constant])

    def expanded(self, W):
        V = np.empty((len(self.support) + len(self.rest), W.shape[1]))
        V[self.support], V[self.rest] = W[:-1], W[-1] / max(self.ones[-1], 1.0)
        return V


class ThresholdedObjective:
    """DANK with a nuclear norm, tau > 0; see :func:`make_objective`."""

    def __init__(self, K, dual, eta, tau, tol=1e-4):
        self.K, self.dual, self.eta, self.tau, self.tol = K, dual, eta, tau, tol
        self._largest_entry = K.diagonal().max()  # K is positive semidefinite

    def __call__(self, u, near=None):
        d = self.dual.coefficients(u)
        A = _OnesPlusGamma(self.K, d / np.sqrt(4 * self.eta))
        values, U, block = leading_eigenpairs(
            A,
            self.tau / 2,
            start=None if near is None else A.reduced(near.parts["block"]),
            tol=self._residual(d, u, near),
        )
        U, block = A.expanded(U), A.expanded(block)
        f = values - self.tau / 2
        Z = U * np.sqrt(f)
        KZ = symmetric_product(self.K, Z * d[:, None])
        scores = np.einsum("ir,ir->i", Z, KZ)
        regulariser = self.eta * (_distance_to_ones(f, U) + self.tau * f.sum())
        parts = {"f": f, "U": U, "Z": Z, "KZ": KZ, "block": block}
        return evaluate_dual(self.dual, u, scores, regulariser, len(f), **parts)

    def _residual(self, d, u, near):
        """Residual rho of the eigenpairs that the gap and the line searches can bear.

        It moves h by at most 4 eta rho^2. The pairs are exact for a matrix at most
        sqrt(2) rho away, and the thresholding is not expansive, so F moves no further;
        each row of ``(F∘K) d`` then feels its row of F, and the gap C times their sum.
        Any positive semidefinite F gives a valid gap, so that one that is still large
        may be moved by a share of itself.
        """
        if near is None:
            aim = max(self.tol, ACCEPTED**2) * abs(self.dual.linear @ u)
        else:
            aim = max(self.tol * abs(near.svm_value), ACCEPTED * near.gap)
        size = np.linalg.norm(d)
        bound = self.dual.C * np.sqrt(2 * len(d)) + 2 * size
        slope = self._largest_entry * size * bound
        return min(
            np.sqrt(1e-8 * aim / self.eta), 0.1 * aim / max(slope, np.finfo(float).tiny), 1e-4
        )

    def factor(self, point):
        """Z with F = Z Z', shape (n, r)."""
        return point.parts["Z"]


def _distance_to_ones(f, U):
    """||F - 11'||_F^2 from the factors, without the cancellation against n^2."""
    n = len(U)
    # 1/sqrt(n) in the orthonormal basis of U and what of it lies outside their span
    inside = U.sum(axis=0) / np.sqrt(n)
    outside = np.linalg.norm(n**-0.5 - U @ inside)
    ones = np.append(inside, outside)
    difference = np.diag(np.append(f, 0.0)) - n * np.outer(ones, ones)
    return (difference**2).sum()


class StoredHessian:
    """A symmetric matrix of shape (n, n) that is stored."""

    def __init__(self, H):
        self.H, self.shape = H, H.shape

    def __matmul__(self, v):
        return self.H @ v

    def block(self, rows):
        """The rows and columns ``rows``, as an array of its own."""
        return principal_submatrix(self.H, rows)


class LearnedKernel:
    """The matrix ``F∘K`` with ``F = Z Z'``, by products alone."""

    def __init__(self, K, Z):
        self.K, self.Z, self.shape = K, Z, K.shape

    def __matmul__(self, v):
        products = symmetric_product(self.K, self.Z * v[:, None])
        return np.einsum("ir,ir->i", self.Z, products)

    def leading(self):
        """The same with the leading eigenvector of F alone, which is most of F."""
        return LearnedKernel(self.K, self.Z[:, :1])

    def diagonal(self):
        """The entries F_ii K_ii."""
        return self.K.diagonal() * (self.Z**2).sum(axis=1)


class ThresholdedHessian:
    """``F∘K`` plus the curvature of the thresholding, ``2 eta <J'(A)[E], E>``.

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

    @classmethod
    def at(cls, h, point):
        """Minus the second derivative of h in d at a point."""
        parts = {name: point.parts[name] for name in ("f", "U", "Z", "KZ")}
        return cls(h.K, point.d, **parts, eta=h.eta, tau=h.tau)

    def __init__(self, K, d, f, U, Z, KZ, eta, tau):
        scale, omega = 8 * eta, 2 * f / (f + tau / 2)
        W = KZ / np.sqrt(f)
        self.K, self.shape = K, K.shape
        halves = np.hstack([Z / 2, omega / scale * U]), np.hstack([Z, d[:, None] * W])
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

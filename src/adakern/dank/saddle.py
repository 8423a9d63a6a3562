"""The concave function h of DANK: its value, gradient, Hessian and duality gap.

For coefficients d the minimiser over F is ``F = J(11' + Gamma)`` with ``Gamma = diag(d)
K diag(d) / (4 eta)`` and J the soft-thresholding of eigenvalues by tau/2 (JMLR, Lemma
1), and h(d) is the value of problem 4 (JMLR; 22 for a regression) there. F is kept as
factors ``F = Z Z'``, Z of shape (n, r), and all products with F∘K go through ``(F∘K) v
= rowsum(Z ∘ (K (Z ∘ v)))``.

The functions take the variables u of the papers (see :mod:`adakern.svm.dual`), in which
h is smooth, and change nothing by being called. A point that lies near may be handed
over: the search for eigenvectors then starts from its own.
"""

import numpy as np

from adakern.dank import quartic
from adakern.dank.hessian import LearnedKernel, ThresholdedHessian
from adakern.linalg import leading_eigenpairs, principal_submatrix, symmetric_product
from adakern.svm.point import point_of_machine

__all__ = ["QuarticSaddle", "ThresholdedSaddle", "make_saddle"]

#: The gap may be wrong by this share of the gap at the point before; at the first point
#: the square of it, as a share of the objective, is allowed.
ACCEPTED = 0.1

#: The Gram matrix of the support vectors is stored beside K where they are at most this
#: share of the rows: of few rows, for which the Hessian is stored too, and of many.
MOST_OF_FEW, MOST_OF_MANY, FEW_ROWS = 0.9, 0.5, 2000


def make_saddle(K, dual, eta, tau, tol=1e-4):
    """The function h of one machine, in closed form when tau is zero."""
    if tau > 0:
        return ThresholdedSaddle(K, dual, eta, tau, tol)
    return QuarticSaddle(K, dual, eta)


class QuarticSaddle:
    """DANK without the nuclear norm: :mod:`adakern.dank.quartic` in the variables u."""

    tau = 0.0

    def __init__(self, K, dual, eta):
        self.K, self.dual, self.eta = K, dual, eta

    def __call__(self, u, near=None):
        d = self.dual.coefficients(u)
        Kd, Qq = self.K @ d, quartic.squared_product(self.K, d * d)
        scores = self.dual.target - quartic.gradient(d, Kd, Qq, self.dual, self.eta)
        regulariser = (d * d) @ Qq / (16 * self.eta)  # eta ||Gamma||^2
        return point_of_machine(self.dual, u, scores, regulariser, Qq=Qq)

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


class ThresholdedSaddle:
    """DANK with a nuclear norm, tau > 0; parameters as for :func:`make_saddle`."""

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
        return point_of_machine(self.dual, u, scores, regulariser, len(f), **parts)

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
            np.sqrt(1e-8 * aim / self.eta),
            0.1 * aim / max(slope, np.finfo(float).tiny),
            1e-4,
        )

    def hessian(self, point):
        """Minus the second derivative of h in d, by products and blocks."""
        parts = {name: point.parts[name] for name in ("f", "U", "Z", "KZ")}
        return ThresholdedHessian(self.K, point.d, **parts, eta=self.eta, tau=self.tau)

    def learned_kernel(self, point):
        """F∘K with F held at the point, by products."""
        return LearnedKernel(self.K, point.parts["Z"])

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

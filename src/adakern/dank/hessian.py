"""Second derivatives of DANK's concave function h, by products and by blocks.

A product costs a few products with K, a block only the rows and columns asked for: the
quadratic programs of Newton's method need no more, and no second n x n matrix is kept
where n is large.
"""

import numpy as np

from adakern._utils.blocks import CACHE_BYTES, row_blocks
from adakern.linalg import principal_submatrix, symmetric_product

__all__ = ["LearnedKernel", "StoredHessian", "ThresholdedHessian"]


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

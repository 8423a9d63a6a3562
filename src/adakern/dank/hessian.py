"""Second derivatives of DANK's concave function h, by products and by blocks.

A product costs a few products with K, a block only the rows and columns asked for: the
quadratic programs of Newton's method need no more, and no second n x n matrix is kept
where n is large.
"""

import numpy as np

from adakern.kernels import row_blocks

__all__ = ["LearnedKernel", "StoredHessian", "ThresholdedHessian"]

#: Bytes of a temporary matrix.
TEMPORARY = 2**20


class StoredHessian:
    """A symmetric matrix of shape (n, n) that is stored."""

    def __init__(self, H):
        self.H, self.shape = H, H.shape

    def __matmul__(self, v):
        return self.H @ v

    def block(self, rows):
        """The rows and columns ``rows``, as an array of its own."""
        return self.H[rows][:, rows]  # half the time of np.ix_


class LearnedKernel:
    """The matrix ``F∘K`` with ``F = Z Z'``, by products alone."""

    def __init__(self, K, Z):
        self.K, self.Z, self.shape = K, Z, K.shape

    def __matmul__(self, v):
        return np.einsum("ir,ir->i", self.Z, self.K @ (self.Z * v[:, None]))

    def diagonal(self):
        """The entries F_ii K_ii."""
        return self.K.diagonal() * (self.Z**2).sum(axis=1)


class ThresholdedHessian:
    """``F∘K`` plus the curvature of the thresholding, ``2 eta <J'(A)[E], E>``.

    Here ``E = (diag(v) K diag(d) + diag(d) K diag(v)) / (4 eta)``. With eigenvalues f
    of F above zero, their eigenvectors U, ``W = K diag(d) U`` and the weights
    ``omega = 2 f / (f + tau/2)`` of pairs of a kept and a lost eigenvector it is

        K∘(L R') + diag(g) + ((U U')∘(W diag(2 - omega) W') - S - S') / (8 eta),

    S = (U W')∘(W diag(omega - 1) U'). Two things make this a slight under-estimate:
    lost eigenvalues enter as if they were zero, and ``W W'`` stands for
    ``K diag(d)² K``, the sum over all eigenvectors, which would cost n^3 operations.
    What that leaves out is at most the share ``max (tau/2) / (f + tau/2)`` of F∘K.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Gram matrix.
    d : ndarray of shape (n,)
        Coefficients.
    f, U, Z, KZ : ndarrays of shapes (r,), (n, r), (n, r) and (n, r)
        ``F = U diag(f) U' = Z Z'`` and ``K diag(d) Z``.
    eta, tau : float
        Weights of the problem.
    """

    def __init__(self, K, d, f, U, Z, KZ, eta, tau):
        scale, omega = 8 * eta, 2 * f / (f + tau / 2)
        W = KZ / np.sqrt(f)
        self.K, self.shape = K, K.shape
        self.left = np.hstack([Z, omega * U, omega * d[:, None] * W])
        self.right = np.hstack([Z, d[:, None] * W / scale, U / scale])
        self.diagonal = W**2 @ (omega / scale)
        kept, lost = (2 - omega) / scale, (1 - omega) / scale
        # Sums of (A B')∘(C D') over these.
        self._products = [(U, U, kept * W, W), (U, W, lost * W, U), (W, U, lost * U, W)]

    def __matmul__(self, v):
        result = np.einsum("ik,ik->i", self.left, self.K @ (self.right * v[:, None]))
        for A, B, C, D in self._products:
            result += np.einsum("ik,ik->i", A @ ((v[:, None] * B).T @ D), C)
        return result + self.diagonal * v

    def block(self, rows):
        """The rows and columns ``rows``, as an array of its own."""
        H = np.empty((len(rows), len(rows)))
        for block in row_blocks(len(rows), 24 * len(rows), TEMPORARY):
            part = rows[block]
            H[block] = self.K[part][:, rows]
            H[block] *= self.left[part] @ self.right[rows].T
            for A, B, C, D in self._products:
                H[block] += (A[part] @ B[rows].T) * (C[part] @ D[rows].T)
        H[np.diag_indices(len(rows))] += self.diagonal[rows]
        return H

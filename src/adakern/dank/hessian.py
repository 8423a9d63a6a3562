"""Second derivatives of DANK's concave function h, by products and by blocks.

A product costs a few products with K, a block only the rows and columns asked for: the
quadratic programs of Newton's method need no more, and no second n x n matrix is kept
where n is large.
"""

import numpy as np

from adakern.kernels import row_blocks

__all__ = ["LearnedKernel", "StoredHessian", "ThresholdedHessian"]

#: Largest share of the rows whose block is kept: a third of the memory of K.
KEPT_SHARE = 0.6

#: Bytes of a temporary matrix.
TEMPORARY = 2**24


class StoredHessian:
    """A symmetric matrix of shape (n, n) that is stored."""

    def __init__(self, H):
        self.H, self.shape = H, H.shape

    def __matmul__(self, v):
        return self.H @ v

    def block(self, rows):
        """The rows and columns ``rows``, as an array of its own."""
        return self.H[np.ix_(rows, rows)]


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
    of F above zero, their eigenvectors u_k and w_k = K (d∘u_k) it is

        K∘(L R') + (K diag(d)² K)∘(A U') + diag(g) - sum over k <= l of e_kl p_kl p_kl'

    with p_kl = w_k∘u_l + u_k∘w_l; the last term takes back what the first ones counted
    twice for pairs of kept eigenvectors. Eigenvalues below the threshold enter as if
    they were zero, which makes this a slight under-estimate.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    d : ndarray of shape (n,)
    f, U, Z, KZ : ndarrays of shapes (r,), (n, r), (n, r) and (n, r)
        ``F = U diag(f) U' = Z Z'`` and ``K diag(d) Z``.
    eta, tau : float
    """

    def __init__(self, K, d, f, U, Z, KZ, eta, tau):
        scale = 8 * eta
        W = KZ / np.sqrt(f)
        weight = 2 * f / (f + tau / 2)
        self.K, self.d, self.U, self.W, self.shape = K, d, U, W, K.shape
        self.left = np.hstack([Z, weight * U, weight * d[:, None] * W])
        self.right = np.hstack([Z, d[:, None] * W / scale, U / scale])
        self.A = weight / scale * U
        self.diagonal = W**2 @ (weight / scale)
        self._support = np.flatnonzero(d)
        self._size = np.abs(d[self._support])
        self.excess = (weight[:, None] + weight - 2) / scale
        self._kept_rows, self._kept = np.empty(0, dtype=np.intp), np.empty((0, 0))

    def __matmul__(self, v):
        K, U, W, v = self.K, self.U, self.W, v[:, None]
        inner = (self.d**2)[:, None] * (K @ (U * v))
        result = np.einsum("ik,ik->i", self.left, K @ (self.right * v))
        result += np.einsum("ik,ik->i", self.A, K @ inner)
        result += self.diagonal * v[:, 0]
        pairs = W.T @ (v * U)
        return result - np.einsum("ik,ik->i", W, U @ (self.excess * (pairs + pairs.T)))

    def block(self, rows):
        """The rows and columns ``rows``, as an array of its own.

        It is made from the last block while that is small beside K: from one active set
        to the next a few rows change.
        """
        new = np.setdiff1d(rows, self._kept_rows)
        grown = np.concatenate([self._kept_rows, new])
        if len(grown) > KEPT_SHARE * self.shape[0]:
            return self._square(rows)
        if len(new):
            kept, H = len(self._kept_rows), np.empty((len(grown), len(grown)))
            H[:kept, :kept] = self._kept
            H[:kept, kept:] = self._cross(self._kept_rows, new)
            H[kept:, :kept] = H[:kept, kept:].T
            H[kept:, kept:] = self._square(new)
            self._kept, self._kept_rows = H, grown
        where = np.empty(self.shape[0], dtype=np.intp)
        where[self._kept_rows] = np.arange(len(self._kept_rows))
        return self._kept[np.ix_(where[rows], where[rows])]

    def _square(self, rows):
        """The rows and columns ``rows``."""
        weighted = self.K[np.ix_(rows, self._support)] * self._size
        H = weighted @ weighted.T  # at half the cost of a product of two matrices
        self._complete(H, rows, rows)
        H[np.diag_indices(len(rows))] += self.diagonal[rows]
        return H

    def _cross(self, rows, columns):
        """Rows and other columns."""
        support = self._support
        weighted = self._size[:, None] ** 2 * self.K[np.ix_(support, columns)]
        H = np.empty((len(rows), len(columns)))
        for block in row_blocks(len(rows), 8 * len(support), TEMPORARY):
            H[block] = self.K[np.ix_(rows[block], support)] @ weighted
        self._complete(H, rows, columns)
        return H

    def _complete(self, H, rows, columns):
        """What is the block of ``K diag(d)² K`` becomes that of all but diag(g)."""
        for block in row_blocks(len(rows), 8 * len(columns), TEMPORARY):
            part = rows[block]
            H[block] *= self.A[part] @ self.U[columns].T
            factor = self.left[part] @ self.right[columns].T
            H[block] += self.K[np.ix_(part, columns)] * factor
        i, j = np.triu_indices(self.excess.shape[0])
        excess = self.excess[i, j] / (1 + (i == j))
        for block in row_blocks(len(i), 32 * (len(rows) + len(columns)), TEMPORARY):
            p, q = (
                self.W[part][:, i[block]] * self.U[part][:, j[block]]
                + self.U[part][:, i[block]] * self.W[part][:, j[block]]
                for part in (rows, columns)
            )
            H -= (excess[block] * p) @ q.T

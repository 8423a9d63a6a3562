"""Factored kernel matrices, with the products that the selection criteria need."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from adakern.linalg import inverse_square_root


class LowRankKernel:
    """``K = V V'`` of rank k much below l; everything by the Woodbury formula.

    One eigendecomposition ``V'V = Q S Q'`` serves every regularisation:
    ``(V V' + t I)^{-1} = (I - V Q (S + t I)^{-1} Q' V') / t``.
    """

    def __init__(self, V):
        self.V = V
        self._eigenvalues, self._Q = np.linalg.eigh(V.T @ V)

    @classmethod
    def from_columns(cls, C, chosen, weights=None, rank=None):
        """The Nyström approximation ``C D_k^+ C'`` of K from its columns ``chosen``."""
        if rank is None:
            return cls(C @ inverse_square_root(C[chosen]))
        W = np.ones(len(chosen)) if weights is None else weights
        return cls(C @ (W[:, None] * inverse_square_root(np.outer(W, W) * C[chosen], rank)))

    @classmethod
    def from_eigenpairs(cls, K, rank):
        """The best approximation of K of the given rank, from its top eigenpairs."""
        top = [max(0, len(K) - rank), len(K) - 1]
        values, vectors = eigh(K, subset_by_index=top, check_finite=False)
        return cls(vectors * np.sqrt(np.maximum(values, 0)))

    def solve(self, Y, shift):
        """``(K + shift I)^{-1} Y`` for Y of shape (l, q)."""
        inner = self._Q.T @ (self.V.T @ Y) / (self._eigenvalues + shift)[:, None]
        return (Y - self.V @ (self._Q @ inner)) / shift

    def inverse_diagonal(self, shift):
        """The diagonal of ``(K + shift I)^{-1}``, shape (l,)."""
        squares = (self.V @ self._Q) ** 2
        return (1 - squares @ (1 / (self._eigenvalues + shift))) / shift

    def multiply(self, Y):
        """``K Y`` for Y of shape (l, q)."""
        return self.V @ (self.V.T @ Y)

    def centred_norm(self):
        """Frobenius norm of ``H K H``, H the centring matrix."""
        centred = self.V - self.V.mean(axis=0)
        return np.linalg.norm(centred.T @ centred)


class DenseKernel:
    """K itself, the reference: Cholesky factorisations of order l."""

    def __init__(self, K):
        self.K = K

    def _factor(self, shift):
        regularised = self.K.copy(order="F")
        np.einsum("ii->i", regularised)[:] += shift
        return cho_factor(regularised, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, Y, shift):
        """``(K + shift I)^{-1} Y`` for Y of shape (l, q)."""
        return cho_solve(self._factor(shift), Y, check_finite=False)

    def inverse_diagonal(self, shift):
        """The diagonal of ``(K + shift I)^{-1}``, shape (l,)."""
        return np.diagonal(self.solve(np.eye(len(self.K)), shift))

    def multiply(self, Y):
        """``K Y`` for Y of shape (l, q)."""
        return self.K @ Y

    def centred_norm(self):
        """Frobenius norm of ``H K H``, H the centring matrix."""
        centred = self.K - self.K.mean(axis=0)
        return np.linalg.norm(centred - centred.mean(axis=1, keepdims=True))

"""Factored kernel matrices that answer what the selection criteria ask."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from adakern.linalg import inverse_square_root

__all__ = ["DenseKernel", "LowRankKernel"]


class LowRankKernel:
    """``K = V V'`` of rank k much below l; everything by the Woodbury formula.

    One eigendecomposition ``V'V = Q S Q'`` serves every regularisation:
    ``(V V' + t I)^{-1} = (I - V Q (S + t I)^{-1} Q' V') / t``.

    Parameters
    ----------
    V : ndarray of shape (l, k)

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.nystrom.factors import LowRankKernel
    >>> LowRankKernel(np.array([[1.0], [0.0]])).solve(np.ones((2, 1)), shift=1.0)
    array([[0.5],
           [1. ]])
    """

    def __init__(self, V):
        self.V = V
        self._eigenvalues, self._Q = np.linalg.eigh(V.T @ V)

    @classmethod
    def from_columns(cls, C, chosen, weights=None, rank=None):
        """The Nyström approximation ``C D_k^+ C'`` of K from its columns ``chosen``.

        Parameters
        ----------
        C : ndarray of shape (l, c)
            The chosen columns of K; ``D = C[chosen]``.
        chosen : ndarray of int of shape (c,)
        weights : ndarray of shape (c,), default=None
            The sampler's weights w. They matter only below full rank, where
            ``(C W) (W D W)_k^+ (C W)'`` keeps the k directions that count most for K
            (Drineas and Mahoney 2005); at full rank they cancel.
        rank : int, default=None
            k; None for the full pseudo-inverse of D.
        """
        if rank is None:
            return cls(C @ inverse_square_root(C[chosen]))
        W = np.ones(len(chosen)) if weights is None else weights
        return cls(
            C @ (W[:, None] * inverse_square_root(np.outer(W, W) * C[chosen], rank))
        )

    @classmethod
    def from_eigenpairs(cls, K, rank):
        """The best approximation of K of the given rank, from its top eigenpairs.

        Parameters
        ----------
        K : ndarray of shape (l, l)
            Symmetric positive semidefinite.
        rank : int
            Of the approximation; None for full rank.
        """
        top = [max(0, len(K) - rank), len(K) - 1]
        values, vectors = eigh(K, subset_by_index=top, check_finite=False)
        return cls(vectors * np.sqrt(np.maximum(values, 0)))

    def solve(self, Y, shift):
        """``(K + shift I)^{-1} Y`` for Y of shape (l, q).

        Parameters
        ----------
        Y : ndarray of shape (l, q)
            Targets, one column for each output.
        shift : float
            What is added to the diagonal, positive.
        """
        inner = self._Q.T @ (self.V.T @ Y) / (self._eigenvalues + shift)[:, None]
        return (Y - self.V @ (self._Q @ inner)) / shift

    def inverse_diagonal(self, shift):
        """The diagonal of ``(K + shift I)^{-1}``, shape (l,).

        Parameters
        ----------
        shift : float
            What is added to the diagonal, positive.
        """
        squares = (self.V @ self._Q) ** 2
        return (1 - squares @ (1 / (self._eigenvalues + shift))) / shift

    def multiply(self, Y):
        """``K Y`` for Y of shape (l, q).

        Parameters
        ----------
        Y : ndarray of shape (l, q)
            Targets, one column for each output.
        """
        return self.V @ (self.V.T @ Y)

    def centred_norm(self):
        """Frobenius norm of ``H K H``, H the centring matrix."""
        centred = self.V - self.V.mean(axis=0)
        return np.linalg.norm(centred.T @ centred)


class DenseKernel:
    """K itself, the reference: Cholesky factorisations of order l.

    Parameters
    ----------
    K : ndarray of shape (l, l)
        Symmetric positive semidefinite.
    """

    def __init__(self, K):
        self.K = K

    def _factor(self, shift):
        regularised = self.K.copy(order="F")
        np.einsum("ii->i", regularised)[:] += shift
        return cho_factor(regularised, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, Y, shift):
        """``(K + shift I)^{-1} Y`` for Y of shape (l, q).

        Parameters
        ----------
        Y : ndarray of shape (l, q)
            Targets, one column for each output.
        shift : float
            What is added to the diagonal, positive.
        """
        return cho_solve(self._factor(shift), Y, check_finite=False)

    def inverse_diagonal(self, shift):
        """The diagonal of ``(K + shift I)^{-1}``, shape (l,).

        Parameters
        ----------
        shift : float
            What is added to the diagonal, positive.
        """
        return np.diagonal(self.solve(np.eye(len(self.K)), shift))

    def multiply(self, Y):
        """``K Y`` for Y of shape (l, q).

        Parameters
        ----------
        Y : ndarray of shape (l, q)
            Targets, one column for each output.
        """
        return self.K @ Y

    def centred_norm(self):
        """Frobenius norm of ``H K H``, H the centring matrix."""
        centred = self.K - self.K.mean(axis=0)
        return np.linalg.norm(centred - centred.mean(axis=1, keepdims=True))

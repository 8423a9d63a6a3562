"""Kernel selection criteria, and (approximate) kernel matrices as their arguments.

A criterion is a function ``(kernel, Y, ridge)`` to be minimised. ``kernel`` is one of
the kernel matrices below, Y are targets of shape (l, q), and ``ridge`` is mu. It is
averaged over the columns of Y. In the formulas, ``A = K + mu l I``.
"""

import numpy as np
from scipy.linalg import solve

from adakern.linalg import (
    add_to_diagonal,
    inverse_square_root,
    largest_eigenpairs,
    left_out_residuals,
)


class LowRankKernel:
    """``K = V V'`` of rank k << l, by the Woodbury formula.

    With ``V'V = Q S Q'``, ``(V V' + t I)^{-1} = (I - V Q (S + t I)^{-1} Q' V') / t``.
    """

    def __init__(self, V):
        self.V = V
        self._eigenvalues, self._Q = np.linalg.eigh(V.T @ V)

    @classmethod
    def from_columns(cls, C, chosen, weights=None, rank=None):
        """Nyström approximation ``C D_k^+ C'`` of K from its columns ``chosen``."""
        W = np.ones(len(chosen)) if weights is None or rank is None else weights
        return cls(
            C @ (W[:, None] * inverse_square_root(np.outer(W, W) * C[chosen], rank))
        )

    @classmethod
    def from_eigenpairs(cls, K, rank):
        """Best approximation of K of the given rank, from its leading eigenpairs."""
        values, vectors = largest_eigenpairs(K, min(rank, len(K)))
        return cls(vectors * np.sqrt(np.maximum(values, 0)))

    def solve(self, Y, shift):
        """``(K + shift I)^{-1} Y`` for Y of shape (l, q)."""
        inner = self._Q.T @ (self.V.T @ Y) / (self._eigenvalues + shift)[:, None]
        return (Y - self.V @ (self._Q @ inner)) / shift

    def inverse_diagonal(self, shift):
        """The diagonal of ``(K + shift I)^{-1}``, shape (l,)."""
        squares = (self.V @ self._Q) ** 2
        return (1 - squares @ (1 / (self._eigenvalues + shift))) / shift


class DenseKernel:
    """K itself, with the interface of :class:`LowRankKernel`, in O(l^3)."""

    def __init__(self, K):
        self.K = K

    def solve(self, Y, shift):
        shifted = add_to_diagonal(self.K.copy(), np.full(len(self.K), shift))
        return solve(shifted, Y, assume_a="pos", overwrite_a=True, check_finite=False)

    def inverse_diagonal(self, shift):
        return np.diagonal(self.solve(np.eye(len(self.K)), shift))


def ridge_risk(kernel, Y, ridge):
    """``mu y' A^{-1} y``: the minimum of the regularised risk (Ding et al., eq. 1)."""
    return ridge * np.sum(Y * kernel.solve(Y, ridge * len(Y))) / Y.shape[1]


def leave_one_out(kernel, Y, ridge):
    """Mean squared leave-one-out error of kernel ridge regression."""
    shift = ridge * len(Y)
    dual = kernel.solve(Y, shift)
    diagonal = kernel.inverse_diagonal(shift)
    return np.mean(left_out_residuals(dual, diagonal) ** 2)


#: Criteria by the names used as parameters.
CRITERIA = {"ridge-risk": ridge_risk, "loo": leave_one_out}

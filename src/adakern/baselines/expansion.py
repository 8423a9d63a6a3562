"""Functions ``f(x) = sum_i dual_coef_i k(x, x_i) + intercept`` of a few training rows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from adakern._utils.blocks import by_row_blocks
from adakern._utils.validation import require_finite, validate_data
from adakern.kernels import KernelMixin

#: Matrices of a block of rows by the support that are in memory at a time, in bytes.
BYTES_PER_VALUE = 5 * 8


@dataclass
class KernelExpansion:
    """A fitted f, and how it was found; ``weights`` are those of a bank of kernels."""

    #: k(X, support_vectors); to pickle, so a method or a partial.
    kernel: Callable
    support: np.ndarray
    support_vectors: np.ndarray
    dual_coef: np.ndarray
    intercept: float
    weights: np.ndarray | None = None
    n_iter: int = 1
    objective: float | None = None
    duality_gap: float | None = None
    history: dict | None = None

    @classmethod
    def of(cls, kernel, X, d, intercept, **outcome):
        """Keep the rows of X whose coefficient in d is not zero."""
        support = np.flatnonzero(d)
        return cls(kernel, support, X[support], d[support], intercept, **outcome)

    def decision_function(self, X):
        """Values of f at new rows, shape (m,)."""
        return by_row_blocks(self._values, X, BYTES_PER_VALUE * len(self.support))

    def _values(self, X):
        return self.kernel(X, self.support_vectors) @ self.dual_coef + self.intercept


class KernelExpansionMixin(KernelMixin):
    """Prediction from ``support_vectors_``, ``dual_coef_`` and ``intercept_``."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predicted targets, in blocks of rows, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        return self._values(X)

    def _values(self, X):
        """f at the rows of X, of the shape of ``dual_coef_`` but for the rows."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        size = BYTES_PER_VALUE * len(self.support_vectors_)
        values = by_row_blocks(
            lambda rows: self._gram(rows, self.support_vectors_) @ self.dual_coef_, X, size
        )
        return require_finite(self, values + self.intercept_)

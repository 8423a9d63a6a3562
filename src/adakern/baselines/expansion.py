"""Functions sum_j alpha_j k(., x_j) + b: what Falkon and EigenPro fit."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from adakern._utils.blocks import row_blocks
from adakern._utils.validation import finite_answer, validate_data
from adakern.kernels import KernelMixin

__all__ = ["KernelExpansionMixin"]


class KernelExpansionMixin(KernelMixin):
    """Prediction from ``support_vectors_``, ``dual_coef_`` and ``intercept_``."""

    def predict(self, X):
        """Predict, in blocks of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        blocks = [
            self._gram(X[rows], self.support_vectors_) @ self.dual_coef_
            for rows in self._blocks(len(X))
        ]
        return finite_answer(self, np.concatenate(blocks) + self.intercept_)

    def _blocks(self, n):
        return row_blocks(n, 3 * 8 * len(self.support_))

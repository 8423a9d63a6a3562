"""Ridge regression of many rows on the kernel columns of a few support points.

The paper's coefficients interpolate the support points; here, with K of shape (n, S),
centred by its column means, they minimise |y - K a|^2 + ridge |a|^2. One
eigendecomposition of K'K gives them for every ridge, and the leave-one-out errors.
"""

import numpy as np
from array_api_compat import array_namespace

from adakern.linalg import left_out_residuals

#: Candidates of the ridge, for kernel values of at most 1 and a standardised target.
RIDGES = np.logspace(-6, 3, 19)


class RidgePath:
    """Coefficients for all candidates of the ridge.

    With weights w, they minimise ``sum w (y - K a)^2 + ridge |a|^2``, and a row is left
    out with all its copies.
    """

    def __init__(self, blocks, y, weights=None):
        self.xp = xp = array_namespace(y)
        self.blocks, self.y = blocks, y
        self.weights = xp.ones_like(y) if weights is None else weights
        #: Number of rows, or the sum of their weights.
        self.n = float(xp.sum(self.weights))
        self.y_mean = xp.sum(self.weights * y) / self.n
        sums = 0.0
        products = 0.0
        by_target = 0.0
        for rows, K in blocks():
            # BLAS rounds the product of an array with itself differently.
            weighted = K if weights is None else weights[rows][:, None] * K
            sums = sums + xp.sum(weighted, axis=0)
            products = products + weighted.T @ K
            by_target = by_target + weighted.T @ (y[rows] - self.y_mean)
        self.means = sums / self.n
        centred = products - sums[:, None] * self.means[None, :]
        values, self.vectors = xp.linalg.eigh(centred)
        self.values = xp.where(values > 0, values, xp.zeros_like(values))
        # K'(y - mean y) is the same for the centred K.
        self.rotated = self.vectors.T @ by_target

    def coefficients(self, ridge):
        """Coefficients of shape (S,) and the intercept, a float."""
        coef = self.vectors @ (self.rotated / (self.values + ridge))
        return coef, float(self.y_mean - self.means @ coef)

    def predictions(self, K, ridges=RIDGES):
        """Predictions (m, len(ridges)) from kernel columns K (m, S) of other rows."""
        projected = (K - self.means) @ self.vectors
        coef = self.rotated[:, None] * self._shrinkage(ridges)
        return projected @ coef + self.y_mean

    def leave_one_out(self, ridges=RIDGES):
        """Mean squared leave-one-out error of each candidate, as a NumPy array."""
        shrinkage = self._shrinkage(ridges)
        total = 0.0
        for rows, K in self.blocks():
            projected = (K - self.means) @ self.vectors
            fitted = projected @ (self.rotated[:, None] * shrinkage)
            leverage = (projected * projected) @ shrinkage + 1 / self.n
            weights = self.weights[rows][:, None]
            error = self.y[rows, None] - self.y_mean - fitted
            free = 1 - weights * leverage
            free = self.xp.where(free > 1e-10, free, 1e-10 * self.xp.ones_like(free))
            # Numerator and denominator share the factor ridge.
            squares = weights * left_out_residuals(error, free) ** 2
            total = total + self.xp.sum(squares, axis=0)
        return np.asarray([float(value) for value in total]) / self.n

    def _shrinkage(self, ridges):
        """1 / (eigenvalue + ridge), shape (S, len(ridges))."""
        ridges = [self.values + float(ridge) for ridge in ridges]
        return 1 / self.xp.stack(ridges, axis=1)

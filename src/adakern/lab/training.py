"""Scaled training data of one fit."""

from functools import partial

import numpy as np
from array_api_compat import array_namespace
from array_api_compat import device as device_of

from adakern._utils.arrays import as_index, as_numpy
from adakern._utils.resources import row_blocks
from adakern.lab.kernel import SquaredDistances, profile_values, unit_bandwidth
from adakern.lab.objective import InterpolationLoss

#: Precision of the training; linear systems are solved in double precision.
PRECISION = "float32"


class TrainingData:
    """Centred, optionally scaled features and standardised target of one fit.

    ``weights`` are the numbers of copies of the rows; None if all are 1.
    """

    def __init__(self, X, y, weights=None, *, standardize, profile, coef_penalty):
        self.xp = xp = array_namespace(X)
        self.original = X
        self.weights = weights
        double = xp.astype(X, xp.float64)
        shares = None
        if weights is not None:
            shares = self._as_array(weights / weights.sum(), xp.float64)
        self.centre, spread = _moments(double, shares)
        ones = xp.ones_like(spread)
        usable = xp.isfinite(spread) & (spread > 0)
        self.scale = xp.where(usable, spread, ones) if standardize else ones
        y = as_numpy(y)
        self.y_mean = float(np.average(y, weights=weights))
        self.y_scale = _spread(y, weights)
        #: Standardised target in NumPy, in double precision.
        self.target = (y - self.y_mean) / self.y_scale
        self.dtype = getattr(xp, PRECISION)
        self.X = self._scaled(X, self.dtype)
        self.y = self._as_array(self.target, self.dtype)
        self.profile = profile
        self.coef_penalty = coef_penalty
        spread = xp.std(self.X, axis=0) if weights is None else spread / self.scale
        self.unit_bandwidth = unit_bandwidth(spread)

    @property
    def shape(self):
        return self.X.shape

    def full(self, shape, value):
        """Constant array in the library and on the device of X, for bandwidths."""
        return self.xp.full(shape, value, dtype=self.dtype, device=device_of(self.X))

    def take(self, rows):
        """Features and targets of some rows."""
        rows = as_index(rows, self.X)
        return self.xp.take(self.X, rows, axis=0), self.xp.take(self.y, rows, axis=0)

    def loss(self, support, rows, alpha):
        """Loss of the bandwidths of ``support`` over ``rows``."""
        arrays = *self.take(support), *self.take(rows)
        return InterpolationLoss(
            *arrays,
            alpha=alpha,
            profile=self.profile,
            coef_penalty=self.coef_penalty,
            support_weights=self.take_weights(support),
            weights=self.take_weights(rows),
        )

    def take_weights(self, rows, dtype=None):
        """Weights of some rows, or None if all rows count once."""
        if self.weights is None:
            return None
        return self._as_array(self.weights[rows], dtype or self.dtype)

    def interpolant(self, support, theta, alpha):
        """Coefficients and intercept of the interpolant, in the original dtype of X."""
        dtype = self.original.dtype
        X = self._scaled(self.original_rows(support), dtype)
        y = self._as_array(self.target[support], dtype)
        weights = self.take_weights(support)
        weights = None if weights is None else self.xp.astype(weights, dtype)
        loss = InterpolationLoss(
            X, y, X, y, alpha=alpha, profile=self.profile, support_weights=weights
        )
        return loss.coefficients(theta), float(loss.bias)

    def regression(self, support, theta, rows):
        """Kernel columns, target and weights of some rows, for RidgePath."""
        double = self.xp.float64
        target = self._as_array(self.target[rows], double)
        blocks = partial(self.kernel_blocks, support, theta, rows)
        return blocks, target, self.take_weights(rows, double)

    def kernel_blocks(self, support, theta, rows):
        """Slices of ``rows`` with their kernel values, in double precision."""
        double = self.xp.float64
        X_support = self._scaled(self.original_rows(support), double)
        distances = SquaredDistances(X_support)
        theta = self.xp.astype(theta, double)
        for block in row_blocks(len(rows), 5 * 8 * len(support)):
            T = self._scaled(self.original_rows(rows[block]), double)
            yield block, profile_values(distances(T, theta), self.profile)

    def original_rows(self, rows):
        """Rows in their original scale."""
        return self.xp.take(self.original, as_index(rows, self.X), axis=0)

    def _scaled(self, X, dtype):
        xp = self.xp
        return xp.astype((xp.astype(X, xp.float64) - self.centre) / self.scale, dtype)

    def _as_array(self, values, dtype):
        return self.xp.asarray(values, dtype=dtype, device=device_of(self.original))


def _moments(X, shares):
    """Means and standard deviations of the columns; ``shares`` of the rows sum to 1."""
    xp = array_namespace(X)
    if shares is None:
        mean = xp.mean(X, axis=0)
        return mean, xp.std(X - mean, axis=0)
    mean = shares @ X
    return mean, xp.sqrt(shares @ (X - mean) ** 2)


def _spread(y, weights):
    """Standard deviation; 1 for a constant target."""
    largest = np.abs(y).max() or 1.0
    y = y / largest
    if weights is None:
        scale = largest * y.std()
    else:
        mean = np.average(y, weights=weights)
        scale = largest * np.average((y - mean) ** 2, weights=weights) ** 0.5
    return float(scale) if scale > 0 else 1.0

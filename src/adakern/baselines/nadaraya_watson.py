"""Nadaraya-Watson regression with local metrics from a Gaussian model of the data."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.covariance import ledoit_wolf
from sklearn.preprocessing import normalize

from adakern._utils.base import parameters
from adakern._utils.constraints import POSITIVE
from adakern._utils.resources import by_row_blocks, row_blocks
from adakern.baselines.base import BaselineRegressor
from adakern.kernels import squared_distances

#: Candidate squared bandwidths: the median squared distance times 2^4, ..., 2^-14.
LARGEST_POWER, N_BANDWIDTHS = 4, 19


@parameters
class MetricNadarayaWatson(BaselineRegressor):
    """Kernel-weighted mean of the targets in a metric that cancels the leading bias.

    To leading order in the bandwidth the bias at x is ``h^2 (grad p' A^-1 grad y / p +
    tr(A^-1 hess y) / 2)`` for the metric A. For jointly Gaussian x and y the Hessian
    vanishes, ``grad y`` is the linear regression vector b and ``grad p / p`` is ``a =
    -S^-1 (x - mean)``. The remaining term is zero for a metric that stretches along the
    gradients, up to a factor ::

        A(x) = a a' / |a|^2 + b b' / |b|^2,

    which is regularised by ``reg I`` and scaled to determinant 1.

    Parameters
    ----------
    reg : float, default=0.1
        Weight of the identity in A, positive; large values approach the Euclidean
        metric.

    Attributes
    ----------
    bandwidth_ : float
        h of ``exp(-D^2 / (2 h^2))`` with the lowest leave-one-out error on a grid.
    loo_errors_ : dict
        Mean squared leave-one-out error of every candidate bandwidth.
    mean_, slope_ : ndarray of shape (d,)
        Mean of x and the regression vector b of the Gaussian model.
    precision_ : ndarray of shape (d, d)
        Inverse covariance (Ledoit-Wolf) of the Gaussian model.
    X_ : ndarray of shape (n, d)
        Training rows.
    y_ : ndarray of shape (n,)
        Their targets.

    References
    ----------
    Noh, Sugiyama, Kim, Park and Lee, Generative local metric learning for kernel
    regression, NIPS 2017.
    """

    _: KW_ONLY
    reg: float = 0.1

    _parameter_constraints = {"reg": POSITIVE}

    def _fit(self, X, y):
        self.X_ = X
        self.y_ = y.astype(np.float64)
        self.mean_ = X.mean(axis=0)
        covariance = ledoit_wolf(X)[0]
        # A constant feature has no variance to invert, and no gradient.
        floor = 1e-12 * (covariance.diagonal().max() or 1.0)
        self.precision_ = np.linalg.pinv(covariance + floor * np.eye(X.shape[1]))
        self.slope_ = self.precision_ @ ((X - self.mean_).T @ (y - y.mean())) / len(y)
        self._choose_bandwidth()

    def _values(self, X):
        return by_row_blocks(self._weighted_means, X, 4 * 8 * len(self.X_))

    def _weighted_means(self, X):
        D = self._distances(X)
        # The nearest row has weight 1 for every bandwidth.
        D -= D.min(axis=1, keepdims=True)
        weights = np.exp(-D / (2 * self.bandwidth_**2))
        return weights @ self.y_ / weights.sum(axis=1)

    def _distances(self, X):
        """Squared distances to the training rows, in the metric of each row."""
        D = self.reg * squared_distances(X, self.X_)
        # Unit vectors along grad p and grad y at every row, zero where they vanish.
        density = normalize(-(X - self.mean_) @ self.precision_)
        target = np.repeat(normalize(self.slope_[None, :]), len(X), axis=0)
        for direction in (density, target):
            projected = np.sum(direction * X, axis=1)
            D += (projected[:, None] - direction @ self.X_.T) ** 2
        return D / self._determinants(density, target)[:, None]

    def _determinants(self, density, target):
        """d-th roots of ``det(a a' + b b' + reg I)``, from the 2 x 2 Gram matrix."""
        aa = np.sum(density**2, axis=1)
        bb = np.sum(target**2, axis=1)
        ab = np.sum(density * target, axis=1)
        d = density.shape[1]
        planar = (aa + self.reg) * (bb + self.reg) - ab**2
        return np.exp((np.log(planar) + (d - 2) * np.log(self.reg)) / d)

    def _choose_bandwidth(self):
        """Choose by leave-one-out error; halving h^2 squares all kernel values."""
        n = len(self.X_)
        y = self.y_
        if n < 2:
            raise ValueError(f"n_samples={n} is too few to leave one row out")
        sample = self._distances(self.X_[:500])
        np.fill_diagonal(sample, np.nan)
        largest = (np.nanmedian(sample) or 1.0) * 2.0**LARGEST_POWER
        errors = np.zeros(N_BANDWIDTHS)
        for rows in row_blocks(n, 4 * 8 * n):
            D = self._distances(self.X_[rows])
            D[np.arange(len(D)), np.arange(n)[rows]] = np.inf
            D -= D.min(axis=1, keepdims=True)
            weights = np.exp(-D / (2 * largest))
            for k in range(N_BANDWIDTHS):
                fitted = weights @ y / weights.sum(axis=1)
                errors[k] += np.sum((y[rows] - fitted) ** 2)
                np.square(weights, out=weights)
        bandwidths = np.sqrt(largest / 2.0 ** np.arange(N_BANDWIDTHS))
        self.loo_errors_ = dict(zip(bandwidths.tolist(), errors / n, strict=True))
        self.bandwidth_ = float(bandwidths[errors.argmin()])

"""Where the training starts: one bandwidth for all, and the ridge."""

import numpy as np
from array_api_compat import array_namespace

from adakern._utils.arrays import as_numpy
from adakern.lab.kernel import local_distances, profile_values

__all__ = ["global_start"]

#: Candidates of the global bandwidth, relative to the unit one.
GLOBAL_BANDWIDTHS = 2.0 ** np.arange(-6, 6)

#: Candidates of the ridge; the first is the authors', which noisy targets need more of.
ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)


def global_start(loss, bandwidths, alphas):
    """Bandwidth and ridge whose interpolant has the least error on other rows."""
    best = np.inf, bandwidths[0], alphas[0]
    for bandwidth in bandwidths:
        errors = _errors(loss, float(bandwidth), alphas)
        k = int(np.argmin(errors))
        best = min(best, (errors[k], float(bandwidth), alphas[k]))
    return best[1:]


def _errors(loss, bandwidth, alphas):
    """Mean squared error of each ridge; inf where it is not a number."""
    xp = array_namespace(loss.X)
    X_support, target, X = (
        xp.astype(array, xp.float64) for array in (loss.X_support, loss.target, loss.X)
    )
    theta = xp.full_like(X_support[:1, :], bandwidth)
    distances = local_distances(X_support, loss.profile)
    D = distances(X_support, theta)
    K_ss = profile_values((D + D.T) / 2, loss.profile)
    values, vectors = xp.linalg.eigh(K_ss)
    rotated = vectors.T @ target
    coefs = [vectors @ (rotated / (values + alpha)) for alpha in alphas]
    errors = [0.0] * len(alphas)
    for rows in loss.blocks(X.shape[0]):
        K = profile_values(distances(X[rows, :], theta), loss.profile)
        y = xp.astype(loss.y[rows], xp.float64) - float(loss.bias)
        for k, coef in enumerate(coefs):
            errors[k] += float(xp.sum((K @ coef - y) ** 2)) / X.shape[0]
    return np.nan_to_num(as_numpy(errors), nan=np.inf)

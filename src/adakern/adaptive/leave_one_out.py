"""The leave-one-out error of kernel ridge regression, its gradient, its minimum."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.optimize import minimize

from adakern.kernels import gram_matrix

__all__ = ["LeaveOneOutError", "leave_one_out", "tune_scales"]

#: Ranges of the search, as factors of the median distance and of a kernel's diagonal.
SCALES = np.logspace(-3, 1, 9)
RIDGES = np.logspace(-6, 1.5, 11)
RIDGE_BOUNDS = (1e-7, 1e3)


def leave_one_out(K, Y, alpha, weights=None):
    """What kernel ridge regression predicts for each row without that row.

    In closed form, from one factorisation: with ``R = (W^½ K W^½ + alpha I)^-1`` the
    residual left out is ``(R W^½ Y)_i / R_ii``, divided by ``w_i^½``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite.
    Y : ndarray of shape (n, k)
        One regression a column, all with the same kernel.
    alpha : float
        Ridge, positive.
    weights : ndarray of shape (n,), default=None
        Positive weights of the rows; all 1 when None.

    Returns
    -------
    ndarray of shape (n, k)

    References
    ----------
    Allen. The relationship between variable selection and data augmentation and a
    method for prediction. Technometrics 16 (1974).

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.leave_one_out import leave_one_out
    >>> leave_one_out(np.ones((2, 2)), np.array([[1.0], [3.0]]), alpha=1.0)
    array([[1.5],
           [0.5]])
    """
    root = np.ones((len(K), 1)) if weights is None else np.sqrt(weights)[:, None]
    R = _inverse(root * K * root.T, alpha)
    return Y - (R @ (root * Y)) / np.diag(R)[:, None] / root


def _inverse(K, alpha):
    """(K + alpha I)^-1 by Cholesky; LinAlgError if rounding makes it indefinite."""
    A = np.array(K, order="F")
    A[np.diag_indices_from(A)] += alpha
    A, failed = dpotrf(A, lower=1, overwrite_a=1)
    if not failed:
        A, failed = dpotri(A, lower=1, overwrite_c=1)
    if failed:
        raise np.linalg.LinAlgError("kernel matrix plus ridge is not positive definite")
    A = np.tril(A)
    return A + np.tril(A, -1).T


class LeaveOneOutError:
    """Mean squared leave-one-out error as a function of scales and ridge.

    The kernel is ``exp(-sum_m s_m |t_m - x_m|)`` ("laplacian"),
    ``exp(-(sum_m s_m^2 (t_m - x_m)^2)^½)`` ("l2-laplacian") or
    ``exp(-sum_m s_m^2 (t_m - x_m)^2)`` ("rbf").

    Parameters
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, k)
        Centred.
    weights : ndarray of shape (n,)
    kernel : {"laplacian", "l2-laplacian", "rbf"}
    """

    def __init__(self, X, Y, weights, kernel):
        self.X, self.Y, self.kernel = X, Y, kernel
        self.weights, self.root = weights, np.sqrt(weights)[:, None]

    def __call__(self, scales, alpha):
        """The error and its gradient in log scales and log alpha.

        With ``r`` the residuals left out, ``dE = sum_jk M_jk dK_jk`` for
        ``M = 2/n (R diag(r²/R_ii) R - sym(R (r/R_ii) (R Y)'))``.

        Parameters
        ----------
        scales : ndarray of shape (d,)
        alpha : float

        Returns
        -------
        error : float
        gradient_scales : ndarray of shape (d,)
        gradient_alpha : float
        """
        Z = self.X * scales
        K = gram_matrix(Z, kernel=self.kernel, gamma=1.0)
        R = _inverse(self.root * K * self.root.T, alpha)
        dual, diagonal = R @ (self.root * self.Y), np.diag(R)[:, None]
        residuals = dual / diagonal
        total = self.weights.sum()
        error = np.sum(residuals**2) / total
        half = R * np.sqrt(np.sum(residuals**2 / diagonal, axis=1))
        outer = (R @ (residuals / diagonal)) @ dual.T
        M = (2 * half @ half.T - outer - outer.T) / total
        gradient_alpha = alpha * np.trace(M)
        M *= self.root * self.root.T
        M *= K
        return error, self._by_scale(M, K, Z), gradient_alpha

    def _by_scale(self, M, K, Z):
        """sum_jk (M o K)_jk d log K_jk / d log s_m, for each m."""
        if self.kernel == "laplacian":
            return -np.array([np.vdot(M, np.abs(z[:, None] - z[None, :])) for z in Z.T])
        if self.kernel == "l2-laplacian":
            distances = -np.log(np.maximum(K, 1e-300))
            # Where rows are equal all differences are 0: any factor but infinity.
            M = M / np.where(distances > 0, distances, 1.0)
            np.fill_diagonal(M, 0.0)
        # sum_jk M_jk (z_j - z_k)^2 = 2 (sum_j (M1)_j z_j^2 - z'Mz) for a symmetric M
        squares = 2 * (M.sum(axis=1) @ (Z * Z) - np.sum(Z * (M @ Z), axis=0))
        return -squares if self.kernel == "l2-laplacian" else -2 * squares


def tune_scales(
    X,
    Y,
    weights,
    kernel,
    rng,
    *,
    start=None,
    per_feature=False,
    penalty=1.0,
    max_iter=10,
):
    """Scales and ridge of least leave-one-out error.

    A grid on few rows finds the region for one scale of all features; quasi-Newton
    steps on 500 to 1,000 rows refine it. With ``per_feature`` they go on with a scale
    for each, on the log error plus ``penalty`` / n times the squared deviation of
    the log scales from their mean: without it, many scales fit small tables' noise.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, k)
        Centred.
    weights : ndarray of shape (n,)
    kernel : {"laplacian", "l2-laplacian", "rbf"}
    rng : numpy.random.RandomState
        Draws the rows.
    start : pair of scales and alpha, default=None
        What one scale of all features led to; found first when None.
    per_feature : bool, default=False
    penalty : float, default=1.0
    max_iter : int, default=10
        Quasi-Newton evaluations of each stage; three times as many per feature.

    Returns
    -------
    scales : ndarray of shape (d,)
    alpha : float

    References
    ----------
    Cawley and Talbot. Preventing over-fitting during model selection via Bayesian
    regularisation of the hyper-parameters. JMLR 8 (2007).
    """
    order = rng.permutation(len(X))
    some = order[: min(max(500, len(X) // 4), 1000)]
    error = LeaveOneOutError(X[some], Y[some], weights[some], kernel)
    if start is None:
        few = order[:200]
        start = _best_of_grid(X[few], Y[few], weights[few], kernel)
        start = _descend(error, *start, None, max_iter)
    if per_feature:
        start = _descend(error, *start, penalty, 3 * max_iter)
    return start


def _best_of_grid(X, Y, weights, kernel):
    """Equal scales and the ridge, from one eigendecomposition per scale."""
    root = np.sqrt(weights)[:, None]
    exponent = -np.log(
        np.maximum(gram_matrix(X / _reach(X), kernel=kernel, gamma=1.0), 1e-300)
    )
    typical = np.median(exponent) or 1.0
    best = (np.inf, 1.0, 1.0)
    for scale in SCALES:
        K = np.exp(-scale / typical * exponent)
        values, vectors = np.linalg.eigh(root * K * root.T)
        values, squares = np.maximum(values, 0), vectors**2
        targets = vectors.T @ (root * Y)
        for alpha in RIDGES:
            inverse = 1 / (values + alpha)
            dual = vectors @ (inverse[:, None] * targets)
            residuals = dual / (squares @ inverse)[:, None]
            error = np.sum(residuals**2)
            if error < best[0]:
                best = (error, scale / typical, alpha)
    factor = np.sqrt(best[1]) if kernel == "rbf" else best[1]
    return np.full(X.shape[1], factor / _reach(X)), best[2]


def _reach(X):
    """A length by which no exponent of a kernel on X underflows."""
    return max(1.0, np.abs(X - X.mean(axis=0)).sum(axis=1).mean() / 10)


def _descend(error, scales, alpha, penalty, max_iter):
    """Quasi-Newton steps on the log error; one common factor if no penalty is given."""
    d, tied = len(scales), penalty is None
    m = len(error.X)

    def objective(p):
        factors = np.exp(p[:-1])
        try:
            value, by_scale, by_alpha = error(scales * factors, np.exp(p[-1]))
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(p)
        if not (np.isfinite(value) and value > 0):
            return -1e10, np.zeros_like(p)
        by_scale = np.array([by_scale.sum()]) if tied else by_scale
        gradient = np.append(by_scale, by_alpha) / value
        value = np.log(value)
        if not tied:
            deviation = p[:-1] - p[:-1].mean()
            value += penalty / m * deviation @ deviation
            gradient[:-1] += 2 * penalty / m * deviation
        return value, gradient

    start = np.append(np.zeros(1 if tied else d), np.log(alpha))
    bounds = [(-3, 3) if tied else (-7, 4)] * (len(start) - 1)
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[*bounds, np.log(RIDGE_BOUNDS)],
        options={"maxfun": max_iter, "maxiter": max_iter},
    )
    return scales * np.exp(found.x[:-1]), float(np.exp(found.x[-1]))

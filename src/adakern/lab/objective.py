"""Loss of the bandwidths and its gradient, by matrix products alone.

For bandwidths theta (S, d) the coefficients solve the asymmetric kernel ridge
regression on the S support points, a = (K_ss + alpha I)^-1 (y_s - b), and the loss is
the mean squared error of f = K a + b on the other training data (LAB RBF, equation 9),
plus, optionally, a multiple of |a|^2.
"""

import numpy as np
from array_api_compat import array_namespace

from adakern._utils.resources import by_row_blocks, row_blocks
from adakern.lab.kernel import (
    SquaredDistances,
    profile_values,
    profile_values_and_slopes,
)
from adakern.lab.linear import solver


class InterpolationLoss:
    """Mean squared error of the interpolant of the support points, and its gradient."""

    def __init__(
        self,
        X_support,
        y_support,
        X,
        y,
        *,
        alpha,
        profile,
        coef_penalty=0.0,
        support_weights=None,
        weights=None,
    ):
        self.xp = array_namespace(X_support, y_support, X, y)
        self.X_support = X_support
        self.distances = SquaredDistances(X_support)
        self.bias = _mean(y_support, support_weights)
        self.weights = weights
        self.target = y_support - self.bias
        self.X = X
        self.y = y
        self.alpha = alpha
        self.profile = profile
        self.coef_penalty = coef_penalty
        like = {"dtype": X_support.dtype, "device": getattr(X_support, "device", None)}
        eye = self.xp.eye(X_support.shape[0], **like)
        # A support point that represents w equal rows has the ridge alpha / w.
        self.ridge = alpha * eye
        if support_weights is not None:
            self.ridge = self.ridge / support_weights
        self.off_diagonal = 1 - eye
        # About five matrices of shape (block, S) exist at the same time.
        self.row_bytes = 5 * 8 * X_support.shape[0]

    @property
    def n_rows(self):
        return self.y.shape[0]

    def coefficients(self, theta):
        """a = (K_ss + alpha I)^-1 (y_s - b), shape (S,)."""
        return self._interpolate(theta)[1]

    def predict(self, theta, T=None):
        """f = K a + b at the rows of T (by default those of the loss), in blocks."""
        T = self.X if T is None else T
        coef = self.coefficients(theta)

        def predict(rows):
            return profile_values(self.distances(rows, theta), self.profile) @ coef

        return by_row_blocks(predict, T, self.row_bytes) + self.bias

    def value(self, theta, X=None, y=None, weights=None):
        """Mean squared error at the bandwidths theta; inf if K_ss is singular."""
        y, weights = (self.y, self.weights) if y is None else (y, weights)
        return _finite(_mean((self.predict(theta, X) - y) ** 2, weights))

    def value_and_gradient(self, theta, rows=None):
        """Loss, with its penalty ``mu |a|^2``, and the gradient with respect to theta.

        With r = 2 (f - y) / n, u = (K_ss + alpha I)^-T (K' r + 2 mu a) and P = [r a';
        -u a'] * dK/dD over the stacked rows [X; X_s], the gradient is that of sum over
        i, j of P_ij D_ij.
        """
        xp = self.xp
        X = self.X
        y = self.y
        weights = self.weights
        if rows is not None:
            X, y = xp.take(X, rows, axis=0), xp.take(y, rows, axis=0)
            weights = None if weights is None else xp.take(weights, rows)
        n = y.shape[0] if weights is None else float(xp.sum(weights))
        solve, coef, slopes_support = self._interpolate(theta)
        loss = 0.0
        Kr = 0.0
        gradient = 0.0
        for block in row_blocks(y.shape[0], self.row_bytes):
            T = X[block, :]
            K, P = profile_values_and_slopes(self.distances(T, theta), self.profile)
            residual = K @ coef + self.bias - y[block]
            weighted = residual if weights is None else weights[block] * residual
            loss += float(residual @ weighted) / n
            residual = weighted * (2 / n)
            Kr = Kr + K.T @ residual
            P *= residual[:, None]
            gradient = gradient + self.distances.gradient(T, theta, P)
        loss += self.coef_penalty * float(coef @ coef)
        by_coef = Kr + 2 * self.coef_penalty * coef
        P = -solve(by_coef, transposed=True)[:, None] * slopes_support
        gradient = gradient + self.distances.gradient(self.X_support, theta, P)
        gradient = coef[:, None] * gradient
        if theta.shape[0] == 1:
            gradient = xp.sum(gradient, axis=0, keepdims=True)
        return _finite(loss), gradient

    def _interpolate(self, theta):
        """Solver of K_ss + alpha I, the coefficients and the slopes of K_ss."""
        D = self.distances(self.X_support, theta) * self.off_diagonal
        K, slopes = profile_values_and_slopes(D, self.profile)
        solve = solver(K + self.ridge)
        return solve, solve(self.target), slopes


def _mean(values, weights):
    """Mean of the values, weighted if weights are given."""
    xp = array_namespace(values)
    if weights is None:
        return xp.mean(values)
    return xp.sum(weights * values) / xp.sum(weights)


def _finite(value):
    value = float(value)
    return value if np.isfinite(value) else float("inf")

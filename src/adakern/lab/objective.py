"""The loss of the bandwidths and its gradient, by matrix products alone.

For bandwidths theta (S, d) the coefficients solve the asymmetric kernel ridge
regression on the S support data, a = (K_ss + alpha I)^-1 (y_s - b), and the loss is the
mean squared error of f = K a + b on the other training data (equation 9 of the paper).
A multiple of |a|^2 may be added: the kernel is at most 1, so that f leaves b by no more
than the sum of |a_j|, and small coefficients keep it tame between and beyond the data.
"""

import numpy as np
from array_api_compat import array_namespace

from adakern.kernels import row_blocks
from adakern.lab.kernel import (
    local_squared_distances,
    profile_values,
    profile_values_and_slopes,
    with_squares,
)
from adakern.lab.linear import solver

__all__ = ["InterpolationLoss"]


class InterpolationLoss:
    """Mean squared error of the interpolant of the support data, and its gradient.

    Parameters
    ----------
    X_support, y_support : arrays of shapes (S, d) and (S,)
        Centred; the floating type of the computation is theirs.
    X, y : arrays of shapes (n, d) and (n,)
        Training data that the error is taken over.
    alpha : float
        Ridge.
    profile : {"gaussian", "laplacian"}
    coef_penalty : float, default=0.0
        Weight of |a|^2 in ``value_and_gradient``.
    """

    def __init__(self, X_support, y_support, X, y, *, alpha, profile, coef_penalty=0.0):
        self.xp = array_namespace(X_support, y_support, X, y)
        self.X_support = X_support
        self.support_squares = with_squares(X_support)
        self.bias = self.xp.mean(y_support)
        self.target = y_support - self.bias
        self.squares = with_squares(X)
        self.y = y
        self.alpha = alpha
        self.profile = profile
        self.coef_penalty = coef_penalty
        eye = self.xp.eye(
            X_support.shape[0],
            dtype=X_support.dtype,
            device=getattr(X_support, "device", None),
        )
        self.ridge = alpha * eye
        self.off_diagonal = 1 - eye

    @property
    def n_rows(self):
        return self.y.shape[0]

    @property
    def n_support(self):
        return self.target.shape[0]

    def coefficients(self, theta):
        """a = (K_ss + alpha I)^-1 (y_s - b), shape (S,)."""
        return self._interpolate(theta)[1]

    def predict(self, theta, squares, coef=None):
        """f = K a + b at the rows of ``squares = with_squares(T)``, in blocks."""
        coef = self.coefficients(theta) if coef is None else coef
        blocks = [
            profile_values(self._distances(squares[rows, :], theta), self.profile)
            @ coef
            for rows in self._blocks(squares.shape[0])
        ]
        return self.xp.concat(blocks) + self.bias

    def value(self, theta, squares=None, y=None):
        """Mean squared error at the bandwidths theta; inf where K_ss is singular."""
        squares = self.squares if squares is None else squares
        y = self.y if y is None else y
        return _finite(self.xp.mean((self.predict(theta, squares) - y) ** 2))

    def value_and_gradient(self, theta, rows=None):
        """Loss, with its penalty mu |a|^2, and the gradient with respect to theta.

        With r = 2 (f - y) / n, u = (K_ss + alpha I)^-T (K' r + 2 mu a) and
        P = [r a'; -u a'] * dK/dD over the stacked rows T = [X; X_s], the gradient with
        respect to W = theta^2 is P'(T*T) - 2 X_s * (P'T) + (X_s*X_s) colsum(P).

        Parameters
        ----------
        theta : array of shape (S, d), or (1, d) for bandwidths shared by all data
        rows : integer array, default=None
            Training rows of a mini-batch; all rows when None.

        Returns
        -------
        float, array of the shape of theta
            The loss is inf where K_ss + alpha I is singular.
        """
        xp = self.xp
        squares, y = self.squares, self.y
        if rows is not None:
            squares, y = xp.take(squares, rows, axis=0), xp.take(y, rows, axis=0)
        n = y.shape[0]
        solve, coef, slopes_support = self._interpolate(theta)
        loss, Kr, PT, column_sums = 0.0, 0.0, 0.0, 0.0
        for block in self._blocks(n):
            T2 = squares[block, :]
            K, P = profile_values_and_slopes(self._distances(T2, theta), self.profile)
            residual = K @ coef + self.bias - y[block]
            loss += float(residual @ residual) / n
            residual = residual * (2 / n)
            Kr = Kr + K.T @ residual
            P *= residual[:, None]
            PT = PT + P.T @ T2
            column_sums = column_sums + xp.sum(P, axis=0)
        loss += self.coef_penalty * float(coef @ coef)
        by_coef = Kr + 2 * self.coef_penalty * coef
        P = -solve(by_coef, transposed=True)[:, None] * slopes_support
        PT = PT + P.T @ self.support_squares
        column_sums = column_sums + xp.sum(P, axis=0)

        d, X_s = theta.shape[1], self.X_support
        gradient = PT[:, :d] + X_s * (X_s * column_sums[:, None] - 2 * PT[:, d:])
        gradient = 2 * theta * (coef[:, None] * gradient)
        if theta.shape[0] == 1:
            gradient = xp.sum(gradient, axis=0, keepdims=True)
        return _finite(loss), gradient

    def _interpolate(self, theta):
        """Solver of K_ss + alpha I, the coefficients and the slopes of K_ss."""
        D = self._distances(self.support_squares, theta) * self.off_diagonal
        K, slopes = profile_values_and_slopes(D, self.profile)
        solve = solver(K + self.ridge)
        return solve, solve(self.target), slopes

    def _distances(self, squares, theta):
        return local_squared_distances(squares, self.X_support, theta * theta)

    def _blocks(self, n):
        # About five matrices of one block by S live at the same time.
        return row_blocks(n, 5 * 8 * self.X_support.shape[0])


def _finite(value):
    value = float(value)
    return value if np.isfinite(value) else float("inf")

"""Kernel ridge regression with a kernel that need not be symmetric."""

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import require_finite, validate_data
from adakern._utils.base import parameters
from adakern._utils.constraints import NOT_NEGATIVE
from adakern._utils.resources import one_blas_thread
from adakern.kernels import KernelMixin
from adakern.lab.linear import solver


@parameters
class AsymmetricKernelRidge(
    KernelMixin, MultiOutputMixin, RegressorMixin, BaseEstimator
):
    """Kernel ridge regression for kernels with K(x, t) != K(t, x).

    With two feature maps, K(x, t) = <phi(x), psi(t)>, the problem

        min over w, v:  alpha w'v + (phi(X)'w - y)'(psi(X)'v - y)

    has a stationary point whose two regressors are (LAB RBF, equation 6)

        f1(t) = phi(t)'w = K(t, X) (K(X, X) + alpha I)^-1 y        ("left"),
        f2(t) = psi(t)'v = K(X, t)' (K(X, X)' + alpha I)^-1 y      ("right").

    For a symmetric kernel, both are ordinary kernel ridge regression.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear", \
            "precomputed"} or callable, default="rbf"
        A callable takes two arrays of shapes (n, d) and (m, d) and returns the matrix
        K(x_i, t_j) of shape (n, m). With "precomputed", ``fit`` takes K(X, X) and
        ``predict`` a matrix of shape (n_test, n_train): K(T, X) for the left regressor,
        K(X, T)' for the right one.
    alpha : float, default=1.0
        Non-negative regularization strength, lambda in the paper. A ValueError is
        raised if the factorisation of K + alpha I meets a zero pivot.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient of the named kernels, see
        :func:`adakern.kernels.gram_matrix`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        Coefficients (K + alpha I)^-1 y of the left regressor. The beta of Theorem 3
        is alpha times these.
    right_dual_coef_ : ndarray of shape (n,) or (n, n_targets)
        Coefficients (K' + alpha I)^-1 y of the right regressor. The alpha of Theorem 3
        is alpha times these.
    X_fit_ : ndarray of shape (n, d)
        Training data; K(X, X) if the kernel is precomputed.
    gamma_ : float
        Value of ``gamma`` used.

    References
    ----------
    "Enhancing kernel flexibility via learning asymmetric locally-adaptive kernels",
    Theorems 1, 3.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.lab import AsymmetricKernelRidge
    >>> def kernel(X, T):  # the width of the kernel depends on its second argument
    ...     return np.exp(-(1 + T.T**2) * (X - T.T) ** 2)
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = AsymmetricKernelRidge(kernel, alpha=1e-3).fit(X, X[:, 0] ** 2)
    >>> model.predict([[0.5]]).round(2), model.predict([[0.5]], side="right").round(2)
    (array([0.24]), array([0.24]))
    """

    kernel: str | Callable = "rbf"
    alpha: float = 1.0
    gamma: float | str = "scale"

    _takes_asymmetric_kernels = True
    _parameter_constraints = {
        **KernelMixin._kernel_constraints,
        "kernel": [*KernelMixin._kernel_constraints["kernel"], callable],
        "alpha": NOT_NEGATIVE,
    }

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit both regressors.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training data; K(X, X) of shape (n, n) if the kernel is precomputed.
        y : array-like of shape (n,) or (n, n_targets)
        """
        self._validate_params()
        X, y = validate_data(
            self,
            X,
            y,
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
        )
        self._resolve_kernel(X)
        A = np.array(self._kernel_matrix(X, X), dtype=X.dtype)
        A[np.diag_indices(len(A))] += self.alpha
        with one_blas_thread(len(A)):
            solve = solver(A)
            self.dual_coef_ = solve(y)
            self.right_dual_coef_ = solve(y, transposed=True)
        self.X_fit_ = X
        if not np.all(np.isfinite(self.dual_coef_)):
            raise ValueError(
                f"K + alpha I is singular at alpha={self.alpha!r}; use another alpha "
                "(an asymmetric kernel may have negative eigenvalues)"
            )
        return self

    def predict(self, X: ArrayLike, side: str = "left") -> np.ndarray:
        """Predict with one of the two regressors.

        Parameters
        ----------
        X : array-like of shape (n_test, d)
            New data, or the kernel matrix described at ``kernel``.
        side : {"left", "right"}, default="left"
            The regressor: f1 or f2.

        Returns
        -------
        ndarray of shape (n_test,) or (n_test, n_targets)
        """
        check_is_fitted(self)
        if side not in ("left", "right"):
            raise ValueError(f"side={side!r} is unknown; use 'left' or 'right'")
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        if side == "left":
            predicted = self._kernel_matrix(X, self.X_fit_) @ self.dual_coef_
        elif self.kernel == "precomputed":
            predicted = X @ self.right_dual_coef_
        else:
            predicted = self._kernel_matrix(self.X_fit_, X).T @ self.right_dual_coef_
        return require_finite(self, predicted)

    def _kernel_matrix(self, X, T):
        if not callable(self.kernel):
            return self._gram(X, T)
        K = np.asarray(self.kernel(X, T))
        shape = len(X), len(T)
        if K.shape != shape or K.dtype.kind not in "biuf" or not np.isfinite(K).all():
            raise ValueError(
                f"kernel={self.kernel!r} must return finite real numbers of the shape "
                f"{shape}, got the shape {K.shape} and dtype {K.dtype}"
            )
        return K

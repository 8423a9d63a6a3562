"""Falkon: Nyström kernel ridge regression by preconditioned conjugate gradients."""

from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, POSITIVE, constraints
from adakern._utils.resources import one_blas_thread, row_blocks
from adakern._utils.warn import warn_unconverged
from adakern.baselines.base import (
    BYTES_PER_VALUE,
    BaselineRegressor,
    KernelExpansionMixin,
)
from adakern.kernels import KERNELS


@parameters
class FalkonRegressor(KernelExpansionMixin, BaselineRegressor):
    """Kernel ridge regression with a random subset of the rows as centres.

    Minimises ``|K_nm c - y|^2 / n + alpha c'K_mm c`` over the coefficients c of m
    centres by conjugate gradients, preconditioned by the same problem on the centres.
    K_nm is never stored.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear"}, \
            default="rbf"
    gamma : {"scale", "auto"} or float, default="scale"
        See :func:`adakern.kernels.gram_matrix`.
    alpha : float, default=1e-6
        Ridge per row, positive.
    n_centers : int, default=100
        Number of centres m, drawn uniformly; all rows if there are fewer.
    max_iter : int, default=100
        Maximum number of conjugate gradient steps; a ConvergenceWarning is issued if
        ``tol`` is not reached.
    tol : float, default=1e-5
        Norm of the preconditioned residual, relative to the initial one, at which the
        steps stop; positive.
    random_state : int, RandomState instance or None, default=None
        Determines the centres.

    Attributes
    ----------
    support_ : ndarray of shape (m,)
        Row indices of the centres.
    support_vectors_ : ndarray of shape (m, d)
    dual_coef_ : ndarray of shape (m,)
    intercept_ : float
        Mean of y.
    n_iter_ : int
    gamma_ : float

    References
    ----------
    Rudi, Carratino, Rosasco. FALKON: An Optimal Large Scale Kernel Method. NIPS 2017.
    """

    kernel: str = "rbf"
    gamma: float | str = "scale"
    alpha: float = 1e-6
    n_centers: int = 100
    max_iter: int = 100
    tol: float = 1e-5
    random_state: Any = None

    _parameter_constraints = constraints(
        "gamma",
        "max_iter",
        "random_state",
        kernel=[StrOptions(set(KERNELS))],
        alpha=POSITIVE,
        n_centers=AT_LEAST_ONE,
        tol=POSITIVE,
    )

    def _fit(self, X, y):
        self._resolve_kernel(X)
        n = len(X)
        rng = check_random_state(self.random_state)
        m = min(self.n_centers, n)
        self.support_ = np.sort(rng.permutation(n)[:m])
        self.support_vectors_ = X[self.support_]
        self.intercept_ = y.mean()
        K_mm = self._gram(self.support_vectors_)
        # With K_mm = T'T and A'A = TT'/m + alpha I, the matrix B = T^-1 A^-1 makes
        # B'(K_mn K_nm / n + alpha K_mm) B close to the identity. Jitter: K_mm can be
        # singular, and "tl1" indefinite.
        T = _upper_cholesky(K_mm)
        A = cholesky(T @ T.T / m + self.alpha * np.eye(m))

        def precondition(v):
            return solve_triangular(T, solve_triangular(A, v))

        def precondition_transposed(v):
            return solve_triangular(A, solve_triangular(T, v, trans=1), trans=1)

        def operator(v):
            self._require_finite_step(v)
            c = precondition(v)
            product = self._normal_product(X, lambda rows, K: K @ c)
            return precondition_transposed(product / n + self.alpha * (K_mm @ c))

        residuals = y - self.intercept_
        product = self._normal_product(X, lambda rows, K: residuals[rows])
        right = precondition_transposed(product / n)
        normal = LinearOperator((m, m), matvec=operator, dtype=np.float64)
        steps = []
        with one_blas_thread(n):
            v, unfinished = cg(
                normal,
                right,
                rtol=self.tol,
                maxiter=self.max_iter,
                callback=steps.append,
            )
        self.n_iter_ = len(steps)
        if unfinished:
            gap = np.linalg.norm(right - operator(v)) / np.linalg.norm(right)
            warn_unconverged(
                self, f"a relative residual of {gap:.1e} (a larger alpha helps)"
            )
        self.dual_coef_ = precondition(v)

    def _require_finite_step(self, v):
        """Raise ValueError if a step of the conjugate gradients is not finite."""
        if not np.isfinite(v).all():
            raise ValueError(
                "the conjugate gradients of FalkonRegressor broke down: its centres "
                "are nearly equal in the kernel; standardise X, or increase gamma, "
                f"which is {self.gamma_:.3g}"
            )

    def _normal_product(self, X, weights):
        """K_mn w with w = weights(rows, K[rows]), by blocks."""
        total = np.zeros(len(self.support_))
        for rows in row_blocks(len(X), BYTES_PER_VALUE * len(self.support_)):
            K = self._gram(X[rows], self.support_vectors_)
            total += K.T @ weights(rows, K)
        return total


def _upper_cholesky(K):
    """Upper triangular T with T'T = K + jitter, for the smallest sufficient jitter."""
    jitter = np.finfo(K.dtype).eps * (np.trace(K) or 1.0)
    while True:
        try:
            return cholesky(K + jitter * np.eye(len(K)))
        except np.linalg.LinAlgError:
            jitter *= 10

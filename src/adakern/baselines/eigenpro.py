"""EigenPro: kernel interpolation by preconditioned stochastic gradient descent."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, constraints
from adakern._utils.resources import row_blocks
from adakern.baselines.base import BaselineRegressor, KernelExpansionMixin
from adakern.kernels import kernel_diagonal
from adakern.linalg import largest_eigenpairs

#: Number of rows on which the eigenvectors are computed.
N_SUBSAMPLE = 2000
#: Number of eigenvectors of the preconditioner, at most half of these rows.
N_COMPONENTS = 100


@parameters
class EigenProRegressor(KernelExpansionMixin, BaselineRegressor):
    """Kernel regression on all rows, trained by EigenPro iterations.

    Stochastic gradient descent in the reproducing kernel Hilbert space with a
    preconditioner that flattens the leading eigenvalues, estimated on a subsample. The
    batch size and the step follow from the remaining spectrum. The number of epochs
    acts as regularization. (With all training rows as centres, EigenPro 2 is
    EigenPro 3.)

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}, default="laplacian"
    gamma : {"scale", "auto"} or float, default="scale"
        See :func:`adakern.kernels.gram_matrix`.
    n_epochs : int, default=20
        Number of passes over the data.
    random_state : int, RandomState instance or None, default=None
        Determines the subsample and the batches.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n, d)
    support_ : ndarray of shape (n,)
    dual_coef_ : ndarray of shape (n,)
    intercept_ : float
        Mean of y.
    batch_size_ : int
    n_iter_ : int
        Number of batches processed.
    gamma_ : float

    References
    ----------
    Ma, Belkin. Kernel machines that adapt to GPUs for effective large batch training.
    MLSys 2019. Abedsoltan, Belkin, Pandit. Toward Large Kernel Models. ICML 2023.
    """

    kernel: str = "laplacian"
    gamma: float | str = "scale"
    n_epochs: int = 20
    random_state: Any = None

    _parameter_constraints = constraints(
        "gamma",
        "random_state",
        kernel=[StrOptions({"rbf", "laplacian"})],
        n_epochs=AT_LEAST_ONE,
    )

    def _fit(self, X, y):
        self._resolve_kernel(X)
        n = len(X)
        rng = check_random_state(self.random_state)
        subsample = np.sort(rng.permutation(n)[:N_SUBSAMPLE])
        V, top, rest, beta = self._preconditioner(X[subsample])
        # Batches larger than beta / rest save no further steps.
        self.batch_size_ = int(np.clip(beta / max(rest, 1e-12), 1, min(n, 2000)))
        step = 1 / (beta + (self.batch_size_ - 1) * rest)

        self.support_ = np.arange(n)
        self.support_vectors_ = X
        self.intercept_ = y.mean()
        self.n_iter_ = 0
        coef = np.zeros(n)
        for _epoch in range(self.n_epochs):
            order = rng.permutation(n)
            for batch in row_blocks(n, 1, budget=self.batch_size_):
                rows = order[batch]
                K = self._gram(X[rows], X)
                residual = K @ coef + self.intercept_ - y[rows]
                coef[rows] -= step * residual
                # Damp the part along the leading eigenfunctions.
                projections = V.T @ (K[:, subsample].T @ residual)
                coef[subsample] += step * (V @ (top * projections))
                self.n_iter_ += 1
        self.dual_coef_ = coef

    def _preconditioner(self, X):
        """Eigenvectors V of K(X, X), their weights, ``rest`` and ``beta``.

        The weight of eigenvector i is (1 - s_q / s_i) / s_i, ``rest`` is s_q / s and
        ``beta`` the largest k_P(x, x).
        """
        s = len(X)
        q = min(N_COMPONENTS, max(1, s // 2))
        eigenvalues, V = largest_eigenpairs(self._gram(X), q)
        # Components lost to rounding (equal rows) are left out.
        kept = eigenvalues > 1e-10 * eigenvalues[-1]
        eigenvalues, V = eigenvalues[kept], V[:, kept]
        damping = 1 - eigenvalues[0] / eigenvalues
        functions = (V * np.sqrt(eigenvalues)) ** 2
        beta = (kernel_diagonal(X, **self._kernel_params) - functions @ damping).max()
        return V, damping / eigenvalues, eigenvalues[0] / s, beta

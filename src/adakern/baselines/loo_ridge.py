"""Kernel ridge regression with scale and ridge chosen by leave-one-out error."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from adakern._utils.base import parameters
from adakern._utils.constraints import constraints
from adakern.baselines.base import (
    BaselineClassifier,
    BaselineRegressor,
    KernelExpansionMixin,
)
from adakern.kernels import (
    DECAYING_KERNELS,
    exponential_decay,
    require_gram_memory,
)
from adakern.linalg import leave_one_out, left_out_residuals, ridge_inverse

#: Candidate ridges; the kernels are 1 on the diagonal.
ALPHAS = np.geomspace(1e-7, 10.0, 17)

#: Maximum number of random training rows for the choice of scale and ridge.
SEARCH_ROWS = 1500

#: Candidate powers of two for gamma times the median distance.
POWERS = range(-8, 7)


@parameters
class _LOOKernelRidge(KernelExpansionMixin):
    """Base class of the regressor and the classifier."""

    kernel: str = "laplacian"
    _: KW_ONLY
    random_state: Any = None

    _parameter_constraints = constraints(
        "random_state", kernel=[StrOptions(set(DECAYING_KERNELS))]
    )

    def _fit(self, X, y):
        """Choose gamma and alpha and fit."""
        T = self._targets(y)
        n = len(X)
        rng = check_random_state(self.random_state)
        require_gram_memory(n, n)  # before the search, which needs less memory
        centre = T.mean(axis=0)
        T = T - centre
        rows = np.arange(n)
        if n > SEARCH_ROWS:
            rows = np.sort(rng.choice(n, SEARCH_ROWS, replace=False))
        D = DECAYING_KERNELS[self.kernel](X[rows])
        self.gamma_, self.alpha_ = _choose(D, T[rows])
        if n > SEARCH_ROWS:
            D = DECAYING_KERNELS[self.kernel](X)
        R = ridge_inverse(exponential_decay(D, self.gamma_), self.alpha_)
        dual = R @ T
        left_out = T - left_out_residuals(dual, R.diagonal()) + centre
        # A regression has a single target.
        k = 0 if is_regressor(self) else slice(None)
        self.support_vectors_ = X
        self.dual_coef_ = dual[:, k]
        self.intercept_ = centre[k]
        self.loo_prediction_ = left_out[:, k]


def _choose(D, T):
    """Return the (gamma, alpha) with the lowest leave-one-out error.

    The powers of gamma are searched locally.
    """
    off_diagonal = D[np.triu_indices_from(D, 1)]
    positive = off_diagonal[off_diagonal > 0]
    unit = 1.0 / np.median(positive) if len(positive) else 1.0
    errors = {}

    def error(power):
        if power not in errors:
            K = exponential_decay(D.copy(), unit * 2.0**power)
            squares = ((leave_one_out(K, T, ALPHAS) - T) ** 2).mean(axis=(1, 2))
            errors[power] = squares.min(), ALPHAS[squares.argmin()]
        return errors[power][0]

    best = min((-4, -1, 2), key=error)
    while True:
        near = [p for p in (best - 1, best, best + 1) if p in POWERS]
        if min(near, key=error) == best:
            return unit * 2.0**best, errors[best][1]
        best = min(near, key=error)


class LOOKernelRidgeRegressor(_LOOKernelRidge, BaselineRegressor):
    """Kernel ridge regression with scale and ridge chosen by leave-one-out error.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "l2-laplacian"}, default="laplacian"
        ``exp(-gamma |x-y|_2^2)``, ``exp(-gamma |x-y|_1)``, ``exp(-gamma |x-y|_2)``;
        features should be standardised.
    random_state : int, RandomState instance or None, default=None
        Determines the rows, at most 1,500, on which gamma and alpha are chosen.

    Attributes
    ----------
    gamma_, alpha_ : float
        Selected values; the ridge is added to the Gram matrix.
    support_vectors_ : ndarray of shape (n, d)
        Training rows.
    dual_coef_ : ndarray of shape (n,)
    intercept_ : float
        Mean of y.
    loo_prediction_ : ndarray of shape (n,)
        Leave-one-out predictions, with the mean of all rows as the intercept.
    """


class LOOKernelRidgeClassifier(_LOOKernelRidge, BaselineClassifier):
    """Kernel ridge classification with scale and ridge chosen by leave-one-out error.

    Each class has a target that is 1 for its rows and 0 for others; the class with the
    largest prediction is predicted.

    Parameters
    ----------
    kernel, random_state
        As in :class:`LOOKernelRidgeRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    gamma_, alpha_, support_vectors_ :
        As in :class:`LOOKernelRidgeRegressor`.
    dual_coef_ : ndarray of shape (n, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Fraction of each class.
    loo_prediction_ : ndarray of shape (n, n_classes)
        Leave-one-out scores, with the mean of all rows as the intercept.
    """

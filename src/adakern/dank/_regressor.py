"""DANK in epsilon support vector regression."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from adakern.dank.base import DANKMixin
from adakern.dual import regression_dual

__all__ = ["DANKRegressor"]


class DANKRegressor(DANKMixin, RegressorMixin, BaseEstimator):
    """Epsilon support vector regression with a data-adaptive nonparametric kernel."""

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own form of constraints
        **DANKMixin._parameter_constraints,
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        eta="svm",
        tau=0.01,
        extension="reciprocal",
        n_neighbors=1,
        strategy="exact",
        method="newton",
        n_clusters=None,
        fit_intercept=True,
        tol=1e-4,
        max_iter=2000,
        random_state=None,
        n_jobs=None,
    ):
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            eta=eta,
            tau=tau,
            extension=extension,
            n_neighbors=n_neighbors,
            strategy=strategy,
            method=method,
            n_clusters=n_clusters,
            fit_intercept=fit_intercept,
            tol=tol,
            max_iter=max_iter,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.epsilon = epsilon

    def fit(self, X, y):
        """Fit the regression; see the class for the parameters.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows; the (n, n) Gram matrix when ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Targets.

        Returns
        -------
        self
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], y_numeric=True)
        self._check_square(X)
        self._resolve_kernel(X)
        y = y.astype(np.float64)
        dual = regression_dual(y, self.C, self.epsilon, self.fit_intercept)
        self.machine_ = self._fit_machine(X, dual)
        self.support_ = np.flatnonzero(self.machine_.dual_coef)
        self.dual_coef_ = self.machine_.dual_coef[None, self.support_]
        self.intercept_ = np.array([self.machine_.intercept])
        self._publish([self.machine_])
        return self

    def predict(self, X):
        """Predicted targets of the rows of X, shape (n,)."""
        check_is_fitted(self, "machine_")
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        return self.machine_.decision_function(X)

"""Epsilon support vector regression with DANK."""

from dataclasses import KW_ONLY
from functools import partial
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import (
    as_index,
    as_numpy,
    distinct_rows,
    output_like,
    require_finite,
    validate_arrays,
)
from adakern._utils.base import parameters
from adakern._utils.constraints import NOT_NEGATIVE
from adakern.dank.base import (
    DANKEstimator,
    fit_model,
    fitted_attributes,
    training_rows,
)
from adakern.svm.dual import regression_dual
from adakern.svm.one_vs_one import rows_of


@parameters
class DANKRegressor(RegressorMixin, DANKEstimator):
    """Epsilon support vector regression with a data-adaptive nonparametric kernel.

    The Gram matrix K is replaced by F∘K, where the positive semidefinite F is learned
    with the model: the saddle point of ``y'd - epsilon |d|_1 - 1/2 d'(F∘K)d + eta ||F -
    11'||_F^2 + tau eta ||F||_*`` [1]_, solved to a certified duality gap. With an
    intercept, the constraint is 1'd = 0; y'd = 0 in the papers' problem 22 is a
    misprint.

    Parameters
    ----------
    C : float, default=1.0
        Positive regularization parameter: upper bound of the dual variables.
    kernel, gamma, eta, tau, extension, n_neighbors, strategy, method
        As in :class:`DANKClassifier`.
    n_clusters, fit_intercept, tol, max_iter, random_state, n_jobs
        As in :class:`DANKClassifier`.
    epsilon : float, default=0.1
        Non-negative half-width of the epsilon-insensitive tube, in units of y.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients d of the decision function.
    intercept_ : ndarray of shape (1,)
        Intercept of the decision function.
    gamma_, eta_, adaptive_factor_, factor_rows_, rank_, objective_, duality_gap_,
    n_iter_, converged_, history_, models_ :
        As in :class:`DANKClassifier`, with a single model.

    References
    ----------
    .. [1] Liu, F., Huang, X., Gong, C., Yang, J. and Li, L. Learning data-adaptive
       non-parametric kernels. Journal of Machine Learning Research 21, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.dank import DANKRegressor
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = DANKRegressor(C=10.0, epsilon=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    _: KW_ONLY
    epsilon: float = 0.1

    _parameter_constraints = {
        **DANKEstimator._parameter_constraints,
        "epsilon": NOT_NEGATIVE,
    }

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Training rows; the (n, n) Gram matrix when ``kernel="precomputed"``.
        y : array-like of shape (n,)
            Targets.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows, as in :class:`DANKClassifier`.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y, y_numeric=True)
        X = training_rows(self, X)
        rows, weights = distinct_rows(as_numpy(X), as_numpy(y), sample_weight)
        X, y = rows_of(self, X, rows), y[as_index(rows, y)]
        self._resolve_kernel(X, weights)
        dual = partial(
            regression_dual,
            C=self.C,
            epsilon=self.epsilon,
            fit_intercept=self.fit_intercept,
        )
        models = [fit_model(self, X, y, weights, dual)]
        vars(self).update(fitted_attributes(models, [rows]))
        return self

    def predict(self, X: ArrayLike) -> Any:
        """Predict targets, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
            New rows; if the kernel is precomputed, their kernel values with the
            training rows.
        """
        check_is_fitted(self, "models_")
        X = validate_arrays(self, X)
        columns = (
            as_numpy(X)[:, self.factor_rows_] if self.kernel == "precomputed" else X
        )
        predicted = self.models_[0].decision_function(columns)
        return output_like(require_finite(self, as_numpy(predicted)), X)

"""DANK in the support vector classifier."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from adakern.dank.base import DANKMixin
from adakern.dual import classification_dual
from adakern.multiclass import OneVsOneMixin

__all__ = ["DANKClassifier"]


class DANKClassifier(DANKMixin, OneVsOneMixin, BaseEstimator):
    """Support vector classifier with a data-adaptive nonparametric kernel."""

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's own form of constraints
        **DANKMixin._parameter_constraints,
        "decision_function_shape": [StrOptions({"ovr", "ovo"})],
    }

    def __init__(
        self,
        C=1.0,
        *,
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
        decision_function_shape="ovr",
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
        self.decision_function_shape = decision_function_shape

    def _prepare(self, X):
        self._resolve_kernel(X)

    def _fit_binary(self, X, y):
        dual = classification_dual(y, self.C, self.fit_intercept)
        return self._fit_machine(X, dual)

    def _collect(self):
        """Fitted attributes; one value for two classes, a list per pair for more."""
        machines, rows = self.machines_, self.pair_rows_
        coefficients = np.zeros((len(machines), 1 + max(part.max() for part in rows)))
        for k, machine in enumerate(machines):
            coefficients[k, rows[k]] = machine.dual_coef
        self.support_ = np.flatnonzero(coefficients.any(axis=0))
        self.dual_coef_ = coefficients[:, self.support_]
        self.intercept_ = np.array([machine.intercept for machine in machines])
        self._publish(machines)

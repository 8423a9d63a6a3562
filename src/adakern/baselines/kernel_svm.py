"""Support vector machines with every kernel of this library."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context, is_classifier
from sklearn.svm import SVC, SVR
from sklearn.utils.validation import check_is_fitted

from adakern._utils.base import Estimator
from adakern._utils.constraints import NOT_NEGATIVE, POSITIVE
from adakern._utils.validation import require_finite, validate_data
from adakern.kernels import KernelMixin
from adakern.svm.libsvm import fit_libsvm
from adakern.svm.predictions import predict_from_gram


class _KernelModel(KernelMixin, Estimator):
    """LIBSVM on the Gram matrix."""

    #: Read by :class:`adakern.model_selection.KernelSearchCV`.
    _takes_shared_gram_matrix = True

    _parameter_constraints = {"C": POSITIVE, **KernelMixin._kernel_constraints, "tol": POSITIVE}

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) if precomputed
        y : array-like of shape (n,)
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        self._resolve_kernel(X)
        self.model_ = fit_libsvm(self._model(), self._gram(X), y)
        self.support_, self.dual_coef_ = (self.model_.support_, self.model_.dual_coef_)
        self.intercept_, self.n_iter_ = self.model_.intercept_, self.model_.n_iter_
        self._X = None if self.kernel == "precomputed" else X
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict for the rows of X.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) if precomputed
        """
        K = self._against_training(X)
        predicted = predict_from_gram(self.model_, K)
        return predicted if is_classifier(self) else require_finite(self, predicted)

    def _against_training(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._gram(X, self._X)


class KernelSVC(ClassifierMixin, _KernelModel):
    """Support vector classifier with every kernel of this library.

    scikit-learn's ``SVC`` on the Gram matrix: it knows neither of the Laplacian
    kernels, which often beat the Gaussian one.

    Parameters
    ----------
    C : float, default=1.0
        Positive.
    kernel : {"rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear", \
            "precomputed"}, default="rbf"
        See :func:`adakern.kernels.gram_matrix`.
    gamma : {"scale", "auto"} or float, default="scale"
        Positive; "scale" is 1 / (d var(X)), "auto" 1 / d.
    tol : float, default=1e-3
        Largest violation of the optimality conditions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors.
    dual_coef_, intercept_, n_iter_ :
        As of ``SVC``.
    """

    def __init__(self, C=1.0, *, kernel="rbf", gamma="scale", tol=1e-3):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.tol = tol

    def _model(self):
        return SVC(kernel="precomputed", C=self.C, tol=self.tol)

    @property
    def classes_(self) -> np.ndarray:
        """Labels of the classes, sorted."""
        return self.model_.classes_

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Decision values, as ``SVC.decision_function`` gives them.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) if precomputed
        """
        K = self._against_training(X)
        return require_finite(self, self.model_.decision_function(K))


class KernelSVR(RegressorMixin, _KernelModel):
    """Support vector regression with every kernel of this library.

    Parameters
    ----------
    C : float, default=1.0
        Positive.
    epsilon : float, default=0.1
        Half the width of the tube, in units of y.
    kernel, gamma, tol
        As of :class:`KernelSVC`.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors.
    dual_coef_, intercept_, n_iter_ :
        As of ``SVR``.
    """

    _parameter_constraints = {**_KernelModel._parameter_constraints, "epsilon": NOT_NEGATIVE}

    def __init__(self, C=1.0, *, epsilon=0.1, kernel="rbf", gamma="scale", tol=1e-3):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.tol = tol

    def _model(self):
        return SVR(kernel="precomputed", C=self.C, epsilon=self.epsilon, tol=self.tol)

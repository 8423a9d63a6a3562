"""Support vector machines with every kernel of this library."""

from dataclasses import KW_ONLY

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import SVC, SVR

from adakern._utils.base import parameters
from adakern._utils.constraints import constraints
from adakern.baselines.base import BaselineClassifier, BaselineRegressor
from adakern.kernels import KernelMixin
from adakern.svm.libsvm import fit_libsvm, predict_from_gram


@parameters
class _KernelModel(KernelMixin):
    """LIBSVM on a Gram matrix."""

    C: float = 1.0
    _: KW_ONLY
    kernel: str = "rbf"
    gamma: float | str = "scale"

    #: Read by :class:`adakern.model_selection.KernelSearchCV`.
    _takes_shared_gram_matrix = True

    _parameter_constraints = constraints("C", **KernelMixin._kernel_constraints)

    def _fit(self, X, y):
        self._resolve_kernel(X)
        self.model_ = fit_libsvm(self._model(), self._gram(X), y)
        for name in ("classes_", "support_", "dual_coef_", "intercept_", "n_iter_"):
            if hasattr(self.model_, name):
                setattr(self, name, getattr(self.model_, name))
        self._X = None if self.kernel == "precomputed" else X

    def _predicted(self, X):
        return predict_from_gram(self.model_, self._gram(X, self._X))


class KernelSVC(_KernelModel, BaselineClassifier):
    """Support vector classifier with every kernel of this library.

    scikit-learn's ``SVC`` on the Gram matrix, since it has neither of the Laplacian
    kernels.

    Parameters
    ----------
    C : float, default=1.0
        Regularization parameter, positive.
    kernel : {"rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear", \
            "precomputed"}, default="rbf"
        See :func:`adakern.kernels.gram_matrix`.
    gamma : {"scale", "auto"} or float, default="scale"
        Positive; "scale" is 1 / (d var(X)), "auto" 1 / d.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_SV,)
        Indices of the support vectors.
    dual_coef_, intercept_, n_iter_ :
        As in ``SVC``.
    gamma_ : float
        Value of ``gamma`` used.
    model_ : SVC
        Model fitted to the Gram matrix.
    """

    def _model(self):
        return SVC(kernel="precomputed", C=self.C)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict classes, as ``SVC.predict``.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) if the kernel is precomputed

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._predicted(self._rows(X))

    def _values(self, X):
        return self.model_.decision_function(self._gram(X, self._X))


@parameters
class KernelSVR(_KernelModel, BaselineRegressor):
    """Support vector regression with every kernel of this library.

    Parameters
    ----------
    C : float, default=1.0
        Regularization parameter, positive.
    epsilon : float, default=0.1
        Half the width of the tube, in units of y.
    kernel, gamma
        As in :class:`KernelSVC`.

    Attributes
    ----------
    support_, dual_coef_, intercept_, n_iter_ :
        As in ``SVR``.
    gamma_ : float
        Value of ``gamma`` used.
    model_ : SVR
        Model fitted to the Gram matrix.
    """

    _: KW_ONLY
    epsilon: float = 0.1

    _parameter_constraints = _KernelModel._parameter_constraints | constraints(
        "epsilon"
    )

    def _model(self):
        return SVR(kernel="precomputed", C=self.C, epsilon=self.epsilon)

    _values = _KernelModel._predicted

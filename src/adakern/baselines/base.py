"""Base classes of the baselines, and the kernel expansions that most of them are."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, is_regressor
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import (
    as_numpy,
    encode_classes,
    require_finite,
    validate_arrays,
    validate_data,
)
from adakern._utils.base import ScoreClassifierMixin
from adakern._utils.resources import by_row_blocks
from adakern.kernels import KernelMixin
from adakern.svm.one_vs_one import (
    OneVsOneMixin,
    fit_pairs,
    one_or_list,
    support_rows,
)

#: Peak memory in bytes per kernel value of a block of rows.
BYTES_PER_VALUE = 5 * 8


class Baseline(BaseEstimator):
    """Base class; subclasses define ``_fit(X, y)``, which sets fitted attributes."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) if the kernel is precomputed
        y : array-like of shape (n,)
            Targets, or labels of two or more classes.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=is_regressor(self))
        self._fit(X, y)
        return self

    def _rows(self, X):
        """Validate X for prediction."""
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)


class BaselineRegressor(RegressorMixin, Baseline):
    """Base class of regressors: subclasses define ``_values(X)``, predictions."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) if the kernel is precomputed

        Returns
        -------
        ndarray of shape (m,)
        """
        return require_finite(self, self._values(self._rows(X)))

    def _targets(self, y):
        """Targets as a single column, for regressions."""
        return y[:, None].astype(float)


class StandardisedRegressor(BaselineRegressor):
    """Base class of regressors that are fitted to standardised targets.

    Subclasses define ``_outputs(X)`` of shape (m, 1).
    """

    def _targets(self, y):
        self._y_mean = y.mean()
        self._y_scale = y.std() or 1.0
        return (y[:, None] - self._y_mean) / self._y_scale

    def _values(self, X):
        return self._outputs(X)[:, 0] * self._y_scale + self._y_mean


class BaselineClassifier(ScoreClassifierMixin, Baseline):
    """Base class of classifiers: subclasses define ``_values(X)``, class scores."""

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) if the kernel is precomputed

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
            For two classes, positive for the second.
        """
        values = require_finite(self, self._values(self._rows(X)))
        return values[:, 1] - values[:, 0] if values.shape[1:] == (2,) else values

    def _targets(self, y):
        """Class indicators, one column per class, for regressions."""
        self.classes_, codes = encode_classes(self, y)
        return np.eye(len(self.classes_))[codes]


def expand(X, kernel, vectors, coef, intercept):
    """``kernel(X, vectors) coef + intercept``, by blocks."""
    size = BYTES_PER_VALUE * len(vectors)
    return by_row_blocks(lambda rows: kernel(rows, vectors) @ coef, X, size) + intercept


class KernelExpansionMixin(KernelMixin):
    """Values from ``support_vectors_``, ``dual_coef_`` and ``intercept_``."""

    def _values(self, X):
        return expand(
            X, self._gram, self.support_vectors_, self.dual_coef_, self.intercept_
        )


class KernelExpansion:
    """``f(x) = sum_i dual_coef_i kernel(x, x_i) + intercept``, picklable."""

    def __init__(self, kernel, X, d, intercept, **outcome):
        self.kernel = kernel
        self.intercept = intercept
        self.support = np.flatnonzero(d)
        self.support_vectors, self.dual_coef = X[self.support], d[self.support]
        vars(self).update({"n_iter": 1} | outcome)

    def decision_function(self, X):
        """Values of f at new rows."""
        return expand(
            as_numpy(X),
            self.kernel,
            self.support_vectors,
            self.dual_coef,
            self.intercept,
        )


def collect(estimator):
    """Sum objectives, gaps and iterations over the models, and list their weights."""
    models = estimator.models_
    for name in ("n_iter", "objective", "duality_gap"):
        if hasattr(models[0], name):
            total = sum(getattr(model, name) for model in models)
            setattr(estimator, f"{name}_", total)
    if hasattr(models[0], "weights"):
        estimator.kernel_weights_ = np.array(one_or_list(models, "weights"))


class OneVsOneBaseline(OneVsOneMixin, BaseEstimator):
    """Base class of classifiers with one binary model for each pair of classes.

    Subclasses define ``_resolve_kernel(X, weights)``, which sets parameters that depend
    on all rows, and ``_fit_model(X, y)`` for labels -1.0 and 1.0.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit one binary model for each pair of classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes.
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y)
        fit_pairs(
            self,
            as_numpy(X),
            y,
            np.arange(len(X)),
            None,
            lambda _, X, labels, weights: self._fit_model(X, labels),
        )
        self.support_ = support_rows(self.pair_rows_, self.models_)
        collect(self)
        return self

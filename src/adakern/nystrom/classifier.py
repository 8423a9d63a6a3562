"""Kernel ridge classification with the kernel that a Nyström criterion selects."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import encode_classes, require_finite, validate_data
from adakern._utils.base import ScoreClassifierMixin
from adakern.kernels import gram_matrix
from adakern.linalg import ridge_solution
from adakern.nystrom.columns import encode_targets
from adakern.nystrom.selector import NystromKernelSelector


class SelectedKernelRidgeClassifier(ScoreClassifierMixin, NystromKernelSelector):
    """Kernel ridge classification with a kernel selected by an approximate criterion.

    This is how Ding et al. use their Algorithm 1: :class:`NystromKernelSelector`
    selects the kernel, in O(l c^2) per candidate, and one-vs-rest kernel ridge
    regression on labels -1 and 1 is then fitted to all rows with it, in O(l^3).

    Parameters
    ----------
    kernel, param_grid, criterion, n_columns, step, rank, sampling, task, random_state
        As in :class:`NystromKernelSelector`.
    ridge : float, default=0.005
        mu of the criterion and of the regression (``alpha = mu l``), for candidates
        that do not specify it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    best_params_, best_score_, candidates_, criterion_, columns_,
    component_indices_, components_, normalization_
        As in :class:`NystromKernelSelector`.
    X_fit_ : ndarray of shape (l, d)
    dual_coef_ : ndarray of shape (l, 1) or (l, n_classes)
        Coefficients of the regressions with the best kernel.
    alpha_ : float
        Ridge of the regressions.
    record_ : dict
        ``criterion`` of every ``candidate_gamma`` (and other parameters),
        ``selected_gamma``.

    References
    ----------
    L. Ding et al., Approximate Kernel Selection with Strong Approximate Consistency,
    AAAI 2019.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from adakern.nystrom import SelectedKernelRidgeClassifier
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = SelectedKernelRidgeClassifier(random_state=0).fit(X, y)
    >>> model.record_["selected_gamma"], model.score(X, y)
    (2.0, 1.0)
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Select the kernel and fit the regressions with it.

        Parameters
        ----------
        X : array-like of shape (l, d)
        y : array-like of shape (l,)
        """
        super().fit(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, codes = encode_classes(self, y)
        targets = encode_targets(self, codes, "classification").values
        alpha = self.best_params_.get("ridge", self.ridge) * len(y)
        K = gram_matrix(X, **self._kernel)
        self.X_fit_ = X
        self.dual_coef_, self.alpha_ = ridge_solution(K, targets, alpha)
        names = sorted({name for candidate in self.candidates_ for name in candidate})
        tried = {
            f"candidate_{name}": [c.get(name) for c in self.candidates_]
            for name in names
        }
        selected = {
            f"selected_{name}": value for name, value in self.best_params_.items()
        }
        self.record_ = {"criterion": self.criterion_.tolist()} | tried | selected
        return self

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Decision values of new rows.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Regression values: those of the second class for two classes.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values = gram_matrix(X, self.X_fit_, **self._kernel) @ self.dual_coef_
        return require_finite(
            self, values.ravel() if len(self.classes_) == 2 else values
        )

"""Kernel ridge classification with the kernel that a Nyström criterion selects."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from adakern._utils.base import Estimator
from adakern._utils.validation import require_finite, validate_data
from adakern.nystrom.selector import NystromKernelSelector

SELECTOR_PARAMETERS = (
    "kernel",
    "param_grid",
    "criterion",
    "ridge",
    "n_columns",
    "step",
    "sampling",
    "random_state",
)


class SelectedKernelRidgeClassifier(ClassifierMixin, Estimator):
    """Choose a kernel by its approximate criterion, then train on all rows with it.

    How Ding et al. use their Algorithm 1: the Nyström approximations of
    :class:`NystromKernelSelector` choose among the candidate kernels, and a kernel
    ridge regression on the labels -1 and 1, one against the rest, is trained with the
    chosen kernel itself. Choosing costs O(l c^2) a candidate, training O(l^3) once.

    Parameters
    ----------
    kernel, param_grid, criterion, n_columns, step, sampling, random_state
        As in :class:`NystromKernelSelector`.
    ridge : float, default=0.005
        mu, of the criterion and, as ``alpha = mu l``, of the regression; a candidate
        with a ridge of its own is trained with that.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    selector_ : NystromKernelSelector
        Fitted, with the criterion of every candidate.
    regressor_ : sklearn.kernel_ridge.KernelRidge
        With the best kernel.
    record_ : dict
        What a benchmark keeps of a fit: ``criterion``, the values of every candidate
        parameter in the same order (``candidate_gamma``), and those selected
        (``selected_gamma``).

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

    _parameter_constraints = {
        name: NystromKernelSelector._parameter_constraints[name] for name in SELECTOR_PARAMETERS
    }

    def __init__(
        self,
        kernel: str = "rbf",
        param_grid: dict | list | None = None,
        *,
        criterion: str | Callable = "ridge-risk",
        ridge: float = 0.005,
        n_columns: float = 0.2,
        step: float = 0.1,
        sampling: str = "adaptive-criterion",
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.param_grid = param_grid
        self.criterion = criterion
        self.ridge = ridge
        self.n_columns = n_columns
        self.step = step
        self.sampling = sampling
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Select the kernel and train with it.

        Parameters
        ----------
        X : array-like of shape (l, d)
        y : array-like of shape (l,)
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        binarizer = LabelBinarizer(neg_label=-1)
        targets = binarizer.fit_transform(y).astype(np.float64)
        self.classes_ = binarizer.classes_
        parameters = {name: getattr(self, name) for name in SELECTOR_PARAMETERS}
        self.selector_ = NystromKernelSelector(**parameters, task="classification")
        best = dict(self.selector_.fit(X, y).best_params_)
        alpha = best.pop("ridge", self.ridge) * len(y)
        kernel = {"kernel": self.kernel} | best
        self.regressor_ = KernelRidge(alpha=alpha, **kernel).fit(X, targets)
        self.record_ = self._record()
        return self

    def _record(self):
        candidates = self.selector_.candidates_
        names = sorted({name for candidate in candidates for name in candidate})
        columns = {
            f"candidate_{name}": [candidate.get(name) for candidate in candidates] for name in names
        }
        selected = self.selector_.best_params_.items()
        return (
            {"criterion": self.selector_.criterion_.tolist()}
            | columns
            | {f"selected_{name}": value for name, value in selected}
        )

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Regression values: of the greater class, or a column for each of several.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
        """
        check_is_fitted(self, "regressor_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values = self.regressor_.predict(X)
        require_finite(self, values)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Class of the greatest regression value.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        values = self.decision_function(X)
        if values.ndim == 1:
            return self.classes_[(values > 0).astype(int)]
        return self.classes_[values.argmax(axis=1)]

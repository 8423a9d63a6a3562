"""A bank of kernels, and what estimators of multiple kernel learning share.

Every kernel of a bank is 1 on the diagonal (the polynomial ones by spherical
normalisation, as in Gonen 2012), so that the weights of different kernels compare.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from adakern._utils.base import Estimator
from adakern._utils.blocks import by_row_blocks
from adakern._utils.memory import require_memory
from adakern._utils.validation import require_finite, validate_data
from adakern.kernels import require_gram_memory, squared_distances
from adakern.svm.one_vs_one import OneVsOneMixin

#: gamma = 1/(2 sigma^2) for sigma = 2^-5, ..., 2^5: the papers' eleven Gaussian widths.
PAPER_GAMMAS = tuple(1 / (2 * 4.0**power) for power in range(-5, 6))


@dataclass(frozen=True)
class KernelBank:
    """Gaussian kernels of several widths and normalised polynomial kernels.

    Parameters
    ----------
    gammas : tuple of float
        Of ``exp(-gamma |x - y|^2)``, positive.
    degrees : tuple of int, default=()
        Of ``cos(x, y)^degree`` with ``cos = (x'y + 1) / sqrt((x'x + 1)(y'y + 1))``, the
        inhomogeneous polynomial kernel scaled to 1 on the diagonal; at least 1.
    """

    gammas: tuple
    degrees: tuple = ()

    def __post_init__(self):
        gammas = tuple(float(gamma) for gamma in self.gammas)
        degrees = tuple(self.degrees)
        if not gammas and not degrees:
            raise ValueError(
                "gammas and degrees are both empty; a kernel bank needs one kernel or more"
            )
        if not all(np.isfinite(gamma) and gamma > 0 for gamma in gammas):
            raise ValueError(f"gammas={gammas!r} must hold positive finite numbers only")
        if not all(degree == int(degree) and degree >= 1 for degree in degrees):
            raise ValueError(f"degrees={degrees!r} must hold integers from 1 only")
        object.__setattr__(self, "gammas", gammas)
        object.__setattr__(self, "degrees", tuple(int(degree) for degree in degrees))

    def __len__(self):
        return len(self.gammas) + len(self.degrees)

    def grams(self, X: np.ndarray, Y: np.ndarray | None = None) -> Iterator[np.ndarray]:
        """Yield the Gram matrices of X against Y one by one, Gaussian kernels first.

        Distances and inner products are computed once for all.

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array of shape (m, d), default=None
            The other rows; X itself when None.
        """
        if self.gammas:
            D = squared_distances(X, Y)
            for gamma in self.gammas:
                yield np.exp(-gamma * D)
            del D
        if self.degrees:
            cosines = _cosines(X, Y)
            for degree in self.degrees:
                yield cosines**degree

    def stack(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """All Gram matrices at once, shape (n_kernels, n, m).

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array of shape (m, d), default=None
            The other rows; X itself when None.
        """
        shape = (len(self), len(X), len(X if Y is None else Y))
        require_memory(
            8 * int(np.prod(shape)),
            f"the stack of {shape[0]} Gram matrices of {shape[1]} x {shape[2]}",
            "take fewer gammas and degrees, or use ClusterwiseClassifier",
        )
        grams = np.empty(shape)
        for slot, K in zip(grams, self.grams(X, Y), strict=True):
            slot[:] = K
        return grams

    def select(self, chosen: Any) -> "KernelBank":
        """The bank of the kernels at which the boolean array ``chosen`` is True.

        Parameters
        ----------
        chosen : ndarray of int
            Numbers of the kernels.
        """
        n_gaussian = len(self.gammas)
        return KernelBank(
            tuple(np.asarray(self.gammas)[chosen[:n_gaussian]]),
            tuple(np.asarray(self.degrees)[chosen[n_gaussian:]]),
        )

    def combine(
        self, X: np.ndarray, Y: np.ndarray | None = None, *, weights: np.ndarray
    ) -> np.ndarray:
        """The Gram matrix of the kernel ``sum_m weights_m k_m``, without the stack.

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array of shape (m, d), default=None
            The other rows; X itself when None.
        weights : ndarray
            Weight of each kernel, not negative.
        """
        weights = np.asarray(weights)
        chosen = weights != 0
        shape = (len(X), len(X if Y is None else Y))
        require_gram_memory(*shape)
        K = np.zeros(shape)
        if chosen.any():
            grams = self.select(chosen).grams(X, Y)
            for weight, gram in zip(weights[chosen], grams, strict=True):
                K += weight * gram
        return K


def _cosines(X, Y=None):
    Y = X if Y is None else Y
    lengths_x = np.sqrt((X * X).sum(axis=1) + 1)
    lengths_y = np.sqrt((Y * Y).sum(axis=1) + 1)
    return (X @ Y.T + 1) / lengths_x[:, None] / lengths_y[None, :]


@dataclass
class BankModel:
    """A fitted ``f(x) = sum_i dual_coef_i sum_m weights_m k_m(x, x_i) + intercept``."""

    bank: KernelBank
    weights: np.ndarray
    support: np.ndarray
    support_vectors: np.ndarray
    dual_coef: np.ndarray
    intercept: float
    n_iter: int = 1
    objective: float | None = None
    duality_gap: float | None = None
    history: dict | None = None

    @classmethod
    def expand(cls, bank, weights, X, d, intercept, **outcome):
        """Keep the rows of X whose coefficient in d is not zero."""
        support = np.flatnonzero(d)
        return cls(bank, weights, support, X[support], d[support], intercept, **outcome)

    def decision_function(self, X):
        """Decision values of new rows, shape (m,)."""
        # Distances, one kernel and the sum are in memory at a time.
        return by_row_blocks(self._decide, X, 3 * 8 * len(self.support))

    def _decide(self, X):
        K = self.bank.combine(X, self.support_vectors, weights=self.weights)
        return K @ self.dual_coef + self.intercept


class BankMixin:
    """The parameters ``gammas`` and ``degrees`` of an estimator, and what follows."""

    _bank_constraints = {"gammas": ["array-like", None], "degrees": ["array-like"]}

    def _prepare(self, X):
        gammas = PAPER_GAMMAS if self.gammas is None else tuple(self.gammas)
        self.bank_ = KernelBank(gammas, tuple(self.degrees))


class BankClassifier(BankMixin, OneVsOneMixin, Estimator, ABC):
    """Base of the classifiers on a bank: one ``BankModel`` per pair of classes."""

    @abstractmethod
    def _fit_binary(self, X, y):
        """The ``BankModel`` that separates y = -1 from y = +1."""

    def _collect(self):
        models = self.models_
        self.support_ = self._support_rows()
        self.n_iter_ = sum(model.n_iter for model in models)
        weights = np.array([model.weights for model in models])
        self.kernel_weights_ = weights[0] if len(models) == 1 else weights
        _collect_outcomes(self, models)


class BankRegressor(BankMixin, RegressorMixin, Estimator, ABC):
    """Base of the regressors on a bank."""

    @abstractmethod
    def _fit_function(self, X, y):
        """The ``BankModel`` that fits y."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the combined kernel and the regression function.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._prepare(X)
        self.model_ = self._fit_function(X, y)
        self.support_ = self.model_.support
        self.n_iter_ = self.model_.n_iter
        self.kernel_weights_ = self.model_.weights
        _collect_outcomes(self, [self.model_])
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The value of the regression function at each row of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        check_is_fitted(self, "model_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return require_finite(self, self.model_.decision_function(X))


def _collect_outcomes(estimator, models):
    """Sum objectives and gaps over the models, where the method has them."""
    for name in ("objective", "duality_gap"):
        values = [getattr(model, name) for model in models]
        if values[0] is not None:
            setattr(estimator, f"{name}_", float(sum(values)))

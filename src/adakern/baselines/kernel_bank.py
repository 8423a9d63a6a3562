"""A bank of kernels, and what estimators of multiple kernel learning share.

Every kernel of a bank is 1 on the diagonal (the polynomial ones by spherical
normalisation, as in Gonen 2012), so that the weights of different kernels compare.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from adakern._utils.base import Estimator
from adakern._utils.memory import require_memory
from adakern._utils.validation import require_finite, validate_data
from adakern.baselines.expansion import KernelExpansion
from adakern.kernels import require_gram_memory, squared_distances
from adakern.svm.one_vs_one import OneVsOneMixin

Rows = np.ndarray | None

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

    def grams(self, X: np.ndarray, Y: Rows = None, chosen: Any = None) -> Iterator[np.ndarray]:
        """Yield the Gram matrices of X against Y one by one, Gaussian kernels first.

        Distances and inner products are computed once for all.

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array of shape (m, d), default=None
            The other rows; X itself when None.
        chosen : ndarray of bool of shape (n_kernels,), default=None
            Which kernels; all when None.
        """
        chosen = np.ones(len(self), dtype=bool) if chosen is None else chosen
        gammas = np.compress(chosen[: len(self.gammas)], self.gammas)
        degrees = np.compress(chosen[len(self.gammas) :], self.degrees)
        if len(gammas):
            D = squared_distances(X, Y)
            for gamma in gammas:
                yield np.exp(-gamma * D)
            del D
        if len(degrees):
            cosines = _cosines(X, Y)
            for degree in degrees:
                yield cosines**degree

    def stack(self, X: np.ndarray, Y: Rows = None) -> np.ndarray:
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

    def combine(self, X: np.ndarray, Y: Rows = None, *, weights: np.ndarray) -> np.ndarray:
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
        for weight, gram in zip(weights[chosen], self.grams(X, Y, chosen), strict=True):
            K += weight * gram
        return K


def _cosines(X, Y=None):
    Y = X if Y is None else Y
    lengths_x, lengths_y = (np.sqrt((rows * rows).sum(axis=1) + 1) for rows in (X, Y))
    return (X @ Y.T + 1) / lengths_x[:, None] / lengths_y[None, :]


class BankMixin:
    """Estimators on a bank, with parameters ``gammas`` and ``degrees``.

    A subclass defines ``_fit_model(X, y)``; it gives the ``KernelExpansion`` that fits y,
    or separates y = -1 from y = +1.
    """

    _bank_constraints = {"gammas": ["array-like", None], "degrees": ["array-like"]}

    def _prepare(self, X):
        gammas = PAPER_GAMMAS if self.gammas is None else tuple(self.gammas)
        self.bank_ = KernelBank(gammas, tuple(self.degrees))

    def _expand(self, weights, X, d, intercept, **outcome):
        """The model with these weights of the kernels and coefficients of the rows."""
        kernel = partial(self.bank_.combine, weights=weights)
        return KernelExpansion.of(kernel, X, d, intercept, weights=weights, **outcome)

    def _collect(self):
        """Fitted attributes from ``models_``; objectives and gaps are sums over them."""
        models, self.support_ = self.models_, self._support_rows()
        self.n_iter_ = sum(model.n_iter for model in models)
        weights = np.array([model.weights for model in models])
        self.kernel_weights_ = weights[0] if len(models) == 1 else weights
        for name in ("objective", "duality_gap"):
            values = [getattr(model, name) for model in models]
            if values[0] is not None:
                setattr(self, f"{name}_", float(sum(values)))


class BankClassifier(OneVsOneMixin, Estimator):
    """The classifiers on a bank: one model for each pair of classes."""

    def _fit_binary(self, X, y):
        return self._fit_model(X, y)


class BankRegressor(RegressorMixin, Estimator):
    """The regressors on a bank."""

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
        self.models_ = [self._fit_model(X, y)]
        self._collect()
        return self

    def _support_rows(self):
        return self.models_[0].support

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The value of the regression function at each row of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return require_finite(self, self.models_[0].decision_function(X))

"""A bank of kernels that are 1 on the diagonal, so that weights are comparable."""

from collections.abc import Iterator
from dataclasses import KW_ONLY
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from adakern._utils.base import parameters
from adakern._utils.constraints import constraints
from adakern._utils.resources import require_memory
from adakern.baselines.base import BaselineRegressor, KernelExpansion, collect
from adakern.kernels import require_gram_memory, squared_distances
from adakern.linalg import add_to_diagonal
from adakern.svm.libsvm import svm_dual

Rows = np.ndarray | None

#: gamma = 1/(2 sigma^2) of the papers' eleven widths sigma = 2^-5, ..., 2^5.
PAPER_GAMMAS = tuple(1 / (2 * 4.0**power) for power in range(-5, 6))


class KernelBank:
    """Gaussian kernels of several widths and normalised polynomial kernels.

    Parameters
    ----------
    gammas : tuple of float
        Positive coefficients of ``exp(-gamma |x - y|^2)``.
    degrees : tuple of int, default=()
        Degrees, at least 1, of ``cos(x, y)^degree`` with ``cos = (x'y + 1) /
        sqrt((x'x + 1)(y'y + 1))``: the inhomogeneous polynomial kernel scaled to 1 on
        the diagonal.
    """

    def __init__(self, gammas: tuple, degrees: tuple = ()) -> None:
        try:
            self.gammas = tuple(float(gamma) for gamma in gammas)
            self.degrees = tuple(int(degree) for degree in degrees)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                f"gammas={gammas!r} and degrees={degrees!r} must contain only finite "
                f"numbers: {error}"
            ) from error
        if not len(self):
            raise ValueError(
                "gammas and degrees are both empty; a kernel bank needs at least one "
                "kernel"
            )
        if not all(0 < gamma < np.inf for gamma in self.gammas):
            raise ValueError(
                f"gammas={gammas!r} must contain only positive finite numbers"
            )
        if self.degrees != tuple(degrees) or min(self.degrees, default=1) < 1:
            raise ValueError(f"degrees={degrees!r} must contain only integers >= 1")

    def __len__(self):
        return len(self.gammas) + len(self.degrees)

    def grams(self, X: np.ndarray, Y: Rows = None) -> Iterator[np.ndarray]:
        """Yield the Gram matrices of X against Y one by one, Gaussian kernels first.

        Parameters
        ----------
        X : array-like of shape (n, d)
        Y : array of shape (m, d), default=None
            Other rows; X if None.
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

    def stack(self, X: np.ndarray, Y: Rows = None) -> np.ndarray:
        """All Gram matrices as one array of shape (n_kernels, n, m).

        Parameters
        ----------
        X, Y : ndarray
            As in :meth:`grams`.
        """
        shape = (len(self), len(X), len(X if Y is None else Y))
        require_memory(
            8 * int(np.prod(shape)),
            f"the stack of {shape[0]} Gram matrices of {shape[1]} x {shape[2]}",
            "use fewer gammas and degrees, or ClusterwiseClassifier",
        )
        grams = np.empty(shape)
        for slot, K in zip(grams, self.grams(X, Y), strict=True):
            slot[:] = K
        return grams

    def combine(
        self, X: np.ndarray, Y: Rows = None, *, weights: np.ndarray
    ) -> np.ndarray:
        """Gram matrix of the kernel ``sum_m weights_m k_m``, without storing the stack.

        Parameters
        ----------
        X, Y : ndarray
            As in :meth:`grams`.
        weights : ndarray of shape (n_kernels,)
        """
        shape = (len(X), len(X if Y is None else Y))
        require_gram_memory(*shape)
        K = np.zeros(shape)
        for weight, gram in zip(weights, self.grams(X, Y), strict=True):
            K += weight * gram
        return K


def _cosines(X, Y=None):
    Y = X if Y is None else Y
    lengths_x, lengths_y = (np.sqrt((rows * rows).sum(axis=1) + 1) for rows in (X, Y))
    return (X @ Y.T + 1) / lengths_x[:, None] / lengths_y[None, :]


@parameters
class BankMixin:
    """Mixin for estimators on a bank.

    Subclasses define ``_fit_model(X, y)``, which returns a ``KernelExpansion``.
    """

    _: KW_ONLY
    gammas: ArrayLike | None = None
    degrees: ArrayLike = ()

    def _resolve_kernel(self, X, weights=None):
        self.bank_ = KernelBank(
            PAPER_GAMMAS if self.gammas is None else self.gammas, self.degrees
        )

    def _expand(self, weights, X, d, intercept, **outcome):
        """Return the model with given kernel weights and coefficients of the rows."""
        kernel = partial(self.bank_.combine, weights=weights)
        return KernelExpansion(kernel, X, d, intercept, weights=weights, **outcome)


def bank_constraints(*shared, **own):
    """Parameter constraints including those of the bank."""
    return constraints(
        *shared, gammas=["array-like", None], degrees=["array-like"], **own
    )


def l2_svm_dual(K, y, ridge, tol=1e-4):
    """Solve the dual of the SVM with squared hinge loss, whose C is 1 / ``ridge``.

    It is ``max 1'a - 1/2 a'Y(K + ridge I)Ya, a >= 0``. No variable exceeds
    ``2 n_+ n_- / (n ridge)``, so that a box twice as large is inactive.
    """
    n_positive = (y > 0).sum()
    bound = 4 / (ridge * (1 / n_positive + 1 / (len(y) - n_positive)))
    return svm_dual(add_to_diagonal(K.copy(), ridge), y, bound, tol)


class BankRegressor(BankMixin, BaselineRegressor):
    """Base class of regressors on a bank, with a single model."""

    def _fit(self, X, y):
        self._resolve_kernel(X)
        self.models_ = [self._fit_model(X, y)]
        self.support_ = self.models_[0].support
        collect(self)

    def _values(self, X):
        return self.models_[0].decision_function(X)

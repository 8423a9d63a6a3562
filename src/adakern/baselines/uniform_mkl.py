"""Support vector machines on the equal-weight mean of a bank of kernels."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from adakern.baselines.kernel_bank import BankClassifier, BankModel, BankRegressor
from adakern.svm.libsvm import svm_dual, svr_dual

__all__ = ["UniformMKLClassifier", "UniformMKLRegressor"]


class UniformMKLClassifier(BankClassifier):
    """SVM on the mean of several kernels: multiple kernel learning with equal weights.

    The baseline that learned kernel weights have to beat.

    Parameters
    ----------
    C : float, default=1.0
        Trade-off of the SVM, positive.
    gammas : array-like of float, default=None
        Gaussian kernels of the bank. None is 1/(2 sigma^2) for the eleven widths
        sigma = 2^-5, ..., 2^5, made for features scaled to [0, 1].
    degrees : array-like of int, default=()
        Normalised polynomial kernels of the bank.
    tol : float, default=1e-3
        Tolerance of the SVM solver on the optimality conditions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    bank_ : KernelBank
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_pairs, n_kernels)
    models_ : list
        One model per pair of classes.
    support_ : ndarray
        Training rows that are support vectors of some model.
    n_iter_ : int
        SVMs solved.

    References
    ----------
    Gonen and Alpaydin, Multiple kernel learning algorithms, JMLR 12 (2011), 2211-2268.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from adakern.baselines import UniformMKLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> UniformMKLClassifier().fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        **BankClassifier._bank_constraints,
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, C=1.0, *, gammas=None, degrees=(), tol=1e-3):
        self.C = C
        self.gammas = gammas
        self.degrees = degrees
        self.tol = tol

    def _fit_binary(self, X, y):
        weights = uniform_weights(self.bank_)
        K = self.bank_.combine(X, weights=weights)
        d, b = svm_dual(K, y, self.C, self.tol)
        return BankModel.expand(self.bank_, weights, X, d, b)


class UniformMKLRegressor(BankRegressor):
    """Epsilon support vector regression on the mean of several kernels.

    Parameters
    ----------
    C : float, default=1.0
        Trade-off, positive.
    epsilon : float, default=0.1
        Half the width of the tube, in units of y; not negative.
    gammas, degrees : array-like
        The bank, as in :class:`UniformMKLClassifier`.
    tol : float, default=1e-3
        Tolerance of the solver on the optimality conditions.

    Attributes
    ----------
    bank_ : KernelBank
    kernel_weights_ : ndarray of shape (n_kernels,)
    support_ : ndarray
    n_iter_ : int
        Models fitted: 1.

    References
    ----------
    Gonen and Alpaydin, Multiple kernel learning algorithms, JMLR 12 (2011), 2211-2268.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.baselines import UniformMKLRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = UniformMKLRegressor(C=10, epsilon=0.01).fit(X, np.sin(6 * X[:, 0]))
    >>> model.score(X, np.sin(6 * X[:, 0])) > 0.99
    True
    """

    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        **BankRegressor._bank_constraints,
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, C=1.0, *, epsilon=0.1, gammas=None, degrees=(), tol=1e-3):
        self.C = C
        self.epsilon = epsilon
        self.gammas = gammas
        self.degrees = degrees
        self.tol = tol

    def _fit_function(self, X, y):
        weights = uniform_weights(self.bank_)
        K = self.bank_.combine(X, weights=weights)
        d, b = svr_dual(K, y, self.C, self.epsilon, self.tol)
        return BankModel.expand(self.bank_, weights, X, d, b)


def uniform_weights(bank):
    """Equal weights that sum to 1, shape (n_kernels,)."""
    return np.full(len(bank), 1 / len(bank))

"""EasyMKL: kernel weights from the distance between the classes' convex hulls."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from adakern.baselines.kernel_bank import BankClassifier, BankModel
from adakern.svm.libsvm import svm_dual

__all__ = ["EasyMKL"]


class EasyMKL(BankClassifier):
    """Multiple kernel learning by maximising the margin between convex hulls.

    A probability distribution g on each class gives a point of its hull. EasyMKL takes
    the pair of points that minimises ``(1 - reg) g'Y (sum_m K_m) Y g + reg |g|^2``,
    weights every kernel by the squared distance ``g'Y K_m Y g`` that it sees between
    them (scaled to a weight vector of length 1), and solves the same problem again for
    the combined kernel. Its two points give the separating plane half-way.

    Parameters
    ----------
    reg : float, default=0.1
        Between 0 (excluded: the margin alone) and 1 (the class means).
    gammas : array-like of float, default=None
        Gaussian kernels of the bank. None is 1/(2 sigma^2) for the eleven widths
        sigma = 2^-5, ..., 2^5, made for features scaled to [0, 1].
    degrees : array-like of int, default=()
        Normalised polynomial kernels of the bank.
    tol : float, default=1e-4
        Tolerance of the solver on the optimality conditions.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    bank_ : KernelBank
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_pairs, n_kernels)
    objective_ : float
        Value of the second problem, summed over the pairs of classes.
    models_ : list
    support_ : ndarray
        Training rows with positive probability in some model.
    n_iter_ : int
        Quadratic programs solved.

    References
    ----------
    Aiolli and Donini, EasyMKL: a scalable multiple kernel learning algorithm,
    Neurocomputing 169 (2015), 215-224.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from adakern.baselines import EasyMKL
    >>> X, y = load_iris(return_X_y=True)
    >>> EasyMKL().fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints = {
        "reg": [Interval(Real, 0, 1, closed="right")],
        **BankClassifier._bank_constraints,
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, reg=0.1, *, gammas=None, degrees=(), tol=1e-4):
        self.reg = reg
        self.gammas = gammas
        self.degrees = degrees
        self.tol = tol

    def _fit_binary(self, X, y):
        combined = self.bank_.combine(X, weights=np.ones(len(self.bank_)))
        difference = y * nearest_hull_points(combined, y, self.reg, self.tol)
        weights = np.array(
            [difference @ K @ difference for K in self.bank_.grams(X)]
        ).clip(min=0)
        weights /= np.linalg.norm(weights)

        K = self.bank_.combine(X, weights=weights)
        points = nearest_hull_points(K, y, self.reg, self.tol)
        d = y * points
        f = K @ d
        objective = (1 - self.reg) * d @ f + self.reg * points @ points
        # The mean of f over both points is f at the middle between them.
        return BankModel.expand(
            self.bank_, weights, X, d, -0.5 * points @ f, n_iter=2, objective=objective
        )


def nearest_hull_points(K, y, reg, tol):
    """Distributions g on the two classes that minimise ``g'YQYg``, with
    ``Q = (1 - reg) K + reg I``.

    Minus a scale they are the dual variables of the hard-margin SVM on Q: along a ray
    ``a = s g`` its dual ``1'a - 1/2 a'YQYa`` is greatest at ``s = 2 / g'YQYg``, where
    it is ``2 / g'YQYg``. As ``g'YQYg >= reg (1/n_+ + 1/n_-)``, a finite bound on a is
    never active.
    """
    positive = y > 0
    n_positive, n_negative = positive.sum(), (~positive).sum()
    bound = 4 / (reg * (1 / n_positive + 1 / n_negative))
    ridge = (1 - reg) * K
    np.fill_diagonal(ridge, ridge.diagonal() + reg)
    d, _ = svm_dual(ridge, y, bound, tol)
    points = np.abs(d)
    return points / np.where(positive, points[positive].sum(), points[~positive].sum())

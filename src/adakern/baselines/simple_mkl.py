"""SimpleMKL: kernel weights on the simplex that minimise the SVM's own objective."""

from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from adakern._utils.warn import warn_user
from adakern.baselines.kernel_bank import BankClassifier, BankModel, BankRegressor
from adakern.linalg import project_onto_simplex
from adakern.svm.libsvm import svm_dual, svr_dual

__all__ = ["SimpleMKLClassifier", "SimpleMKLRegressor"]


class SimpleMKLClassifier(BankClassifier):
    """SVM on a convex combination of kernels, the weights learned with the model.

    Minimises ``J(w) = max_a 1'a - 1/2 a'Y (sum_m w_m K_m) Y a`` over the simplex. J is
    convex with the gradient ``-1/2 a'Y K_m Y a`` at the SVM's solution a. Where the
    paper follows the reduced gradient, this follows the projected gradient with
    Barzilai-Borwein steps, which takes fewer SVMs to the same certificate.

    Parameters
    ----------
    C : float, default=1.0
        Trade-off of the SVM, positive.
    gammas : array-like of float, default=None
        Gaussian kernels of the bank. None is 1/(2 sigma^2) for the eleven widths
        sigma = 2^-5, ..., 2^5, made for features scaled to [0, 1].
    degrees : array-like of int, default=()
        Normalised polynomial kernels of the bank.
    max_iter : int, default=100
        Most gradient steps.
    tol : float, default=1e-2
        Duality gap, relative to the objective, at which the steps end.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    bank_ : KernelBank
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_pairs, n_kernels)
        Non-negative, sum 1.
    objective_, duality_gap_ : float
        J and the gap reached, summed over the pairs of classes.
    models_ : list
    support_ : ndarray
    n_iter_ : int
        Gradient steps, over all pairs.

    Warns
    -----
    ConvergenceWarning
        Where the steps end before the gap is reached; it tells the gap.

    References
    ----------
    Rakotomamonjy, Bach, Canu and Grandvalet, SimpleMKL, JMLR 9 (2008), 2491-2521.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from adakern.baselines import SimpleMKLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SimpleMKLClassifier().fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        **BankClassifier._bank_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, C=1.0, *, gammas=None, degrees=(), max_iter=100, tol=1e-2):
        self.C = C
        self.gammas = gammas
        self.degrees = degrees
        self.max_iter = max_iter
        self.tol = tol

    def _fit_binary(self, X, y):
        def model(K):
            d, b = svm_dual(K, y, self.C)
            return d, b, y @ d

        return fit_simple_mkl(self.bank_, X, model, self.max_iter, self.tol)


class SimpleMKLRegressor(BankRegressor):
    """Epsilon support vector regression on a learned convex combination of kernels.

    The counterpart of :class:`SimpleMKLClassifier`, with the dual of support vector
    regression in place of the SVM's.

    Parameters
    ----------
    C : float, default=1.0
        Trade-off, positive.
    epsilon : float, default=0.1
        Half the width of the tube, in units of y; not negative.
    gammas, degrees : array-like
        The bank, as in :class:`SimpleMKLClassifier`.
    max_iter : int, default=100
        Most gradient steps.
    tol : float, default=1e-2
        Duality gap, relative to the objective, at which the steps end.

    Attributes
    ----------
    bank_ : KernelBank
    kernel_weights_ : ndarray of shape (n_kernels,)
        Non-negative, sum 1.
    objective_, duality_gap_ : float
    support_ : ndarray
    n_iter_ : int

    Warns
    -----
    ConvergenceWarning
        Where the steps end before the gap is reached; it tells the gap.

    References
    ----------
    Rakotomamonjy, Bach, Canu and Grandvalet, SimpleMKL, JMLR 9 (2008), 2491-2521.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.baselines import SimpleMKLRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> SimpleMKLRegressor(C=10, epsilon=0.01).fit(X, y).score(X, y) > 0.99
    True
    """

    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        **BankRegressor._bank_constraints,
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        C=1.0,
        *,
        epsilon=0.1,
        gammas=None,
        degrees=(),
        max_iter=100,
        tol=1e-2,
    ):
        self.C = C
        self.epsilon = epsilon
        self.gammas = gammas
        self.degrees = degrees
        self.max_iter = max_iter
        self.tol = tol

    def _fit_function(self, X, y):
        def model(K):
            d, b = svr_dual(K, y, self.C, self.epsilon)
            return d, b, y @ d - self.epsilon * np.abs(d).sum()

        return fit_simple_mkl(self.bank_, X, model, self.max_iter, self.tol)


class WeightedModel:
    """The model trained for one weight vector w, and J(w) with its gradient."""

    def __init__(self, weights, grams, model):
        K = np.tensordot(weights, grams, axes=1)
        self.weights = weights
        self.d, self.intercept, linear = model(K)
        self.gradient = -0.5 * (grams @ self.d) @ self.d
        self.objective = linear + weights @ self.gradient
        # For fixed a the inner maximum bounds J from below at the best single kernel.
        self.gap = max(weights @ self.gradient - self.gradient.min(), 0.0)


def fit_simple_mkl(bank, X, model, max_iter, tol):
    """Minimise J over the simplex by projected gradient steps, to a relative gap."""
    grams = bank.stack(X)
    current = WeightedModel(np.full(len(bank), 1 / len(bank)), grams, model)
    step, n_iter = 1 / np.abs(current.gradient).max(initial=1e-300), 0
    history = {"objective": [current.objective], "gap": [current.gap]}
    while current.gap > tol * abs(current.objective) and n_iter < max_iter:
        following = _descend(current, step, grams, model)
        if following is None:
            break
        move = following.weights - current.weights
        curvature = move @ (following.gradient - current.gradient)
        step = move @ move / curvature if curvature > 0 else 10 * step
        current, n_iter = following, n_iter + 1
        history["objective"].append(current.objective)
        history["gap"].append(current.gap)
    if current.gap > tol * abs(current.objective):
        warn_user(
            f"SimpleMKL stopped after {n_iter} steps with a duality gap of "
            f"{current.gap:.2e} at an objective of {current.objective:.6g}; raise "
            f"max_iter={max_iter} or tol={tol}",
            ConvergenceWarning,
        )
    return BankModel.expand(
        bank,
        current.weights,
        X,
        current.d,
        current.intercept,
        n_iter=max(n_iter, 1),
        objective=current.objective,
        duality_gap=current.gap,
        history=history,
    )


def _descend(current, step, grams, model):
    """The first of ever shorter steps that lowers J enough (Armijo), None if none."""
    direction = project_onto_simplex(current.weights - step * current.gradient)
    direction -= current.weights
    slope, length = current.gradient @ direction, 1.0
    while length > 1e-4:
        weights = current.weights + length * direction
        trial = WeightedModel(weights, grams, model)
        if trial.objective <= current.objective + 1e-4 * length * slope:
            return trial
        length /= 2
    return None

"""Support vector machines on a bank of kernels: equal weights, SimpleMKL, EasyMKL."""

from dataclasses import KW_ONLY

import numpy as np

from adakern._utils.base import parameters
from adakern._utils.constraints import FRACTION
from adakern._utils.warn import warn_unconverged
from adakern.baselines.base import OneVsOneBaseline
from adakern.baselines.kernel_bank import (
    BankMixin,
    BankRegressor,
    bank_constraints,
    l2_svm_dual,
)
from adakern.linalg import project_onto_simplex
from adakern.svm.libsvm import svm_dual


@parameters
class UniformMKLClassifier(BankMixin, OneVsOneBaseline):
    """SVM on the mean of several kernels: multiple kernel learning with equal weights.

    The baseline for learned kernel weights (Gonen and Alpaydin, Multiple kernel
    learning algorithms, JMLR 12, 2011).

    Parameters
    ----------
    C : float, default=1.0
        Regularization parameter of the SVM, positive.
    gammas : array-like of float, default=None
        Gaussian kernels of the bank. If None, those of the widths 2^-5, ..., 2^5,
        suitable for features in [0, 1].
    degrees : array-like of int, default=()
        Degrees of the normalised polynomial kernels of the bank.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    bank_ : KernelBank
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_pairs, n_kernels)
    models_, pair_rows_ : list
        Model and training rows of each pair of classes.
    support_ : ndarray
        Indices of the support vectors, of any pair of classes.
    n_iter_ : int
        Number of SVMs solved.
    """

    C: float = 1.0

    _parameter_constraints = bank_constraints("C")

    def _fit_model(self, X, y):
        weights = np.full(len(self.bank_), 1 / len(self.bank_))
        d, b = svm_dual(self.bank_.combine(X, weights=weights), y, self.C, tol=1e-3)
        return self._expand(weights, X, d, b)


@parameters
class SimpleMKLRegressor(BankRegressor):
    """Epsilon support vector regression on a learned convex combination of kernels.

    Minimises ``J(w) = max_d y'd - epsilon |d|_1 - 1/2 d' (sum_m w_m K_m) d`` over the
    simplex, by the projected gradient with Barzilai-Borwein steps in place of the
    paper's reduced gradient.

    Parameters
    ----------
    C, gammas, degrees
        As in :class:`UniformMKLClassifier`.
    epsilon : float, default=0.1
        Half the width of the insensitive tube, in units of y; non-negative.
    max_iter : int, default=100
        Maximum number of gradient steps; a ConvergenceWarning reports a larger gap.
    tol : float, default=1e-2
        Relative duality gap at which the steps stop.

    Attributes
    ----------
    bank_, kernel_weights_, models_, support_
        As in :class:`UniformMKLClassifier`, with a single model; the weights are
        non-negative and sum to 1.
    objective_, duality_gap_ : float
        J and its duality gap.
    n_iter_ : int
        Number of gradient steps.

    References
    ----------
    Rakotomamonjy, Bach, Canu and Grandvalet, SimpleMKL, JMLR 9 (2008), 2491-2521.
    """

    C: float = 1.0
    _: KW_ONLY
    epsilon: float = 0.1
    max_iter: int = 100
    tol: float = 1e-2

    _parameter_constraints = bank_constraints("C", "epsilon", "max_iter", "tol")

    def _fit_model(self, X, y):
        """Minimise J over the simplex by projected gradient, to a relative gap."""
        grams = self.bank_.stack(X)

        def evaluate(weights):
            K = np.tensordot(weights, grams, axes=1)
            d, b = svm_dual(K, y, self.C, epsilon=self.epsilon)
            return WeightedModel(
                weights, grams, d, b, y @ d - self.epsilon * np.abs(d).sum()
            )

        current = evaluate(np.full(len(grams), 1 / len(grams)))
        step = 1 / np.abs(current.gradient).max(initial=1e-300)
        path = [current]
        while (
            current.gap > self.tol * abs(current.objective)
            and len(path) <= self.max_iter
        ):
            following = _descend(current, step, evaluate)
            if following is None:
                break
            move = following.weights - current.weights
            curvature = move @ (following.gradient - current.gradient)
            step = move @ move / curvature if curvature > 0 else 10 * step
            current = following
            path.append(current)
        if current.gap > self.tol * abs(current.objective):
            warn_unconverged(
                self,
                f"a duality gap of {current.gap:.2e} at the objective "
                f"{current.objective:.6g}",
            )
        return self._expand(
            current.weights,
            X,
            current.d,
            current.intercept,
            n_iter=max(len(path) - 1, 1),
            objective=current.objective,
            duality_gap=current.gap,
            history={
                "objective": [model.objective for model in path],
                "gap": [model.gap for model in path],
            },
        )


class WeightedModel:
    """Model for given weights w, and J(w) with its gradient."""

    def __init__(self, weights, grams, d, intercept, linear):
        self.weights = weights
        self.d = d
        self.intercept = intercept
        self.gradient = -0.5 * (grams @ d) @ d
        self.objective = linear + weights @ self.gradient
        # For fixed a, the best single kernel gives a lower bound on J.
        self.gap = max(weights @ self.gradient - self.gradient.min(), 0.0)


def _descend(current, step, evaluate):
    """Backtrack to a sufficient decrease of J (Armijo); None if there is none."""
    direction = project_onto_simplex(current.weights - step * current.gradient)
    direction -= current.weights
    slope = current.gradient @ direction
    length = 1.0
    while length > 1e-4:
        trial = evaluate(current.weights + length * direction)
        if trial.objective <= current.objective + 1e-4 * length * slope:
            return trial
        length /= 2
    return None


@parameters
class EasyMKL(BankMixin, OneVsOneBaseline):
    """Multiple kernel learning by maximising the margin between convex hulls.

    EasyMKL finds the pair of points in the convex hulls of the classes that minimises
    ``(1 - reg) g'Y (sum_m K_m) Y g + reg |g|^2``, weights every kernel by their squared
    distance ``g'Y K_m Y g`` in it, and solves the problem again for the combined
    kernel. The separating plane is half-way between the points.

    Parameters
    ----------
    reg : float, default=0.1
        In (0, 1]: small values maximise the margin, 1 compares the class means.
    gammas, degrees
        As in :class:`UniformMKLClassifier`.
    tol : float, default=1e-4
        Tolerance of the solver on the optimality conditions, in (0, 1].

    Attributes
    ----------
    classes_, bank_, kernel_weights_, models_, pair_rows_, support_, n_iter_
        As in :class:`UniformMKLClassifier`.
    objective_ : float
        Value of the second problem, summed over the pairs of classes.

    References
    ----------
    Aiolli and Donini, EasyMKL: a scalable multiple kernel learning algorithm,
    Neurocomputing 169 (2015), 215-224.
    """

    reg: float = 0.1
    _: KW_ONLY
    tol: float = 1e-4

    _parameter_constraints = bank_constraints(reg=FRACTION, tol=FRACTION)

    def _fit_model(self, X, y):
        combined = self.bank_.combine(X, weights=np.ones(len(self.bank_)))
        difference = y * nearest_hull_points(combined, y, self.reg, self.tol)
        weights = [difference @ K @ difference for K in self.bank_.grams(X)]
        weights = np.maximum(
            weights, 1e-150
        )  # equal weights if no kernel separates the classes
        weights /= np.linalg.norm(weights)

        K = self.bank_.combine(X, weights=weights)
        points = nearest_hull_points(K, y, self.reg, self.tol)
        d = y * points
        f = K @ d
        objective = (1 - self.reg) * d @ f + self.reg * points @ points
        # The mean of f at both points is f at their midpoint.
        return self._expand(
            weights, X, d, -0.5 * points @ f, n_iter=2, objective=objective
        )


def nearest_hull_points(K, y, reg, tol):
    """Distributions g on the two classes that minimise ``g'YQYg``.

    With ``Q = (1 - reg) K + reg I`` they are, up to scale, the dual variables of the
    hard-margin SVM on Q: ``a = s g`` is optimal at ``s = 2 / g'YQYg``.
    """
    positive = y > 0
    d, _ = l2_svm_dual((1 - reg) * K, y, reg, tol)
    points = np.abs(d)
    return points / np.where(positive, points[positive].sum(), points[~positive].sum())

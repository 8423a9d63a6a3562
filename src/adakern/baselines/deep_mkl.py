"""Deep multiple kernel learning: layers of combined kernels."""

from dataclasses import KW_ONLY
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky
from scipy.linalg.lapack import dpotri
from scipy.special import expit

from adakern._utils.base import parameters
from adakern._utils.resources import one_blas_thread
from adakern._utils.warn import warn_unconverged
from adakern.baselines.base import KernelExpansion, OneVsOneBaseline
from adakern.baselines.kernel_bank import BankMixin, bank_constraints, l2_svm_dual
from adakern.linalg import add_to_diagonal, project_onto_simplex

#: As in the paper.
N_LAYERS = 3

#: Steepness of the sigmoid that approximates the step at 0.
SLOPE = 5.0

#: Weight of the term eta / alpha that smooths the span.
ETA = 0.1


@parameters
class DeepMKL(BankMixin, OneVsOneBaseline):
    """SVM on three layers of combined kernels, with weights tuned by a span bound.

    The first layer combines the kernels of the bank on the data, every further layer
    the same kernels in the feature space of the previous layer. The weights of all
    layers are updated along the gradient of the span bound on the leave-one-out error,
    alternating with L2 SVMs. They are on the simplex, so that every layer is 1 on the
    diagonal. (The paper's sigmoid kernel is indefinite and is omitted.)

    Parameters
    ----------
    C : float, default=1.0
        Regularization parameter of the L2 SVM, positive.
    gammas : array-like of float, default=(1.0,)
        Gaussian kernels of every layer. If None, those of the widths 2^-5, ..., 2^5.
    degrees : array-like of int, default=(1, 2)
        Degrees of the normalised polynomial kernels of every layer.
    max_iter : int, default=30
        Maximum number of gradient steps; a ConvergenceWarning is issued if it is
        reached.
    tol : float, default=1e-3
        Relative decrease of the bound below which the steps stop.

    Attributes
    ----------
    classes_, bank_, models_, pair_rows_, support_
        As in :class:`UniformMKLClassifier`.
    kernel_weights_ : ndarray of shape (3, n_kernels)
        Preceded by an axis of the pairs of classes if there are more than two
        classes.
    objective_ : float
        Span bound on the number of leave-one-out errors, summed over the pairs.
    n_iter_ : int
        Number of gradient steps, over all pairs.

    References
    ----------
    Strobl and Visweswaran, Deep multiple kernel learning, ICMLA 2013. Chapelle et al.,
    Choosing multiple parameters for support vector machines, Machine Learning 46
    (2002), 131-159.
    """

    C: float = 1.0
    _: KW_ONLY
    gammas: ArrayLike = (1.0,)
    degrees: ArrayLike = (1, 2)
    max_iter: int = 30
    tol: float = 1e-3

    _parameter_constraints = bank_constraints("C", "max_iter", "tol")

    def _fit_model(self, X, y):
        grams = self.bank_.stack(X)

        def evaluate(weights):
            with one_blas_thread(len(y)):
                return SpanObjective(weights, self.bank_, grams, y, self.C)

        size = (N_LAYERS, len(self.bank_))
        best = evaluate(np.full(size, 1 / size[1]))
        step = 0.5
        values = [best.value]
        decrease = np.inf
        while decrease > self.tol * best.value and len(values) <= self.max_iter:
            best, step = _descend(best, step, evaluate)
            decrease = values[-1] - best.value
            values.append(best.value)
        if decrease > self.tol * best.value:
            warn_unconverged(
                self,
                f"a span bound of {best.value:.6g} that still fell by {decrease:.2e}",
            )
        return KernelExpansion(
            partial(deep_gram_matrix, self.bank_, best.weights),
            X,
            best.d,
            best.intercept,
            weights=best.weights,
            n_iter=len(values) - 1,
            objective=best.value,
        )


def deep_gram_matrix(bank, weights, X, Y):
    """Gram matrix of the kernel of all layers."""
    return propagate(bank, weights, bank.combine(X, Y, weights=weights[0]))[-1]


def layer_kernels(bank, T):
    """Kernels of the bank at inner products T of unit vectors, and their slopes."""
    for gamma in bank.gammas:
        K = np.exp(2 * gamma * (T - 1))
        yield K, 2 * gamma * K
    for degree in bank.degrees:
        lower = (0.5 + 0.5 * T) ** (degree - 1)
        yield lower * (0.5 + 0.5 * T), degree / 2 * lower


def propagate(bank, weights, T):
    """Propagate the combined first layer T; returns the values of all layers."""
    layers = [T]
    for layer_weights in weights[1:]:
        kernels = zip(layer_weights, layer_kernels(bank, layers[-1]), strict=True)
        layers.append(sum(weight * K for weight, (K, _) in kernels))
    return layers


def weight_gradient(bank, weights, grams, layers, gradient):
    """Chain rule: from the gradient for the last layer's Gram matrix to the weights."""
    result = np.empty_like(weights)
    for level in range(len(weights) - 1, 0, -1):
        below = list(layer_kernels(bank, layers[level - 1]))
        result[level] = [np.vdot(gradient, K) for K, _ in below]
        slopes = zip(weights[level], below, strict=True)
        gradient = gradient * sum(weight * slope for weight, (_, slope) in slopes)
    result[0] = np.tensordot(grams, gradient, axes=2)
    return result


class SpanObjective:
    """L2 SVM and span bound for given weights."""

    def __init__(self, weights, bank, grams, y, C):
        self.weights = weights
        self.bank = bank
        self.grams = grams
        layers = propagate(bank, weights, np.tensordot(weights[0], grams, axes=1))
        self.d, self.intercept = l2_svm_dual(layers[-1], y, 1 / C)
        support = np.flatnonzero(self.d)
        self._block = np.ix_(support, support)
        self._layers = [layer[self._block] for layer in layers]
        self.value, self._slope = span_bound(self._layers[-1], y[support], C)

    def gradient(self):
        """Gradient with respect to the weights, shape (L, P)."""
        return weight_gradient(
            self.bank,
            self.weights,
            self.grams[:, *self._block],
            self._layers,
            self._slope,
        )


def _descend(current, step, evaluate):
    """Backtrack to the first projected gradient step that lowers the bound."""
    gradient = current.gradient()
    gradient /= max(np.abs(gradient).max(), np.finfo(float).tiny)
    while step > 1e-3:
        moved = current.weights - step * gradient
        trial = evaluate(np.array([project_onto_simplex(row) for row in moved]))
        if trial.value < current.value:
            return trial, 2 * step
        step /= 2
    return current, step


def span_bound(K, y, C):
    """Span bound summed over the rows, and its gradient with respect to K.

    With ``K~ = [[K + I/C, 1], [1', 0]]``, dual variables from ``K~ (y a, b) = (y, 0)``
    and ``D = diag(eta / a, 0)``, the squared span of row p is
    ``S_p^2 = 1/A_pp - D_pp`` for ``A = (K~ + D)^-1``. Row p is misclassified when left
    out if ``a_p S_p^2 > 1``: the bound is ``sum_p sigmoid(5 (a_p S_p^2 - 1))``.
    """
    inverse = _bordered_inverse(K, 1 / C)
    signed = inverse @ y
    alpha = np.maximum(y * signed, 1e-10)

    A = _bordered_inverse(K, 1 / C + ETA / alpha)
    diagonal = A.diagonal()
    # a_p S_p^2 = a_p / A_pp - eta
    lost = expit(SLOPE * (alpha / diagonal - ETA - 1))

    slope = SLOPE * lost * (1 - lost)
    # dA = -A dM A: the weight of dM is B, that of d(alpha) is c.
    B = (A * (slope * alpha / diagonal**2)) @ A
    c = slope / diagonal - ETA * B.diagonal() / alpha**2
    # d(y a, b) = -K~^-1 dK~ (y a, b)
    outer = np.outer(inverse @ (c * y), signed)
    return lost.sum(), B - (outer + outer.T) / 2


def _bordered_inverse(K, ridge):
    """Leading block of the inverse of ``[[K + ridge, 1], [1', 0]]``."""
    M = add_to_diagonal(K.copy(), ridge)
    inverse, _ = dpotri(cholesky(M, lower=True, overwrite_a=True), lower=1)
    inverse += np.tril(inverse, -1).T
    sums = inverse.sum(axis=1)
    inverse -= np.outer(sums, sums / sums.sum())
    return inverse

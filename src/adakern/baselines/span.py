"""The span bound: a smooth estimate of an SVM's leave-one-out error, with gradient.

For the support vectors of the L2 soft-margin SVM (the hard margin on ``K + I/C``),
after Chapelle, Vapnik, Bousquet and Mukherjee 2002.
"""

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dpotri
from scipy.special import expit

from adakern.svm.libsvm import svm_dual

#: Steepness of the sigmoid that stands for the step at 0.
SLOPE = 5.0

#: Weight of the term eta / alpha that makes the span a smooth function.
ETA = 0.1


def l2_svm_dual(K, y, C, tol=1e-4):
    """Solve the SVM with squared hinge loss: ``max 1'a - 1/2 a'Y(K + I/C)Ya, a >= 0``.

    As ``K + I/C`` is at least ``I/C``, no variable exceeds ``2 C n_+ n_- / n``: a box
    twice as large is never active.
    """
    n_positive = (y > 0).sum()
    bound = 4 * C / (1 / n_positive + 1 / (len(y) - n_positive))
    ridge = K.copy()
    np.fill_diagonal(ridge, ridge.diagonal() + 1 / C)
    return svm_dual(ridge, y, bound, tol)


def span_bound(K, y, C):
    """The bound summed over the rows, and its gradient with respect to K.

    With ``K~ = [[K + I/C, 1], [1', 0]]``, dual variables from ``K~ (y a, b) = (y, 0)``
    and ``D = diag(eta / a, 0)``, the squared span of row p is
    ``S_p^2 = 1/A_pp - D_pp`` for ``A = (K~ + D)^-1``, and row p is lost when left out
    if ``a_p S_p^2 > 1``: the bound is ``sum_p sigmoid(5 (a_p S_p^2 - 1))``.
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
    """Leading block of the inverse of ``[[M, 1], [1', 0]]`` for ``M = K + ridge``.

    M is positive definite, so by block elimination the block is ``M^-1`` less its
    projection on 1; the other blocks are never asked for.
    """
    M = K.copy()
    np.fill_diagonal(M, M.diagonal() + ridge)
    inverse, _ = dpotri(cholesky(M, lower=True, overwrite_a=True), lower=1)
    inverse += np.tril(inverse, -1).T
    sums = inverse.sum(axis=1)
    inverse -= np.outer(sums, sums / sums.sum())
    return inverse

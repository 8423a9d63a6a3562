"""LogDet kernel learning: the nearest kernel that satisfies distance constraints."""

from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from adakern._utils.base import parameters
from adakern._utils.constraints import POSITIVE, constraints
from adakern._utils.warn import warn_unconverged
from adakern.baselines.base import KernelExpansion, OneVsOneBaseline
from adakern.kernels import gram_matrix, resolve_gamma
from adakern.svm.libsvm import svm_dual

#: Number of constrained pairs as in the papers: 20 times n_classes squared.
N_PAIRS = 80

#: Percentiles of the squared distances: the upper bound for pairs of one class and the
#: lower bound for pairs of two classes.
PERCENTILES = (5, 95)

#: Number of distances from which the percentiles are estimated.
N_DISTANCES = 10_000


@parameters
class LogDetKernel(OneVsOneBaseline):
    """SVM on a kernel ``phi(x)'W phi(y)`` learned with the LogDet divergence.

    The learned kernel matrix is the nearest to the Gaussian one, in the LogDet
    divergence, for which 40 pairs of rows of one class are closer than 95 % of all
    pairs and 40 pairs of two classes are farther apart, with slack. For new rows it is
    ``k(x, y) - k(x, .) S k(., y)`` with a matrix S on the constrained pairs.

    Parameters
    ----------
    C : float, default=1.0
        Regularization parameter of the SVM, positive.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the given Gaussian kernel, see
        :func:`adakern.kernels.gram_matrix`.
    slack : float, default=1.0
        Positive weight of the constraints relative to the divergence (the paper's
        gamma).
    max_iter : int, default=1000
        Maximum number of passes over all constraints; a ConvergenceWarning is issued if
        it is reached.
    tol : float, default=1e-3
        Relative change of the multipliers in a pass below which the passes stop.
    random_state : int, RandomState instance or None, default=None
        Determines the pairs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    pair_rows_ : list
        Training rows of each pair of classes.
    models_ : list
        One per pair of classes. The inverse of its learned kernel matrix is the inverse
        of the given one plus ``sum_c multipliers_c (e_i - e_j)(e_i - e_j)'`` over the
        constrained ``pairs``.
    support_ : ndarray
        Indices of the training rows used by the decision functions.
    n_iter_ : int
        Number of passes, over all pairs of classes.
    gamma_ : float

    References
    ----------
    Jain, Kulis, Davis and Dhillon, Metric and kernel learning using a linear
    transformation, JMLR 13 (2012), 519-547. Davis, Kulis, Jain, Sra and Dhillon,
    Information-theoretic metric learning, ICML 2007.
    """

    C: float = 1.0
    _: KW_ONLY
    gamma: float | str = "scale"
    slack: float = 1.0
    max_iter: int = 1000
    tol: float = 1e-3
    random_state: Any = None

    _parameter_constraints = constraints(
        "C",
        "gamma",
        "max_iter",
        "tol",
        "random_state",
        slack=POSITIVE,
    )

    def _resolve_kernel(self, X, weights=None):
        self.gamma_ = resolve_gamma(self.gamma, X)

    def _fit_model(self, X, y):
        kernel = partial(gram_matrix, gamma=self.gamma_)
        K = np.asarray(kernel(X), dtype=np.float64)
        rng = check_random_state(self.random_state)
        pairs = draw_pairs(y, N_PAIRS, rng)
        i, j = pairs.T
        similar = y[i] == y[j]
        targets = self._targets(K, similar, rng)
        # Columns of K E for the differences E = (e_i - e_j), and E'KE.
        KE = K[:, i] - K[:, j]
        EKE = KE[i] - KE[j]
        multipliers, n_iter, change = project_cyclically(
            EKE, targets, similar, self.slack, self.max_iter, self.tol
        )
        if change > self.tol:
            warn_unconverged(
                self,
                f"multipliers that still changed by {change:.2e} (a smaller slack "
                "helps)",
            )
        S = correction(EKE, multipliers)
        d, b = svm_dual(K - KE @ S @ KE.T, y, self.C)
        # k_learned(x, .) d = k(x, .) d - (k(x, i) - k(x, j)) S E'K d: an expansion in
        # the given kernel again.
        coef = d.copy()
        shift = S @ (KE.T @ d)
        np.subtract.at(coef, i, shift)
        np.add.at(coef, j, shift)
        return KernelExpansion(
            kernel, X, coef, b, pairs=pairs, multipliers=multipliers, n_iter=n_iter
        )

    def _targets(self, K, similar, rng):
        """Bounds of the squared distances, from the distances of random pairs."""
        i, j = rng.randint(len(K), size=(2, N_DISTANCES))
        diagonal = K.diagonal()
        distances = (diagonal[i] + diagonal[j] - 2 * K[i, j])[i != j]
        near, far = np.percentile(distances, PERCENTILES)
        smallest = 1e-6 * (far or 1.0)
        return np.where(similar, max(near, smallest), max(far, smallest))


def draw_pairs(y, n_pairs, rng):
    """Draw pairs of different rows, every other one within a class."""
    pairs = []
    sides = [np.flatnonzero(y < 0), np.flatnonzero(y > 0)]
    large = [side for side in sides if len(side) > 1]
    for k in range(n_pairs):
        if k % 2:
            pairs.append([rng.choice(side) for side in sides])
        elif large:
            sizes = np.array([len(side) for side in large])
            side = large[rng.choice(len(large), p=sizes / sizes.sum())]
            pairs.append(rng.choice(side, size=2, replace=False))
    return np.array(pairs).reshape(-1, 2)


def project_cyclically(EKE, targets, similar, slack, max_iter, tol):
    """Cyclic Bregman projections onto the constraints, with slack.

    Solves ``min D(K, K_0) + slack D(diag xi, diag targets)`` for the LogDet divergence
    D, subject to ``(e_i - e_j)'K(e_i - e_j) <= xi_c`` for the similar pairs and ``>=``
    for the others. The step is the root of both stationarity conditions, ``slack /
    (slack + 1) (1/p - 1/xi)``; the papers print ``(1/p - slack/xi) / 2``, which is the
    same only for slack = 1.
    """
    M = EKE.copy()
    xi = targets.astype(float)
    signs = np.where(similar, 1.0, -1.0)
    dual = np.zeros(len(targets))
    # The distance of equal rows cannot change.
    active = np.flatnonzero(M.diagonal() > 1e-12 * max(M.diagonal().max(), 0.0))
    n_iter = 0
    change = np.inf
    while change > tol and n_iter < max_iter:
        n_iter += 1
        before = dual.copy()
        for c in active:
            p = M[c, c]
            sign = signs[c]
            root = sign * slack / (slack + 1) * (1 / p - 1 / xi[c])
            step = sign * min(dual[c], root)
            xi[c] = slack * xi[c] / (slack + step * xi[c])
            dual[c] -= sign * step
            M += step / (1 - step * p) * np.outer(M[c], M[c])
        change = np.linalg.norm(dual - before) / max(np.linalg.norm(dual), 1e-300)
    return signs * dual, n_iter, change


def correction(EKE, multipliers):
    """S with ``K_learned = K - KE S E'K``, by the Woodbury identity."""
    scaled = multipliers[:, None] * EKE
    np.fill_diagonal(scaled, scaled.diagonal() + 1)
    return np.linalg.solve(scaled, np.diag(multipliers))

"""Random features weighted by their alignment with the labels."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from adakern._utils.arrays import encode_classes
from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, NOT_NEGATIVE, constraints
from adakern._utils.resources import by_row_blocks, row_blocks
from adakern.baselines.base import BaselineClassifier
from adakern.kernels import resolve_gamma
from adakern.linalg import project_onto_simplex


@parameters
class RandomFeatureAlignment(BaselineClassifier):
    """Linear SVM on random Fourier features whose distribution is learned.

    Candidate features of the Gaussian kernel are weighted by the distribution q that
    maximises the alignment with the labels, ``sum_ij y_i y_j sum_m q_m phi_m(x_i)
    phi_m(x_j)``, within a chi-squared ball around the uniform distribution. As q is
    sparse, few features remain; they are scaled by the square roots of their weights.

    Parameters
    ----------
    C : float, default=1.0
        Regularization parameter of the linear SVM, positive.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the Gaussian kernel whose features are drawn.
    n_candidates : int, default=2000
        Number of candidate features drawn.
    rho : float, default=10.0
        Non-negative radius of the ball, ``n_candidates sum_m q_m^2 - 1 <= rho``. About
        n_candidates / (1 + rho) features are kept; with 0, the kernel stays Gaussian.
    random_state : int, RandomState instance or None, default=None
        Determines the candidate features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    feature_weights_ : ndarray of shape (n_candidates,)
    frequencies_ : ndarray of shape (d, n_kept)
    phases_, scales_ : ndarray of shape (n_kept,)
        Parameters of the features kept, ``scale cos(x'frequency + phase)``.
    rank_ : int
        Number of features kept.
    objective_ : float
        Alignment under q, relative to that of the uniform distribution.
    gamma_ : float
    linear_ : LinearSVC

    References
    ----------
    Sinha and Duchi, Learning kernels with random features, NIPS 2016.
    """

    C: float = 1.0
    _: KW_ONLY
    gamma: float | str = "scale"
    n_candidates: int = 2000
    rho: float = 10.0
    random_state: Any = None

    _parameter_constraints = constraints(
        "C",
        "gamma",
        "random_state",
        n_candidates=AT_LEAST_ONE,
        rho=NOT_NEGATIVE,
    )

    def _fit(self, X, y):
        self.classes_, codes = encode_classes(self, y)
        rng = check_random_state(self.random_state)
        self.gamma_ = resolve_gamma(self.gamma, X)
        # exp(-gamma |z|^2) is the Fourier transform of N(0, 2 gamma I).
        size = (X.shape[1], self.n_candidates)
        frequencies = rng.normal(scale=np.sqrt(2 * self.gamma_), size=size)
        phases = rng.uniform(0, 2 * np.pi, size=self.n_candidates)

        alignments = feature_alignments(X, codes, frequencies, phases)
        q = most_aligned(alignments, self.rho)
        self.feature_weights_ = q
        self.objective_ = float(alignments @ q / max(alignments.mean(), 1e-300))
        kept = q > 0
        self.frequencies_ = frequencies[:, kept]
        self.phases_ = phases[kept]
        self.scales_ = np.sqrt(2 * q[kept])
        self.rank_ = int(kept.sum())
        self.linear_ = LinearSVC(C=self.C, dual=False, random_state=rng)
        self.linear_.fit(self._features(X), y)

    def _features(self, X):
        return self.scales_ * np.cos(X @ self.frequencies_ + self.phases_)

    def _values(self, X):
        return by_row_blocks(
            lambda rows: self.linear_.decision_function(self._features(rows)),
            X,
            2 * 8 * self.rank_,
        )


def feature_alignments(X, codes, frequencies, phases):
    """``sum_k (sum_i Y_ik phi_m(x_i))^2`` for every feature m.

    Y are centred class indicators.
    """
    n_classes = codes.max() + 1
    Y = np.eye(n_classes)[codes] - 1 / n_classes
    sums = np.zeros((n_classes, len(phases)))
    for rows in row_blocks(len(X), 2 * 8 * len(phases)):
        sums += Y[rows].T @ np.cos(X[rows] @ frequencies + phases)
    return 2 * np.sum(sums**2, axis=0)


def most_aligned(alignments, rho):
    """Distribution q that maximises ``alignments'q`` with ``N |q|^2 - 1 <= rho``."""
    N = len(alignments)
    scaled = (alignments - alignments.max()) / (np.ptp(alignments) or 1.0)

    def excess(log_s):
        q = project_onto_simplex(np.exp(log_s) * scaled)
        return N * q @ q - 1 - rho

    low, high = -20.0, 20.0
    if excess(low) >= 0:
        return np.full(N, 1 / N)
    # Even the most concentrated distribution may lie within the ball.
    log_s = high if excess(high) <= 0 else brentq(excess, low, high, xtol=1e-10)
    return project_onto_simplex(np.exp(log_s) * scaled)

"""The papers' bounds on what a partition of the data costs DANK.

For experiments only: no fit needs them. All are for the problem without intercept and
without the nuclear norm (JMLR, problem 18), whose block-diagonal counterpart (problem
20) has the kernel ``Kbar_ij = K_ij`` within a cluster and 0 between clusters.
``smallest`` and ``largest`` are bounds B1 and B2 of the entries of both matrices F, and
B = B2 - B1.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from adakern.kernels import gram_matrix


@dataclass(frozen=True)
class PartitionBounds:
    """What the bounds say for one partition."""

    #: Q(pi) of JMLR, Theorem 6, the sum of |K_ij| over pairs of different clusters.
    between: float
    #: Bound of ``|H(alpha*, F*) - H(alphabar, Fbar)|`` that holds: B2 C^2 Q / 2.
    objective: float
    #: The bound as JMLR, Theorem 6 prints it, B C^2 Q / 2. Its proof bounds ``(alpha_i
    #: alpha_j - abar_i abar_j) F_ij`` by B C^2 where only B2 C^2 holds, and data break
    #: it.
    objective_printed: float
    #: Preprint, Theorem 7: of ``||alpha* - alphabar||_2^2``. Its proof takes the
    #: Frobenius norm of a matrix for a lower bound of its quadratic form.
    coefficients_printed: float
    #: Preprint, Theorem 7: of ``||F* - Fbar||_F``, which rests on the former.
    factor_printed: float


def between_clusters(K, clusters):
    """Q(pi): the sum of |K_ij| over all pairs of different clusters."""
    clusters = np.asarray(clusters)
    return float(np.abs(K)[clusters[:, None] != clusters].sum())


def coupling(X, labels, kernel, *, n_sample=2000, random_state=None):
    """Q(pi) of JMLR, Theorem 6: the sum of |k(x_i, x_j)| between clusters.

    Estimated from all pairs of a random sample of the rows, scaled to all pairs.
    """
    n = X.shape[0]
    rng = check_random_state(random_state)
    rows = rng.choice(n, min(n, n_sample), replace=False)
    within_sample = between_clusters(gram_matrix(X[rows], **kernel), labels[rows])
    pairs = n * (n - 1) / max(1, len(rows) * (len(rows) - 1))
    return within_sample * pairs


def partition_bounds(K, clusters, C, eta, smallest, largest):
    """The bounds of JMLR, Theorem 6 and of the preprint's Theorem 7."""
    if not 0 < smallest <= largest:
        raise ValueError(
            f"the bounds hold for entries of F in a positive range, got smallest="
            f"{smallest} and largest={largest}; a larger eta keeps F near one"
        )
    width, n = largest - smallest, len(K)
    Q = between_clusters(K, clusters)
    norm = float(np.linalg.norm(K))
    coefficients = (largest * Q / norm + 2 * width) / smallest
    return PartitionBounds(
        between=Q,
        objective=largest * C**2 * Q / 2,
        objective_printed=width * C**2 * Q / 2,
        coefficients_printed=coefficients * C**2,
        factor_printed=(norm * np.sqrt(n * coefficients) / 2 + Q / 4) * C**2 / eta,
    )


def screened_rows(gradient, K, C, smallest, largest):
    """Rows that JMLR, Theorem 7 recognises as no support vectors of the whole.

    The condition is ``gradient_i <= -(B + B2) C (||K_i||_1 + kappa)``, with the
    gradient of the partitioned problem at its solution. It is safe, and never met: the
    gradient is at least ``1 - B2 C ||Kbar_i||_1``, which is above the threshold. (The
    number that the papers report for it, 442.3, is positive.)
    """
    columns = np.abs(K).sum(axis=0) + np.abs(K).max()
    return gradient <= -(2 * largest - smallest) * C * columns

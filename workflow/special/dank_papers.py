"""Algorithms, constants and bounds as printed in the papers, for experiments only.

Step lengths 1/L from the theorems are far too short to reach the optimum in the papers'
2,000 iterations. The projections are exact, whereas the papers alternate between a box
and a plane.

The bounds on the cost of a partition of the data are for the problem without intercept
and without the nuclear norm (JMLR, problem 18), whose block-diagonal counterpart
(problem 20) has the kernel ``Kbar_ij = K_ij`` within a cluster and 0 between clusters.
``smallest`` and ``largest`` are bounds B1 and B2 of the entries of both matrices F, and
B = B2 - B1.
"""

import numpy as np

from adakern.svm.dual import Ascent

#: Step length at which the papers' methods stop.
LEAST_STEP = 1e-4


def lipschitz_constant(K, dual, eta):
    """Lipschitz constant of the gradient of h.

    Classification: ``L = kappa (n + 3 n C^2 ||K||_F / (4 eta))`` (JMLR, Theorem 4).
    Regression: ``L = 2 kappa (n + 9 n C^2 ||K||_F / (4 eta))`` (JMLR, Theorem 10),
    returned doubled, since Algorithm 2 takes steps of 1 / (2 L).
    kappa is the largest ``abs(k(x, x'))``, which the preprint leaves out; linear and
    polynomial kernels exceed one.
    """
    n = len(K)
    kappa = np.abs(K).max()
    norm = n * dual.C**2 * np.linalg.norm(K) / (4 * eta)
    return (
        2 * 2 * kappa * (n + 9 * norm) if dual.is_regression else kappa * (n + 3 * norm)
    )


def nesterov(problem, start, tol, *, max_iter):
    """Nesterov's method: JMLR, Algorithm 1 (classification) and 2 (regression)."""
    dual = problem.dual
    L = lipschitz_constant(problem.K, dual, problem.eta)
    weighted_gradients = np.zeros_like(start.u)

    def following(point, t):
        nonlocal weighted_gradients
        weighted_gradients = weighted_gradients + (t + 1) * point.gradient
        theta = dual.project(point.u + point.gradient / L)  # line 6
        beta = dual.project(start.u + weighted_gradients / (2 * L))  # line 7
        return (t + 1) / (t + 3) * theta + 2 / (t + 3) * beta  # line 8

    return _iterate(problem, start, tol, following, max_iter)


def projected_gradient(problem, start, tol, *, max_iter):
    """Projected gradient ascent (JMLR, equation 17) with the bound on lambda_max(F) of
    Lemma 1.
    """
    K = problem.K
    dual = problem.dual
    n = len(K)
    kappa = np.abs(K).max()
    largest = np.linalg.eigvalsh(K)[-1]
    bound = n - problem.tau / 2 + n * dual.C**2 * largest / (4 * problem.eta)

    def following(point, t):
        return dual.project(point.u + point.gradient / (kappa * bound))

    return _iterate(problem, start, tol, following, max_iter)


def _iterate(problem, start, tol, following, max_iter):
    ascent = Ascent(start, tol)
    for t in range(max_iter):
        ascent.add(problem(following(ascent.point, t), near=ascent.point))
        if ascent.history["step"][-1] <= LEAST_STEP or ascent.converged:
            break
    return ascent


def between_clusters(K, clusters):
    """Q(pi): the sum of |K_ij| over all pairs of different clusters."""
    clusters = np.asarray(clusters)
    return float(np.abs(K)[clusters[:, None] != clusters].sum())


def partition_bounds(K, clusters, C, eta, smallest, largest):
    """Bounds of the theorems on the effect of a partition, by name.

    "objective" is a valid bound of ``|H(alpha*, F*) - H(alphabar, Fbar)|``. JMLR,
    Theorem 6 prints a smaller one, "objective_printed": its proof bounds ``(alpha_i
    alpha_j - abar_i abar_j) F_ij`` by B C^2 although only B2 C^2 holds, and there are
    data that violate it. "coefficients" bounds ``||alpha* - alphabar||_2^2`` and
    "factor" ``||F* - Fbar||_F`` (preprint, Theorem 7). Their proof uses the Frobenius
    norm of a matrix as a lower bound of its quadratic form.
    """
    if not 0 < smallest <= largest:
        raise ValueError(
            f"the bounds require positive entries of F, 0 < smallest <= largest, got "
            f"smallest={smallest} and largest={largest}; a larger eta keeps F near one"
        )
    width = largest - smallest
    n = len(K)
    Q = between_clusters(K, clusters)
    norm = float(np.linalg.norm(K))
    coefficients = (largest * Q / norm + 2 * width) / smallest
    return {
        "objective": largest * C**2 * Q / 2,
        "objective_printed": width * C**2 * Q / 2,
        "coefficients": coefficients * C**2,
        "factor": (norm * np.sqrt(n * coefficients) / 2 + Q / 4) * C**2 / eta,
    }


def screened_rows(gradient, K, C, smallest, largest):
    """Rows that JMLR, Theorem 7 rules out as support vectors of the whole problem.

    The condition ``gradient_i <= -(B + B2) C (||K_i||_1 + kappa)`` is safe but never
    met: the gradient is at least ``1 - B2 C ||Kbar_i||_1``. (The number that the papers
    report, 442.3, is positive.)
    """
    return gradient <= -(2 * largest - smallest) * C * (
        np.abs(K).sum(axis=0) + np.abs(K).max()
    )

"""The papers' own methods: fixed step lengths 1/L, from zero, as they are printed.

They know h by its value and gradient alone. Step lengths from the theorems are far too
short to reach the optimum in the papers' 2,000 iterations (``benchmarks/dank_exact.py``
counts them); "newton" and "accelerated" are for use. The projections are exact where
the papers alternate between a box and a plane, which ends at a feasible point, not at
the nearest one.
"""

import numpy as np

from adakern.svm.ascent import History, Solution, is_certified


def lipschitz_constant(K, dual, eta):
    """The Lipschitz constant of the gradient of h.

    Classification: ``L = kappa (n + 3 n C^2 ||K||_F / (4 eta))`` (JMLR, Theorem 4).
    Regression: the gradient in (alpha hat, alpha check) has the constant 2 L, which the
    steps of Algorithm 2 divide by, with ``L = 2 kappa (n + 9 n C^2 ||K||_F / (4 eta))``
    (JMLR, Theorem 10; the preprint's Theorem 11). kappa is the largest ``abs(k(x,
    x'))``, which the preprint leaves out; it is above one for linear and polynomial
    kernels.
    """
    n, kappa = len(K), np.abs(K).max()
    norm = n * dual.C**2 * np.linalg.norm(K) / (4 * eta)
    if dual.is_regression:
        return 2 * 2 * kappa * (n + 9 * norm)
    return kappa * (n + 3 * norm)


def nesterov(h, start, *, tol, max_iter, min_step=1e-4):
    """Nesterov's method: JMLR, Algorithm 1 (classification) and 2 (regression)."""
    L, project = lipschitz_constant(h.K, h.dual, h.eta), h.dual.project
    origin = np.zeros_like(start)
    weighted_gradients = np.zeros_like(start)

    def following(point, t):
        nonlocal weighted_gradients
        weighted_gradients = weighted_gradients + (t + 1) * point.gradient
        theta = project(point.u + point.gradient / L)  # line 6
        beta = project(origin + weighted_gradients / (2 * L))  # line 7
        return (t + 1) / (t + 3) * theta + 2 / (t + 3) * beta  # line 8

    return _iterate(h, origin, following, tol, max_iter, min_step)


def projected_gradient(h, start, *, tol, max_iter, min_step=1e-4):
    """Projected gradient ascent (JMLR, equation 17).

    Parameters and result are those of :func:`nesterov`.

    Its constant is ``kappa (n - tau/2 + n C^2 lambda_max(K) / (4 eta))``, the bound of
    lambda_max(F) that Lemma 1 gives; kappa, which the paper leaves out, carries it over
    to F∘K.
    """
    n, kappa = len(h.K), np.abs(h.K).max()
    largest = np.linalg.eigvalsh(h.K)[-1]
    bound = n - h.tau / 2 + n * h.dual.C**2 * largest / (4 * h.eta)

    def following(point, t):
        return h.dual.project(point.u + point.gradient / (kappa * bound))

    return _iterate(h, np.zeros_like(start), following, tol, max_iter, min_step)


def _iterate(h, start, following, tol, max_iter, min_step):
    history, point = History(), h(start)
    history.add(point, 0.0)
    for t in range(max_iter):
        new = h(following(point, t), near=point)
        step = np.linalg.norm(new.u - point.u)
        history.add(new, step)
        point = new
        if step <= min_step or is_certified(point, tol):
            break
    return Solution(point, is_certified(point, tol), history.rows)

"""The exact strategy: the whole problem, solved to a certificate."""

import warnings

import numpy as np
from numpy.polynomial import Polynomial
from scipy.optimize import brentq
from sklearn.exceptions import ConvergenceWarning

from adakern._utils.memory import require_memory
from adakern._utils.threads import one_scipy_thread
from adakern.dank.extension import make_extension
from adakern.dank.hessian import StoredHessian
from adakern.dank.quadratic import maximise_quadratic
from adakern.dank.saddle import ClosedFormSaddle, FrozenSaddle, make_saddle
from adakern.kernels import gram_matrix, row_blocks
from adakern.svm import ascent
from adakern.svm.libsvm import svm_dual, svr_dual

__all__ = ["Machine", "fit_exact", "reserve", "support_vector_machine", "svm_eta"]

#: Rows up to which the matrix of the quadratic model is stored.
DENSE_ROWS = 2000

#: Iterations of a machine with F held; one that needs more is left to Newton's method.
MACHINE_ITERATIONS = 100

#: An eigenvalue below minus this share of the largest is not rounding.
NEGATIVE_SHARE = 1e-8


def fit_exact(estimator, X, dual):
    """Fit one machine on all of X; see ``adakern.dank.base.STRATEGIES``."""
    reserve(len(dual.y))
    X = np.asarray(X, dtype=np.float64)  # kernels of float32 lose the certificate
    K = estimator._gram(X)
    check_kernel(K, estimator.kernel)
    svm = support_vector_machine(K, dual)
    eta = svm_eta(dual, svm) if estimator.eta == "svm" else float(estimator.eta)
    start = best_multiple(K, dual, eta, svm, estimator.tol)
    saddle = make_saddle(K, dual, eta, estimator.tau, estimator.tol)
    with one_scipy_thread(len(K)):
        solution = SOLVERS[estimator.method](
            saddle, start, tol=estimator.tol, max_iter=estimator.max_iter
        )
    if not solution.converged:
        point = solution.point
        warnings.warn(
            f"DANK stopped after {solution.n_iter} iterations with the duality gap "
            f"{point.gap:.3g}, {point.gap / abs(point.svm_value):.1e} of the objective "
            f"{point.svm_value:.6g} (tol={estimator.tol:g}); increase max_iter or tol",
            ConvergenceWarning,
            stacklevel=5,
        )
    return Machine(estimator, X, K, saddle, solution)


def reserve(n_rows):
    """Ask for the Gram matrix's memory before any work is done."""
    require_memory(
        8 * n_rows**2,
        f'strategy="exact" stores the {n_rows} x {n_rows} Gram matrix and',
        'use strategy="decomposed" (or "whole" with tau=0) for data of this size',
    )


def check_kernel(K, kernel):
    """Refuse a Gram matrix that is not symmetric positive semidefinite."""
    if not np.isfinite(K).all():
        raise ValueError(f"kernel={kernel!r} gives infinite values on these features")
    if kernel not in ("precomputed", "tl1", "poly"):
        return  # positive semidefinite by construction
    if not np.allclose(K, K.T, atol=1e-8 * np.abs(K).max()):
        raise ValueError(f"the Gram matrix of kernel={kernel!r} is not symmetric")
    smallest, largest = extreme_eigenvalues(K)
    if smallest < -NEGATIVE_SHARE * max(largest, -smallest):
        raise ValueError(
            f"the Gram matrix of kernel={kernel!r} is not positive semidefinite: its "
            f"smallest eigenvalue is {smallest:.4g}, the largest {largest:.4g}. DANK "
            "needs a positive semidefinite kernel; clip or shift the spectrum, or use "
            'kernel="rbf" or "laplacian"'
        )


def extreme_eigenvalues(K):
    """Smallest and largest eigenvalue of a symmetric matrix."""
    if len(K) <= DENSE_ROWS:
        values = np.linalg.eigvalsh(K)
        return values[0], values[-1]
    from scipy.sparse.linalg import eigsh

    start = np.ones(len(K))
    return np.sort(eigsh(K, k=2, which="BE", v0=start, return_eigenvectors=False))


def support_vector_machine(K, dual):
    """The solution of the same dual with F = 11': the warm start.

    LIBSVM's, which has no solver without an intercept; DANK's own then, with eta
    infinite.
    """
    n = len(dual.y)
    if not dual.fit_intercept:
        saddle = ClosedFormSaddle(K, dual, np.inf)
        start = np.zeros(len(dual.signs))
        return _default(saddle, start, tol=1e-4, max_iter=10_000).point.u
    # Many rows: the gap sums the error of each, and LIBSVM's digits are the cheapest.
    tol = 1e-3 if n <= DENSE_ROWS else 1e-5
    if len(dual.signs) == n:
        d, _ = svm_dual(K, dual.y, dual.C, tol=tol)
    else:
        epsilon = -(dual.linear[:n] + dual.linear[n:]).mean() / 2
        d, _ = svr_dual(K, dual.y, dual.C, max(epsilon, 0.0), tol=tol)
    return dual.project(np.maximum(dual.pull_back(d), 0.0))


def svm_eta(dual, u):
    """The papers' rule eta = ||alpha||^2 with alpha of the support vector machine."""
    d = dual.coefficients(u)
    return max(float(d @ d), np.finfo(float).eps * dual.C**2)


def best_multiple(K, dual, eta, u, tol):
    """The feasible multiple of u that maximises h where tau is zero, a quartic in it.

    The support vector machine's variables are too large for a small eta, and Newton's
    method takes only a third off in each round while the quartic term rules. Where the
    multiple gains less than the share tol the machine's own optimality is worth more.
    """
    d = dual.coefficients(u)
    support = np.flatnonzero(d)
    d = d[support]
    K = K[np.ix_(support, support)]
    linear, quadratic = max(dual.linear @ u, 0.0), d @ K @ d
    quartic = d**2 @ np.einsum("ij,ij,j->i", K, K, d**2) / (4 * eta)
    h = Polynomial([0.0, linear, -quadratic / 2, 0.0, -quartic / 4])
    slope = h.deriv()
    best = 1.0 if slope(1.0) >= 0 else brentq(slope, 0.0, 1.0)
    return best * u if h(best) - h(1.0) > tol * linear else u


def _default(saddle, start, *, tol, max_iter):
    """Rounds of quadratic models, then accelerated ascent for what they leave.

    Where F hardly moves, as under the papers' rule for eta, machines with F held come
    first if there are many rows: they cost products with K alone.
    """
    methods = [_newton, _accelerated]
    if len(saddle.K) > DENSE_ROWS:
        methods.insert(0, _best_responses)
    solution = methods[0](saddle, start, tol=tol, max_iter=max_iter)
    for method in methods[1:]:
        left = max_iter - solution.n_iter
        if solution.converged or left <= 0:
            break
        following = method(saddle, solution.point.u, tol=tol, max_iter=left)
        for name, column in following.history.items():
            column[:1] = solution.history[name]
        solution = following
    return solution


def _newton(saddle, start, *, tol, max_iter):
    dual, n = saddle.dual, len(saddle.K)

    def maximise_model(point):
        H = saddle.hessian(point)
        if n <= DENSE_ROWS:
            H = StoredHessian(H.block(np.arange(n)))
        linear = point.gradient + dual.pull_back(H @ point.d)
        accuracy = max(1e-2 * tol, 1e-12) * (abs(point.svm_value) + point.gap)
        return maximise_quadratic(H, linear, dual, accuracy, start=point.u)

    return ascent.rounds(saddle, start, maximise_model, tol=tol, max_iter=max_iter)


def _best_responses(saddle, start, *, tol, max_iter):
    """Rounds of the machine with F held, in which an iteration is one product with K.

    They are left where F moves much or a machine needs many iterations, and
    what that machine reached is dropped: its active set is that of no solution.
    """

    def maximise_model(point):
        machine = ascent.accelerated(
            FrozenSaddle(saddle, point),
            point.u,
            saddle.dual.project,
            tol=tol / 2,
            max_iter=MACHINE_ITERATIONS,
        )
        return machine.point.u if machine.converged else None

    return ascent.rounds(
        saddle, start, maximise_model, tol=tol, max_iter=max_iter, progress=0.5
    )


def _accelerated(saddle, start, *, tol, max_iter):
    return ascent.accelerated(
        saddle, start, saddle.dual.project, tol=tol, max_iter=max_iter
    )


def _lipschitz(saddle):
    """The constant of Theorem 4 (classification) and Theorem 11 (regression)."""
    n = len(saddle.K)
    norm = (saddle.K**2).sum() * saddle.dual.C**2 / (4 * saddle.eta)
    if len(saddle.dual.signs) == n:
        return n + 3 * n * norm
    return 2 * (n + 9 * n * norm)


def _nesterov(saddle, start, *, tol, max_iter):
    return ascent.nesterov(
        saddle,
        np.zeros_like(start),
        saddle.dual.project,
        lipschitz=_lipschitz(saddle),
        tol=tol,
        max_iter=max_iter,
    )


def _project_gradient(saddle, start, *, tol, max_iter):
    n, C = len(saddle.K), saddle.dual.C
    largest = extreme_eigenvalues(saddle.K)[1]
    return ascent.project_gradient(
        saddle,
        np.zeros_like(start),
        saddle.dual.project,
        lipschitz=n - saddle.tau / 2 + n * C**2 / (4 * saddle.eta) * largest,
        tol=tol,
        max_iter=max_iter,
    )


SOLVERS = {
    "newton": _default,
    "accelerated": _accelerated,
    "nesterov": _nesterov,
    "projected-gradient": _project_gradient,
}


class Machine:
    """One fitted machine with all its training rows; see ``base.STRATEGIES``."""

    def __init__(self, estimator, X, K, saddle, solution):
        point = solution.point
        self.dual_coef = point.d
        self.intercept = point.intercept
        self.adaptive_factor = saddle.factor(point)
        self.rank = self.adaptive_factor.shape[1]
        self.objective = point.value
        self.duality_gap = max(point.gap, 0.0)
        self.n_iter = solution.n_iter
        self.converged = solution.converged
        self.history = solution.history
        self._precomputed = estimator.kernel == "precomputed"
        self._kernel_params = estimator._kernel_params
        self._rows = None if self._precomputed else X
        self._support = np.flatnonzero(point.d)
        self._extension = make_extension(estimator, self, X, K, saddle.eta)

    def decision_function(self, X):
        """Decision values of new rows, shape (m,), block by block."""
        support = self._support
        if not len(support):
            return np.full(len(X), self.intercept)
        coefficients = self.dual_coef[support]
        right = self._extension.train_factor[support] * coefficients[:, None]
        left = self._extension.transform(X)
        values = np.empty(len(X))
        for rows in row_blocks(len(X), 8 * (3 * len(support) + left.shape[1])):
            if self._precomputed:
                K = X[rows][:, support]
            else:
                K = gram_matrix(X[rows], self._rows[support], **self._kernel_params)
            values[rows] = np.einsum("ir,ir->i", left[rows], K @ right)
        return values + self.intercept

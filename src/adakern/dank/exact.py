"""The strategy "exact": DANK on one stored Gram matrix, to a certified duality gap."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from scipy.optimize import brentq

from adakern._utils.arrays import as_numpy
from adakern._utils.resources import one_blas_thread, require_memory, row_blocks
from adakern.dank import quartic
from adakern.dank.extension import EXTENSIONS, Trained
from adakern.dank.objective import (
    SVM_TOL,
    QuarticObjective,
    ThresholdedObjective,
    svm_eta,
)
from adakern.dank.quartic import Quartic, squared_product
from adakern.kernels import TrainingRows
from adakern.linalg import require_positive_semidefinite
from adakern.svm import ascent
from adakern.svm.dual import Ascent, Solution
from adakern.svm.libsvm import fit_dual

#: Smallest step of a line search, relative to the distance of its target.
SHORTEST = 1e-6

#: A full step whose gain is lost in rounding is too long if it reverses more than this
#: fraction of the slope. Such steps would alternate about the maximum.
MOST_REVERSED = 0.8


@dataclass
class ExactModel:
    """Model with F on the training rows, and a rule that extends F to new rows."""

    dual_coef: np.ndarray
    intercept: float
    eta: float
    adaptive_factor: np.ndarray
    rank: int
    objective: float
    duality_gap: float
    n_iter: int
    converged: bool
    history: dict
    extension: Any
    _rows: TrainingRows

    def decision_function(self, X):
        """Decision values of new rows, or of their kernel values, by blocks."""
        X = as_numpy(X)
        support = np.flatnonzero(self.dual_coef)
        values = np.empty(len(X))
        right = self.extension.train_factor[support] * self.dual_coef[support, None]
        left = self.extension.transform(X)
        for part in row_blocks(len(X), 8 * (3 * len(support) + left.shape[1])):
            K = self._rows.kernel(X[part], support)
            values[part] = np.einsum("ir,ir->i", left[part], K @ right)
        return values + self.intercept


def fit_exact(estimator, X, dual):
    """Fit an :class:`ExactModel` to rows X, or to their Gram matrix if precomputed."""
    n = len(X)
    require_memory(
        8 * n**2,
        f'strategy="exact" stores the {n} x {n} Gram matrix and',
        'use strategy="decomposed" (or "whole" with tau=0) for data of this size',
    )
    with one_blas_thread(n):
        X = np.asarray(X, dtype=np.float64)  # float32 would invalidate the certificate
        kernel = estimator.kernel
        K = estimator._gram(X)
        if not np.isfinite(K).all():
            raise ValueError(
                f"kernel={kernel!r} gives infinite values; scale the features"
            )
        if kernel in ("precomputed", "tl1", "poly"):
            require_positive_semidefinite(K, kernel, "DANK")
        tol = estimator.tol
        problem, start = make_problem(K, dual, estimator.eta, estimator.tau, tol)
        solve = METHODS[estimator.method]
        solution = solve(problem, problem(start), tol, max_iter=estimator.max_iter)
        point = solution.point
        rows = TrainingRows(X, K, estimator._kernel_params)
        Z = problem.factor(point)
        trained = Trained(
            Z=Z,
            d=point.d,
            K=K,
            rows=rows,
            copies=dual.copies * np.ones(n),
            eta=problem.eta,
            tau=estimator.tau,
            n_neighbors=estimator.n_neighbors,
            random_state=estimator.random_state,
        )
        return ExactModel(
            dual_coef=point.d,
            intercept=point.intercept,
            eta=problem.eta,
            adaptive_factor=Z,
            rank=Z.shape[1],
            objective=point.value,
            duality_gap=solution.gap,
            n_iter=solution.n_iter,
            converged=solution.converged,
            history=solution.history,
            extension=EXTENSIONS[estimator.extension](trained),
            _rows=rows,
        )


def make_problem(K, dual, eta, tau, tol):
    """Return h on a Gram matrix, and the starting point u, a multiple of the SVM's."""
    options = {"kernel": "precomputed", "cache_size": 500}
    d, converged = fit_dual(K, dual, SVM_TOL, **options)
    if eta == "svm" and not converged:
        d = _svm(K, replace(dual, fit_intercept=True), d)
    if not dual.fit_intercept:  # LIBSVM always has one
        d = _svm(K, dual, d)
    svm = dual.project(dual.variables(d))
    if eta == "svm":
        d = dual.coefficients(svm)
        eta = svm_eta(
            [dual.squares(d)],
            dual.C,
            lambda: [dual.squares(_svm(K, replace(dual, fit_intercept=False), d))],
        )
    start = best_multiple(K, dual, eta, svm, tol)
    if tau > 0:
        return ThresholdedObjective(K, dual, eta, tau, tol), start
    return QuarticObjective(K, dual, eta), start


def newton(problem, start, tol, *, max_iter):
    """Maximise h by maximising models of it, then by accelerated ascent if needed.

    The model is h itself if there is no nuclear norm, and otherwise the second-order
    model. Each is maximised over the feasible set, followed by a line search.
    """
    way = Ascent(start, tol)
    while not way.converged and way.n_iter < max_iter:
        target = problem.maximise_model(way.point, tol)
        new = _line_search(problem, way.point, target)
        if new is None:  # no ascent that exceeds rounding errors
            break
        way.add(new)
    if way.converged:
        return way
    rest = ascent.solve(problem, way.point, tol, max_iter=max_iter - way.n_iter)
    history = {name: way.history[name] + rest.history[name][1:] for name in way.history}
    return Solution(rest.point, rest.gap, rest.converged, history)


def _line_search(problem, point, target):
    """Backtrack from the target to the first sufficient ascent, or return None."""
    direction = target - point.u
    slope = point.gradient @ direction
    slack = ascent.ROUNDING * abs(point.value)
    share = 1.0
    if not direction.any():
        return None
    while share >= SHORTEST:
        # Use the target itself: rounding could move variables off their bounds.
        new = problem(target if share == 1.0 else point.u + share * direction, point)
        gain = new.value - point.value
        left = new.gradient @ direction
        if gain >= 0.1 * share * slope - slack and (slope > 0 or new.gap < point.gap):
            measurable = not 0 < slope <= 10 * slack
            if share < 1.0 or measurable or left >= -MOST_REVERSED * slope:
                return new
            # The gain is lost in rounding, but the slopes show a step that is too long
            # (Hager and Zhang 2005); they vanish at the step that follows.
            share = slope / (slope - left)
        else:
            best = _top_of_parabola(share, slope, gain, left)
            share = max(best, 0.1 * share)
    return None


def _top_of_parabola(share, slope, gain, left):
    """Share at which h is largest, by its gain and its slope ``left`` at ``share``.

    At most half of ``share``, if h is a parabola with this gain. If its maximum is
    close to zero, h bends on the way, where an eigenvalue of F becomes positive: it is
    then taken to be straight up to there, and a parabola with both slopes from there
    on.
    """
    best = share * slope * share / (2 * (share * slope - gain))
    if slope > 0 and best < 0.1 * share:
        bent = 2 * (share * slope - gain) / (slope - left)
        return min(share - bent + slope * bent / (slope - left), 0.95 * share)
    return min(best, 0.5 * share)


#: Solvers by the values of the parameter ``method``.
METHODS = {"newton": newton, "accelerated": ascent.solve}


def _svm(K, dual, start):
    """Coefficients of the SVM, starting from ``start``."""
    start = np.clip(start, dual.lower, dual.upper)
    goal = SVM_TOL**2 * max(abs(dual.linear @ dual.variables(start)), dual.C)
    return quartic.solve(Quartic(K, dual, np.inf), start, goal).d


def best_multiple(K, dual, eta, u, tol):
    """Return the feasible multiple of u that maximises h with tau = 0.

    Along this line, h is a quartic. For a small eta, the SVM's variables are too large,
    which slows down Newton's method. If scaling increases h by less than the fraction
    tol of the linear term, u itself is returned, since it is optimal for the SVM.
    """
    d = dual.coefficients(u)
    linear = max(dual.linear @ u, 0.0)
    quadratic = d @ (K @ d)
    q = dual.squares(d)
    quartic = q @ squared_product(K, q) / (4 * eta)
    h = Polynomial([0.0, linear, -quadratic / 2, 0.0, -quartic / 4])
    slope = h.deriv()
    best = 1.0 if slope(1.0) >= 0 else brentq(slope, 0.0, 1.0)
    return best * u if h(best) - h(1.0) > tol * linear else u

"""Newton's method for DANK on a stored Gram matrix.

It maximises the function h of :mod:`adakern.dank.objective`. Each iteration maximises a
model of h over the feasible set, followed by a line search towards the model's
maximiser. The model is h itself if there is no nuclear norm, and otherwise the
second-order model. If no ascent is found, accelerated ascent takes over.
"""

from dataclasses import replace

import numpy as np

from adakern._utils.memory import CACHE_BYTES, row_blocks
from adakern.dank import quartic
from adakern.dank.quartic import Quartic
from adakern.linalg import add_to_diagonal
from adakern.svm import ascent
from adakern.svm.dual import Ascent, Solution


def solve(problem, start, tol, *, max_iter):
    """Maximise h by maximising models of it, then by accelerated ascent if needed."""
    way = Ascent(start, tol)
    maximise_model = _second_order if problem.tau else _quartic
    while not way.converged and way.n_iter < max_iter:
        target = maximise_model(problem, way.point, tol)
        new = _line_search(problem, way.point, target)
        if new is None:  # no ascent that exceeds rounding errors
            break
        way.add(new)
    if way.converged:
        return way
    rest = ascent.solve(problem, way.point, tol, max_iter=max_iter - way.n_iter)
    history = {name: way.history[name] + rest.history[name][1:] for name in way.history}
    return Solution(rest.point, rest.gap, rest.converged, history)


def _line_search(problem, point, target, shortest=1e-6):
    """Backtrack from the target to the first sufficient ascent, or return None."""
    direction = target - point.u
    slope = point.gradient @ direction
    slack = ascent.ROUNDING * abs(point.value)
    share = 1.0
    if not direction.any():
        return None
    while share >= shortest:
        # Use the target itself: rounding could move variables off their bounds.
        new = problem(target if share == 1.0 else point.u + share * direction, point)
        gain = new.value - point.value
        if gain >= 0.1 * share * slope - slack and (slope > 0 or new.gap < point.gap):
            return new
        # Maximiser of the parabola through the two values and the slope.
        parabola = share * slope * share / (2 * (share * slope - gain))
        share = min(max(parabola, 0.1 * share), 0.5 * share)
    return None


def _quartic(h, point, tol):
    """Maximiser of h, which is a quartic if there is no nuclear norm."""
    goal = tol / 2 * abs(point.svm_value)
    return h.dual.variables(quartic.solve(h, point.d, goal).d)


def _second_order(h, point, tol):
    """Maximiser of the second-order model of h, a quadratic program in d.

    In regression, the two linear terms of a row have the mean -epsilon, as in
    ``dual.linear``.
    """
    H = thresholded_hessian(h, point)
    dual = h.dual
    linear = point.gradient + dual.adjoint(H @ point.d)
    rows = (dual.signs * linear).reshape(-1, len(dual.target))
    target = (rows[0] + rows[1]) / 2 if dual.is_regression else rows[0]
    program = Quartic(H, replace(dual, target=target), np.inf)
    accuracy = max(1e-2 * tol, 1e-12) * (abs(point.svm_value) + point.gap)
    start = dual.coefficients(dual.project(point.u))
    return dual.variables(quartic.solve(program, start, accuracy).d)


def thresholded_hessian(h, point):
    """Minus the second derivative of h in d, for tau > 0, shape (n, n).

    It is ``F∘K`` plus the curvature of the thresholding, ``2 eta <J'(A)[E], E>`` for
    ``E = (diag(v) K diag(d) + diag(d) K diag(v)) / (4 eta)``. With eigenvalues f of F
    above zero, their eigenvectors U, ``W = K diag(d) U`` and the weights ``omega = 2 f
    / (f + tau/2)`` it is

        8 eta H = K∘(8 eta Z Z' + U omega W' diag(d) + diag(d) W omega U')
                  + diag(rowsum(W² omega)) + (U U')∘(W (2 - omega) W')
                  + (U W')∘(W (1 - omega) U') + (W U')∘(U (1 - omega) W').

    This is a slight underestimate: eigenvalues below the threshold enter as zero, and
    ``W W'`` replaces ``K diag(d)² K``, which would take n^3 operations. With sample
    weights, U and Z are the factors of F; the diagonal, and d outside of W, are divided
    by the weights.
    """
    f, U, Z, KZ = (point.parts[name] for name in ("f", "U", "Z", "KZ"))
    copies = h.dual.copies
    each = (point.d / copies)[:, None]
    scale = 8 * h.eta
    omega = 2 * f / (f + h.tau / 2)
    W = KZ / np.sqrt(f)
    halves = np.hstack([Z / 2, omega / scale * U]), np.hstack([Z, each * W])
    left = np.hstack(halves)
    right = np.hstack(halves[::-1])
    # H is K∘(left right') and the sum of (P Q')∘(R S') over these.
    kept = (2 - omega) / scale * W
    lost = (1 - omega) / scale * W
    products = [(U, U, kept, W), (U, W, lost, U), (W, U, U, lost)]
    H = np.empty_like(h.K)
    for part in row_blocks(len(H), 8 * len(H), CACHE_BYTES):
        # Compute the lower triangle, and copy it to the upper one.
        before = slice(0, part.stop)
        tile = left[part] @ right[before].T
        tile *= h.K[part, before]
        for P, Q, R, S in products:
            tile += (P[part] @ Q[before].T) * (R[part] @ S[before].T)
        H[part, before] = tile
        H[: part.start, part] = tile[:, : part.start].T
    return add_to_diagonal(H, W**2 @ (omega / scale) / copies)

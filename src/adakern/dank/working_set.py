"""The quartic of DANK on many rows, with no stored Gram matrix.

Only the rows that can gain move: in each round the rows with the largest gaps (see
:func:`adakern.dank.quartic.row_gaps`) join the support vectors in a working set, whose
own small quartic is solved with the other rows held fixed, and the kernel products of
all rows follow the change by tiles. The sum of the gaps over *all* rows is the duality
gap of the whole problem, and ends the rounds.
"""

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from adakern.dank.newton import climb
from adakern.dank.quartic import (
    Box,
    best_intercept,
    maximise_quartic,
    objective,
    row_gaps,
)
from adakern.kernels import gram_matrix, kernel_diagonal, kernel_products

__all__ = ["RowsSolution", "maximise_on_rows", "never_support"]

#: Share of the gap that a round need not go below; h is zero at first, and no measure.
ENOUGH = 1e-4

#: Rows that a working set grows by in one round: at most this share of the support
#: vectors, but never fewer than this many.
GROWTH, FEWEST_NEW = 0.2, 64

#: Rows for each product with the Gram matrix that is spent before a factorisation: all
#: of them together take the time of about three factorisations.
ROWS_PER_PRODUCT = 16


@dataclass(frozen=True)
class RowsSolution:
    """Maximiser over all rows, with its certificate.

    Attributes
    ----------
    dual_coef : array of shape (n,)
        Signed; zero for the rows that are no support vectors.
    intercept : float
        Zero unless the problem is balanced.
    objective, gap : float
        h and the duality gap over all rows.
    n_iter : int
        Rounds.
    n_screened : int
        Rows that were proved to be no support vectors before the end.
    converged : bool
    history : list of (float, float)
        Objective and gap before each round and at the end.
    """

    dual_coef: Any
    intercept: float
    objective: float
    gap: float
    n_iter: int
    n_screened: int
    converged: bool
    history: list


def maximise_on_rows(
    X,
    box,
    eta,
    kernel,
    *,
    start=None,
    balanced=False,
    tol=1e-4,
    max_iter=200,
    max_working=6000,
):
    """Maximise h over all rows of X by working sets.

    Parameters
    ----------
    X : array of shape (n, d)
    box : Box
        Targets and bounds of the n rows.
    eta : float
        Positive; infinity for the ordinary SVM without a bias.
    kernel : dict
        Keyword arguments of :func:`adakern.kernels.gram_matrix`.
    start : array of shape (n,), default=None
        Starting point; zero when None.
    balanced : bool, default=False
        Hold the sum of d at that of ``start``, which is the constraint of a machine
        with a bias.
    tol : float, default=1e-4
        Largest accepted duality gap, as a fraction of h.
    max_iter : int, default=200
        Largest number of rounds.
    max_working : int, default=6000
        Largest working set m; a round takes about five matrices of m^2 numbers.

    Returns
    -------
    RowsSolution
    """
    xp = array_namespace(X)
    d = (
        xp.zeros_like(box.target)
        if start is None
        else xp.clip(start, box.lower, box.upper)
    )
    Kd, Qq = _products(X, X, d, kernel)
    diagonal, live = kernel_diagonal(X, **kernel), xp.ones_like(d) > 0
    history = []
    while True:
        b = best_intercept(d, Kd, Qq, box, eta) if balanced else 0.0
        gaps = row_gaps(d, Kd, Qq, box, eta, intercept=b)
        gaps = xp.where(live, gaps, xp.zeros_like(gaps))
        h, gap = objective(d, Kd, Qq, box, eta), float(xp.sum(gaps))
        history.append((h, gap))
        converged = gap <= tol * abs(h)
        if converged or len(history) > max_iter:
            break
        moving = _working_set(d, gaps, max_working)
        # Precision is wasted while rows outside still want to join.
        outside = float(xp.sum(xp.where(moving, xp.zeros_like(gaps), gaps)))
        goal = 0.3 * max(tol * abs(h), 0.1 * outside, ENOUGH * gap)
        change = _best_change(X, moving, d, Kd, Qq, box, eta, kernel, balanced, goal)
        if not xp.any(change != 0):  # What is left is below the rounding errors.
            break
        if not balanced:  # The rule does not bound the multiplier b.
            live = live & ~never_support(d, Kd, diagonal, box, gap)
        square = (d + change) ** 2 - d**2
        rows = xp.nonzero(live)[0]
        K_change, Q_change = _products(
            xp.take(X, rows, axis=0), X, change, kernel, square=square
        )
        d = d + change
        Kd[live] = xp.take(Kd, rows) + K_change
        Qq[live] = xp.take(Qq, rows) + Q_change
    n_iter, n_screened = len(history) - 1, int(xp.count_nonzero(~live))
    return RowsSolution(d, b, h, gap, n_iter, n_screened, converged, history)


def never_support(d, Kd, diagonal, box, gap):
    """Mask of the rows that are no support vectors of the maximiser, for certain.

    The primal problem of :func:`adakern.dank.quartic.row_gaps` is 1-strongly convex in
    w, so that ``1/2 |w - w*|^2 <= gap`` and the decision value of row i moves at most
    ``sqrt(2 gap k_ii)`` on the way to the optimum. A row whose slope at zero points out
    of its box, or into the tube, for all these values stays at zero (a safe rule in the
    sense of Ndiaye et al., JMLR 2017; theorem 7 of the paper asks for a slope below
    ``-(B + B_2) C (||K_i||_1 + kappa)``, which few rows reach).

    Parameters
    ----------
    d, Kd : array of shape (n,)
        Any point of the box, and K d.
    diagonal : array of shape (n,)
        k_ii.
    box : Box
        Without the balance constraint of a bias.
    gap : float
        Duality gap at d.

    Returns
    -------
    array of bool of shape (n,)
        Only rows that are at zero already.
    """
    xp = array_namespace(d)
    residual, reach = box.target - Kd, xp.sqrt(2 * gap * diagonal)
    up = (box.upper > 0) & (residual + reach > box.epsilon)
    down = (box.lower < 0) & (residual - reach < -box.epsilon)
    return (d == 0) & ~up & ~down


def _products(X, Y, v, kernel, square=None):
    """``K v`` and ``(K o K) u`` with the rows of Y where v is not zero; u is v o v."""
    xp = array_namespace(X)
    rows = xp.nonzero(v)[0]
    u = v * v if square is None else square
    return kernel_products(
        X, xp.take(Y, rows, axis=0), xp.take(v, rows), xp.take(u, rows), **kernel
    )


def _working_set(d, gaps, max_working):
    """Mask of the rows to move: support vectors and the largest gaps."""
    xp = array_namespace(d)
    rank = xp.argsort(xp.argsort(gaps, descending=True))
    support = d != 0
    n_support = int(xp.count_nonzero(support))
    moving = support | ((rank < max(FEWEST_NEW, int(GROWTH * n_support))) & (gaps > 0))
    if int(xp.count_nonzero(moving)) > max_working:
        moving = rank < max_working
    return moving


def _best_change(X, moving, d, Kd, Qq, box, eta, kernel, balanced, gap_goal):
    """What the moving rows should add to d, the other rows held fixed; shape (n,)."""
    xp = array_namespace(X)
    rows = xp.nonzero(moving)[0]
    now, part = xp.take(d, rows), box.take(rows)
    K = gram_matrix(xp.take(X, rows, axis=0), **kernel)
    # The fixed rows act through a shifted target and a diagonal weight.
    target = part.target - (xp.take(Kd, rows) - K @ now)
    weight = (xp.take(Qq, rows) - (K * K) @ (now * now)) / (8 * eta)
    part = Box(target, part.lower, part.upper, part.epsilon)
    options = {"weight": weight, "balanced": balanced, "gap_goal": gap_goal}
    spend = now.shape[0] // ROWS_PER_PRODUCT
    best, gap = climb(K, part, eta, start=now, max_products=spend, **options)
    if gap > gap_goal:
        best = maximise_quartic(K, part, eta, start=best, tol=0.0, **options).dual_coef
    change = xp.zeros_like(d)
    change[moving] = best - now
    return change

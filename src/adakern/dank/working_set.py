"""DANK's quartic on many rows, without the Gram matrix of all rows.

In each iteration, the rows with the largest gaps (see :mod:`adakern.dank.quartic`) join
the support vectors in a working set. The small quartic of this set is solved with the
other rows held fixed, and the kernel products of all rows are updated by tiles. The
gaps of *all* rows sum to the duality gap.
"""

from dataclasses import dataclass, replace
from typing import Any

from array_api_compat import array_namespace

from adakern._utils.resources import one_blas_thread
from adakern.dank import quartic
from adakern.dank.quartic import Quartic, squared_product
from adakern.kernels import gram_matrix, kernel_diagonal, kernel_products
from adakern.linalg import principal_submatrix
from adakern.svm.dual import Dual, Solution

#: Tolerance of an inner solution, as a fraction of the gap over all rows. It cannot be
#: relative to the objective h, which is zero at first.
ENOUGH = 1e-4

#: If more than this fraction of the rows are support vectors at the start, and the
#: problem is small enough, its Gram matrix is stored instead of recomputed.
DENSE_SHARE = 0.3

#: Number of rows added to the working set per iteration: this fraction of the number of
#: support vectors, but at least this many.
GROWTH, FEWEST_NEW = 0.2, 64

#: Maximum number of rows in the working set, and of features, for which a single BLAS
#: thread is faster. An iteration alternates between NumPy's products and SciPy's
#: factorisations, whose thread pools busy-wait for each other.
FEW_ROWS, FEW_FEATURES = 4000, 100


@dataclass(frozen=True)
class RowsProblem:
    """DANK without the nuclear norm on rows of features."""

    X: Any
    #: Parameters of :func:`adakern.kernels.gram_matrix`.
    kernel: dict
    dual: Dual
    #: A number, or "svm" if the solver should determine it.
    eta: Any

    def take(self, rows):
        """Restrict the problem to some rows."""
        X = array_namespace(self.X).take(self.X, rows, axis=0)
        return replace(self, X=X, dual=self.dual.take(rows))


def solve(problem, start, tol, *, max_iter=200, max_working=6000):
    """Maximise h over all rows by working sets; start may be None."""
    X = problem.X
    dual = problem.dual
    xp = array_namespace(X)
    d = (
        xp.zeros_like(dual.target)
        if start is None
        else xp.clip(start, dual.lower, dual.upper)
    )
    n = d.shape[0]
    many = int(xp.count_nonzero(d)) > DENSE_SHARE * n
    gram = _Gram(X, problem.kernel, stored=many and n <= max_working)
    every = xp.arange(n, device=getattr(d, "device", None))
    h = Quartic(None, dual, problem.eta)
    point = h.at(d, *gram.products(every, d, dual.squares(d)))
    diagonal = kernel_diagonal(X, **problem.kernel)
    live = xp.ones_like(d) > 0
    history = {"objective": [], "gap": []}
    while True:
        d, gaps = point.d, xp.where(live, point.row_gaps, xp.zeros_like(d))
        size = abs(point.value)
        gap = float(xp.sum(gaps))
        history["objective"].append(point.value)
        history["gap"].append(gap)
        if not dual.fit_intercept:  # The rule does not bound the multiplier b.
            live = live & ~never_support(point, diagonal, gap)
        converged = gap <= tol * size
        if converged or len(history["gap"]) > max_iter:
            break
        moving = _working_set(point, gaps, live, max_working)
        # A precise solution would be wasted as long as rows outside may join.
        outside = float(xp.sum(xp.where(moving, xp.zeros_like(gaps), gaps)))
        goal = 0.3 * max(tol * size, 0.1 * outside, ENOUGH * gap)
        with one_blas_thread(int(xp.count_nonzero(moving)), FEW_ROWS):
            change = _best_change(gram, moving, point, goal)
        if not xp.any(change != 0):  # The remaining gap is below rounding errors.
            break
        rows = xp.nonzero(live)[0]
        difference = dual.squares(d + change) - dual.squares(d)
        K_change, Q_change = gram.products(rows, change, difference)
        Kd = point.Kd
        Qq = point.Qq
        Kd[live] = xp.take(Kd, rows) + K_change
        Qq[live] = xp.take(Qq, rows) + Q_change
        point = h.at(d + change, Kd, Qq)
    return Solution(point, gap, converged, history)


def never_support(point, diagonal, gap):
    """Mask of the rows that are provably not support vectors of the maximiser.

    The primal problem is 1-strongly convex in w, so the decision value of row i changes
    by at most ``sqrt(2 gap k_ii)`` until the optimum. A row stays at zero if, for all
    these values, its slope at zero points out of its box or into the tube. This is a
    safe screening rule (Ndiaye et al., JMLR 2017). The condition of JMLR, Theorem 7, a
    slope of ``-(B + B_2) C (||K_i||_1 + kappa)``, is never met.
    """
    xp = array_namespace(point.d)
    dual = point.problem.dual
    residual = dual.target - point.Kd
    reach = xp.sqrt(2 * gap * diagonal)
    up = (dual.upper > 0) & (residual + reach > dual.epsilon)
    down = (dual.lower < 0) & (residual - reach < -dual.epsilon)
    return (point.d == 0) & ~up & ~down


class _Gram:
    """Gram matrix of all rows, either stored or recomputed by tiles."""

    def __init__(self, X, kernel, *, stored):
        self.X, self.kernel = X, kernel
        self.K = gram_matrix(X, **kernel) if stored else None

    def products(self, rows, v, u):
        """``K v`` and ``(K∘K) u`` on some rows; u must be zero where v is."""
        xp = array_namespace(v)
        if self.K is not None:
            Kv = self.K @ v
            Qu = squared_product(self.K, u)
            return xp.take(Kv, rows), xp.take(Qu, rows)
        moved = xp.nonzero(v)[0]
        v, u = xp.take(v, moved), xp.take(u, moved)
        X, Y = (xp.take(self.X, part, axis=0) for part in (rows, moved))
        with one_blas_thread(self.X.shape[1], FEW_FEATURES):
            return kernel_products(X, Y, v, u, **self.kernel)

    def block(self, rows):
        """Return the submatrix of ``rows``."""
        if self.K is not None:
            return principal_submatrix(self.K, rows)
        return gram_matrix(
            array_namespace(self.X).take(self.X, rows, axis=0), **self.kernel
        )


def _working_set(point, gaps, live, max_working):
    """Mask of the working set: support vectors, and the rows with the largest gaps."""
    xp = array_namespace(point.d)
    dual = point.problem.dual
    residual = dual.target - point.Kd - point.intercept
    support = point.d != 0
    never = xp.full_like(residual, -xp.inf)
    up = xp.where(dual.upper > 0, residual, never)
    down = xp.where(dual.lower < 0, -residual, never)
    slope = xp.where(support | ~live, never, xp.maximum(up, down))
    n_new = max(FEWEST_NEW, int(GROWTH * int(xp.count_nonzero(support))))
    moving = support | (_largest(slope, n_new) & live)
    if int(xp.count_nonzero(moving)) > max_working:
        moving = _largest(gaps, max_working)
    return moving


def _largest(values, count):
    """Mask of the ``count`` largest values."""
    xp = array_namespace(values)
    return xp.argsort(xp.argsort(values, descending=True)) < count


def _best_change(gram, moving, point, tol):
    """Optimal change of d on the moving rows, with the others fixed; shape (n,)."""
    xp = array_namespace(point.d)
    problem = point.problem
    rows = xp.nonzero(moving)[0]
    now = xp.take(point.d, rows)
    part = problem.dual.take(rows)
    K = gram.block(rows)
    # The fixed rows act through a shifted target and a diagonal weight.
    target = part.target - (xp.take(point.Kd, rows) - K @ now)
    fixed = xp.take(point.Qq, rows) - squared_product(K, part.squares(now))
    weight = fixed / (8 * problem.eta * part.copies)
    part = replace(problem, K=K, dual=replace(part, target=target), weight=weight)
    change = xp.zeros_like(point.d)
    change[moving] = quartic.solve(part, now, tol).d - now
    return change

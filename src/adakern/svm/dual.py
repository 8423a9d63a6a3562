"""Dual problem of support vector machines with a learned kernel.

In the coefficients d of the decision function, both models maximise

    target'd - epsilon |d|_1 - 1/2 d'G d    over  lower <= d <= upper,

where G is the learned Gram matrix, with ``1'd = 0`` if there is an intercept:

- the classifier (JMLR, equation 2) has ``target = y``, ``epsilon = 0`` and d between 0
  and C y, so that target'd is the paper's 1'alpha;
- epsilon-regression (JMLR, problem 22) has the targets y and d between -C and C.

The papers write the same problem in the non-negative variables u = alpha, or
u = (alpha hat, alpha check): ``linear'u - 1/2 d'G d`` over ``0 <= u <= C`` and
``signs'u = 0``, where d is ``signs∘u`` summed by row. This form is smooth and is used
by the ascent methods; the solvers that change single rows use d.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from array_api_compat import array_namespace

from adakern.linalg import project_onto_feasible


@dataclass
class Dual:
    """Dual problem of one binary SVM or SVR, for any kernel."""

    #: Labels -1.0 and +1.0, or the targets of a regression, shape (n,).
    target: Any
    #: Bounds of the coefficients d, shape (n,).
    lower: Any
    upper: Any
    #: Half-width of the insensitive tube; 0 for classification. With a tube, the bounds
    #: contain zero.
    epsilon: float = 0.0
    #: Whether there is an intercept, and thereby the constraint ``1'd = 0``.
    fit_intercept: bool = True
    #: How often each row counts, shape (n,); None if all rows count once.
    weights: Any = None

    def __post_init__(self):
        """Compute the parts of the papers' form, in the variables u."""
        xp = array_namespace(self.target)
        #: How often each row counts: a row of weight w counts as w equal rows.
        self.copies = 1.0 if self.weights is None else self.weights
        highest = xp.max(self.upper / self.copies)
        lowest = xp.min(self.lower / self.copies)
        #: Largest bound of a row that counts once.
        self.C = max(float(highest), -float(lowest))
        #: Whether coefficients can have either sign.
        self.is_regression = bool(((self.lower < 0) & (self.upper > 0))[0])
        ones = xp.ones_like(self.target)
        sizes = xp.maximum(self.upper, -self.lower)
        #: Signs of the variables u and the linear term, shape (n,), or (2 n,) for a
        #: regression.
        self.signs = self.target
        self.linear = ones
        if self.is_regression:
            self.signs = xp.concat([ones, -ones])
            self.linear = xp.concat([self.target, -self.target]) - self.epsilon
            sizes = xp.concat([sizes, sizes])
        #: Upper bounds of the variables u, as one number if all are equal.
        self.most = self.C if self.weights is None else sizes

    def take(self, rows):
        """Restrict the problem to some rows."""
        take = array_namespace(self.target).take
        parts = (take(part, rows) for part in (self.target, self.lower, self.upper))
        weights = None if self.weights is None else take(self.weights, rows)
        return Dual(*parts, self.epsilon, self.fit_intercept, weights)

    def squares(self, d):
        """Sums of the squared coefficients of the copies of each row, which share d."""
        return d * d / self.copies

    def coefficients(self, u):
        """The coefficients d of the decision function, shape (n,)."""
        return (self.signs * u).reshape(-1, len(self.target)).sum(axis=0)

    def variables(self, d):
        """Smallest variables u, inside their bounds, with the coefficients d."""
        return np.clip(self.adjoint(d), 0.0, self.most)

    def adjoint(self, row_values):
        """Adjoint of ``coefficients``: from values of the rows to values of u."""
        return self.signs * np.tile(row_values, len(self.signs) // len(self.target))

    def project(self, u):
        """Project onto the feasible u."""
        if self.fit_intercept:
            return project_onto_feasible(u, self.signs, self.most)
        return np.clip(u, 0.0, self.most)

    def loss(self, f):
        """Minimum over the intercept of the hinge or tube loss; loss and intercept.

        ``C sum max(0, linear - signs (f + b))`` is convex and piecewise linear in b,
        with a slope that rises by one at each ``signs linear - f``, starting at minus
        the number of positive signs. With weights, it rises by the bound of a row. The
        intercept is the midpoint of the interval where the slope is zero.
        """
        slack = self.linear - self.adjoint(f)
        breakpoints = self.signs * slack
        if not self.fit_intercept:
            intercept = 0.0
        elif self.weights is None:
            middle = int((self.signs > 0).sum())
            sides = np.partition(breakpoints, [middle - 1, middle])
            intercept = sides[middle - 1 : middle + 1].mean()
        else:
            bounds = self.most
            order = np.argsort(breakpoints, kind="stable")
            slopes = np.cumsum(bounds[order]) - bounds[self.signs > 0].sum()
            flat = 4 * len(slopes) * np.finfo(float).eps * bounds.sum()
            low, high = np.searchsorted(slopes, [-flat, flat])
            ends = order[[low, min(high, len(order) - 1)]]
            intercept = breakpoints[ends].mean()
        excess = np.maximum(slack - self.signs * intercept, 0)
        total = self.C * excess.sum() if self.weights is None else self.most @ excess
        return total, intercept


def classification_dual(y, C, fit_intercept=True, weights=None):
    """Dual of support vector classification (JMLR, equation 2).

    A row of weight w counts as w equal rows, so its bound is C w.
    """
    xp = array_namespace(y)
    zero = xp.zeros_like(y)
    size = y * (C if weights is None else C * weights)
    lower = xp.where(y > 0, zero, size)
    upper = xp.where(y > 0, size, zero)
    return Dual(y, lower, upper, 0.0, fit_intercept, weights)


def regression_dual(y, C, epsilon, fit_intercept=True, weights=None):
    """Dual of epsilon-regression (JMLR, problem 22).

    The constraint d'y = 0 printed there is a typo for 1'd = 0. Weights are treated as
    in :func:`classification_dual`.
    """
    bound = C * (array_namespace(y).ones_like(y) if weights is None else weights)
    return Dual(y, -bound, bound, epsilon, fit_intercept, weights)


class DualEvaluation:
    """Dual value of an SVM plus a regulariser at a feasible u.

    ``scores`` is ``G d``, shape (n,), with the learned G; ``parts`` are further
    quantities of the objective at u.
    """

    def __init__(self, dual, u, scores, regulariser, **parts):
        self.u = u
        self.d = dual.coefficients(u)
        self.parts = parts
        linear = dual.linear @ u
        quadratic = self.d @ scores
        loss, self.intercept = dual.loss(scores)
        #: Dual value of the SVM with kernel G; the duality gap is relative to it.
        self.svm_value = linear - quadratic / 2
        self.value = self.svm_value + regulariser
        #: Gradient of the value in u.
        self.gradient = dual.linear - dual.adjoint(scores)
        #: Duality gap of the SVM with kernel G, an upper bound on suboptimality.
        self.gap = max(quadratic + loss - linear, 0.0)


@dataclass
class Solution:
    """Result of ``solve(problem, start, tol)``: the last point and the history."""

    #: Evaluation of the last point, with ``d``, ``intercept`` and ``value``.
    point: Any
    #: Duality gap, an upper bound on the suboptimality of the value.
    gap: float
    #: Whether the gap is below the tolerance.
    converged: bool
    #: "objective", "gap" and possibly more, at the start and after each iteration.
    history: dict

    @property
    def n_iter(self):
        """Number of iterations."""
        return len(self.history["gap"]) - 1


class Ascent(Solution):
    """A solution in progress: its last point, and the history of all iterations."""

    def __init__(self, start, tol):
        history = {"objective": [], "gap": [], "step": [], "seconds": []}
        super().__init__(start, start.gap, False, history)
        self._tol = tol
        self._clock = perf_counter()
        self.add(start)

    def add(self, point):
        """Record an iteration; it is the last if its gap is below the tolerance."""
        now = perf_counter()
        step = np.linalg.norm(point.u - self.point.u)
        values = (point.value, point.gap, step, now - self._clock)
        for column, value in zip(self.history.values(), values, strict=True):
            column.append(float(value))
        self.point, self.gap, self._clock = point, point.gap, now
        self.converged = point.gap <= self._tol * abs(point.svm_value)

"""Newton's method for DANK on a stored Gram matrix, and accelerated ascent.

What is maximised is the h of :mod:`adakern.dank.objective`. A round maximises a model
of h over the feasible set and searches on the line towards its maximiser. Without a
nuclear norm h itself is the model. With one it is the second-order model; of many rows
rounds of the SVM with F held come first, since they cost products with K alone and
suffice where F hardly moves, as under the papers' rule for eta. Accelerated ascent
takes what is left.
"""

from dataclasses import replace

import numpy as np

from adakern.dank.objective import LearnedKernel, StoredHessian, ThresholdedHessian
from adakern.dank.projected_newton import projected_newton
from adakern.dank.quartic_solver import ROWS_PER_PRODUCT, maximise_quartic
from adakern.svm import ascent

#: The matrix of the quadratic model is stored for up to so many rows.
DENSE_ROWS = 2000

#: Matrix products that the SVM for a fixed F may take; a problem that needs more goes
#: to Newton's method.
SVM_PRODUCTS = 100


def newton(h, start, *, tol, max_iter):
    """Maximise h from feasible variables: one method after another, to the gap."""
    if h.tau == 0:
        methods = [_exact_model, accelerated]
    elif len(h.K) > DENSE_ROWS:
        methods = [_best_responses, _second_order, accelerated]
    else:
        methods = [_second_order, accelerated]
    solution = methods[0](h, start, tol=tol, max_iter=max_iter)
    for method in methods[1:]:
        left = max_iter - solution.n_iter
        if solution.converged or left <= 0:
            break
        following = method(h, solution.point.u, tol=tol, max_iter=left)
        solution = ascent.joined(solution, following)
    return solution


def accelerated(h, start, *, tol, max_iter):
    """Accelerated projected ascent with backtracking and restart."""
    return ascent.accelerated(h, start, h.dual.project, tol=tol, max_iter=max_iter)


def _exact_model(h, start, *, tol, max_iter):
    """Rounds of the quartic that h is without a nuclear norm."""

    def maximise_model(point):
        d, _ = maximise_quartic(
            point.d,
            h.K,
            h.dual,
            h.eta,
            gap_goal=tol / 2 * abs(point.svm_value),
            balanced=h.dual.fit_intercept,
            max_products=len(h.K) // ROWS_PER_PRODUCT,
        )
        return h.dual.variables(d)

    return ascent.rounds(h, start, maximise_model, tol=tol, max_iter=max_iter)


def _second_order(h, start, *, tol, max_iter):
    """Rounds of the second-order model of h."""
    dual, n = h.dual, len(h.K)

    def maximise_model(point):
        H = ThresholdedHessian.at(h, point)
        if n <= DENSE_ROWS:
            H = StoredHessian(H.block(np.arange(n)))
        linear = point.gradient + dual.adjoint(H @ point.d)
        accuracy = max(1e-2 * tol, 1e-12) * (abs(point.svm_value) + point.gap)
        return maximise_quadratic(H, linear, dual, accuracy, start=point.u)

    return ascent.rounds(h, start, maximise_model, tol=tol, max_iter=max_iter)


def _best_responses(h, start, *, tol, max_iter):
    """Rounds of the SVM with F held, by products with F∘K alone.

    They are left where F moves much or an SVM needs many products, and what that SVM
    reached is dropped: its active set is that of no solution.
    """
    dual = h.dual
    program = program_in_coefficients(dual.linear, dual)

    def maximise_model(point):
        goal = tol / 2 * abs(point.svm_value)
        learned = LearnedKernel(h.K, point.parts["Z"])
        d, gap = projected_newton(
            learned,
            program,
            np.inf,
            start=point.d,
            gap_goal=goal,
            max_products=SVM_PRODUCTS,
            balanced=dual.fit_intercept,
            model=learned.leading(),
        )
        return dual.variables(d) if gap <= goal else None

    return ascent.rounds(h, start, maximise_model, tol=tol, max_iter=max_iter, progress=0.5)


def maximise_quadratic(H, linear, dual, tol, start):
    """The feasible u that maximises ``linear'u - 1/2 d'H d`` up to the gap ``tol``.

    H offers ``@``, ``block`` and ``shape``. The variables at a bound in ``start`` are
    the first active set; those of the result lie at their bounds exactly.
    """
    d, _ = maximise_quartic(
        dual.coefficients(dual.project(start)),
        H,
        program_in_coefficients(linear, dual),
        np.inf,
        gap_goal=tol,
        balanced=dual.fit_intercept,
    )
    return dual.variables(d)


def program_in_coefficients(linear, dual):
    """The dual problem in d whose linear term in the variables u is ``linear``.

    In a regression the mean of a row's two variables is -epsilon, as in
    ``dual.linear``.
    """
    n = len(dual.target)
    rows = dual.signs * linear
    target = (rows[:n] + rows[n:]) / 2 if dual.is_regression else rows
    return replace(dual, target=target)

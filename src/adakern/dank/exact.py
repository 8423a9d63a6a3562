"""DANK on one stored Gram matrix, solved to a certified duality gap.

What is maximised is the h of :mod:`adakern.dank.saddle`. The methods are

- "newton": rounds of a quadratic model of h, solved to optimality
  (:mod:`adakern.dank.quadratic`), each with a line search; for many rows cheaper models
  come first, and accelerated ascent takes what Newton's rounds leave;
- "accelerated": accelerated ascent (:mod:`adakern.svm.ascent`) from the solution of the
  support vector machine;
- "nesterov" and "projected-gradient": the papers' (:mod:`adakern.dank.papers`).
"""

import numpy as np

from adakern.dank.hessian import StoredHessian
from adakern.dank.papers import nesterov, projected_gradient
from adakern.dank.projected_newton import climb
from adakern.dank.quadratic import maximise_quadratic, program_in_coefficients
from adakern.dank.quartic_solver import ROWS_PER_PRODUCT, maximise_from
from adakern.svm import ascent

__all__ = ["SOLVERS", "maximise"]

#: The matrix of the quadratic model is stored for up to so many rows.
DENSE_ROWS = 2000

#: Matrix products that solving the machine for a fixed F may take; a problem that
#: needs more goes to Newton's method.
MACHINE_ITERATIONS = 100


def maximise(saddle, start, *, method="newton", tol=1e-4, max_iter=2000):
    """Maximise h from a feasible start."""
    return SOLVERS[method](saddle, start, tol=tol, max_iter=max_iter)


def _cascade(saddle, start, *, tol, max_iter):
    """The method "newton": one method after another, until the gap is reached.

    Without a nuclear norm h itself is the model. With one, machines with F held come
    first if there are many rows: they cost products with K alone, and suffice where F
    hardly moves, as under the papers' rule for eta.
    """
    if saddle.tau == 0:
        methods = [_quartic, _accelerated]
    elif len(saddle.K) > DENSE_ROWS:
        methods = [_best_responses, _newton, _accelerated]
    else:
        methods = [_newton, _accelerated]
    solution = methods[0](saddle, start, tol=tol, max_iter=max_iter)
    for method in methods[1:]:
        left = max_iter - solution.n_iter
        if solution.converged or left <= 0:
            break
        following = method(saddle, solution.point.u, tol=tol, max_iter=left)
        solution = ascent.joined(solution, following)
    return solution


def _quartic(saddle, start, *, tol, max_iter):
    """The solvers of the quartic, which h is without a nuclear norm."""
    dual, n = saddle.dual, len(saddle.K)

    def maximise_model(point):
        d, _ = maximise_from(
            point.d,
            saddle.K,
            dual,
            saddle.eta,
            gap_goal=tol / 2 * abs(point.svm_value),
            balanced=dual.fit_intercept,
            max_products=n // ROWS_PER_PRODUCT,
        )
        return dual.variables(d)

    return ascent.rounds(saddle, start, maximise_model, tol=tol, max_iter=max_iter)


def _newton(saddle, start, *, tol, max_iter):
    """Rounds of the second-order model of h."""
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
    """Rounds of the machine with F held, by products with F∘K alone.

    They are left where F moves much or a machine needs many products, and what that
    machine reached is dropped: its active set is that of no solution.
    """
    dual = saddle.dual
    program = program_in_coefficients(dual.linear, dual)

    def maximise_model(point):
        goal = tol / 2 * abs(point.svm_value)
        learned = saddle.learned_kernel(point)
        d, gap = climb(
            learned,
            program,
            np.inf,
            start=point.d,
            gap_goal=goal,
            max_products=MACHINE_ITERATIONS,
            balanced=dual.fit_intercept,
            model=learned.leading(),
        )
        return dual.variables(d) if gap <= goal else None

    return ascent.rounds(
        saddle, start, maximise_model, tol=tol, max_iter=max_iter, progress=0.5
    )


def _accelerated(saddle, start, *, tol, max_iter):
    return ascent.accelerated(
        saddle, start, saddle.dual.project, tol=tol, max_iter=max_iter
    )


SOLVERS = {
    "newton": _cascade,
    "accelerated": _accelerated,
    "nesterov": nesterov,
    "projected-gradient": projected_gradient,
}

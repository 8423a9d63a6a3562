"""Where DANK starts from: the support vector machine, and the eta that it gives."""

import numpy as np
from scipy.optimize import brentq

from adakern.dank.quartic import squared_product
from adakern.dank.quartic_solver import ROWS_PER_PRODUCT, maximise_quartic
from adakern.svm.libsvm import svm_dual, svr_dual

#: Largest violation of the optimality conditions in the support vector machines that
#: give eta. LIBSVM's own 1e-3 would leave its mark on every result; this moves eta in
#: its sixth digit.
SVM_TOL = 1e-4


def svm_eta(solutions, C, without_intercept):
    """The papers' rule ``eta = ||alpha_svm||_2^2`` (preprint, section 6; one for all).

    ``without_intercept()`` gives the coefficients of SVMs without an intercept, which
    are asked for where all others are zero: on rows of one class, or in a tube that
    holds all rows. Beside the bound C eta is never zero.
    """
    eta = sum(map(_squared_norm, solutions)) or sum(map(_squared_norm, without_intercept()))
    return max(eta, np.finfo(float).eps * C**2)


def _squared_norm(d):
    # NumPy's pairwise sum; a product's digits depend on how the rows are aligned.
    return float((d * d).sum()) if isinstance(d, np.ndarray) else float(d @ d)


def support_vector_machine(K, dual):
    """The solution of the same dual with F = 11'.

    LIBSVM's, which has no solver without an intercept: the quartic's solvers then.
    """
    if dual.is_regression:
        d, _ = svr_dual(K, dual.target, dual.C, dual.epsilon, tol=SVM_TOL)
    else:
        d, _ = svm_dual(K, dual.target, dual.C, tol=SVM_TOL)
    if not dual.fit_intercept:
        d = svm_without_intercept(K, dual, np.clip(d, dual.lower, dual.upper))
    return dual.project(dual.variables(d))


def svm_without_intercept(K, dual, start):
    """Coefficients of the SVM without an intercept, from those of another."""
    goal = SVM_TOL**2 * max(abs(dual.linear @ dual.variables(start)), dual.C)
    return maximise_quartic(
        start, K, dual, np.inf, gap_goal=goal, max_products=len(K) // ROWS_PER_PRODUCT
    )[0]


def best_multiple(K, dual, eta, u, tol):
    """The feasible multiple of u that maximises h where tau is zero, a quartic in it.

    The support vector machine's variables are too large for a small eta, and Newton's
    method takes only a third off in each round while the quartic term rules. Where the
    multiple gains less than the share tol the SVM's own optimality is worth more.
    """
    d = dual.coefficients(u)
    linear, quadratic = max(dual.linear @ u, 0.0), d @ (K @ d)
    quartic = d**2 @ squared_product(K, d**2) / (4 * eta)

    def h(t):
        return t * (linear - t * (quadratic / 2 + t * t * quartic / 4))

    def slope(t):
        return linear - t * (quadratic + t * t * quartic)

    best = 1.0 if slope(1.0) >= 0 else brentq(slope, 0.0, 1.0)
    return best * u if h(best) - h(1.0) > tol * linear else u

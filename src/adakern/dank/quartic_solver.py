"""One problem, three solvers: DANK's quartic, or a quadratic program, from a start.

Conjugate gradients suffice on a rough kernel, changes of the active set on any other
from a start that is near enough, and the interior-point method does what they leave.
"""

import numpy as np

from adakern.dank.active_set import primal_dual_active_set
from adakern.dank.interior_point import interior_point
from adakern.dank.projected_newton import projected_newton

#: One matrix product is allowed for so many rows before a matrix is factorised: all
#: products together then take as long as about three factorisations.
ROWS_PER_PRODUCT = 16

#: Conjugate gradients that may take fewer products than this seldom end; the systems
#: of so few rows are factorised sooner than that is found out.
FEWEST_PRODUCTS = 20


def maximise_quartic(start, K, dual, eta, *, gap_goal, weight=0.0, balanced=False, max_products=0):
    """Maximise h from a start whose active set is nearly right; d and the gap at d.

    K is positive semidefinite. For an infinite eta, which leaves a quadratic program,
    it may be an operator with ``@``, ``block`` and ``shape``. ``gap_goal`` is in the
    units of h, ``weight`` of shape (n,); ``balanced`` holds the sum of d at that of
    ``start``.
    """
    options = {"weight": weight, "balanced": balanced, "gap_goal": gap_goal}
    d, gap = start, np.inf
    if max_products >= FEWEST_PRODUCTS:
        d, gap = projected_newton(K, dual, eta, start=d, max_products=max_products, **options)
    if gap > gap_goal:
        d, gap = primal_dual_active_set(K, dual, eta, start=d, **options)
    if gap > gap_goal:
        stored = K.block(np.arange(K.shape[0])) if hasattr(K, "block") else K
        best = interior_point(stored, dual, eta, start=d, tol=0.0, **options)
        d, gap = min((d, gap), (best.dual_coef, best.gap), key=lambda pair: pair[1])
    return d, gap

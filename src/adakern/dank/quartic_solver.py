"""One problem, three solvers: DANK's quartic, or a quadratic program, from a start.

Conjugate gradients suffice on a rough kernel, changes of the active set on any other
from a start that is near enough, and the interior-point method does what they leave.
"""

import numpy as np

from adakern.dank.active_set import change_active_sets
from adakern.dank.interior_point import maximise_quartic
from adakern.dank.projected_newton import climb

__all__ = ["ROWS_PER_PRODUCT", "maximise_from"]

#: One matrix product is allowed for so many rows before a matrix is factorised: all
#: products together then take as long as about three factorisations.
ROWS_PER_PRODUCT = 16

#: Conjugate gradients that may take fewer products than this seldom end; the systems
#: of so few rows are factorised sooner than that is found out.
FEWEST_PRODUCTS = 20


def maximise_from(
    start, K, dual, eta, *, gap_goal, weight=0.0, balanced=False, max_products=0
):
    """Maximise h, from a start whose active set is nearly right."""
    options = {"weight": weight, "balanced": balanced, "gap_goal": gap_goal}
    d, gap = start, np.inf
    if max_products >= FEWEST_PRODUCTS:
        d, gap = climb(K, dual, eta, start=d, max_products=max_products, **options)
    if gap > gap_goal:
        d, gap = change_active_sets(K, dual, eta, start=d, **options)
    if gap > gap_goal:
        stored = K.block(np.arange(K.shape[0])) if hasattr(K, "block") else K
        best = maximise_quartic(stored, dual, eta, start=d, tol=0.0, **options)
        d, gap = min((d, gap), (best.dual_coef, best.gap), key=lambda pair: pair[1])
    return d, gap

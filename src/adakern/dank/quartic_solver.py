"""One problem, three solvers: DANK's quartic, or a quadratic program, from a start.

Conjugate gradients suffice on a rough kernel, changes of the active set on any other
from a start that is near enough, and the interior-point method does what they leave.
"""

from dataclasses import replace

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


def maximise_quartic(problem, start, *, gap_goal, products=True):
    """The point that maximises h, from a start whose active set is nearly right.

    ``gap_goal`` is in the units of h; with an intercept the sum of d stays that of
    ``start``. Without ``products`` no conjugate gradients are tried.
    """
    K = problem.K
    max_products = K.shape[0] // ROWS_PER_PRODUCT
    if products and max_products >= FEWEST_PRODUCTS:
        point = projected_newton(problem, start, gap_goal=gap_goal, max_products=max_products)
        if point.gap <= gap_goal:
            return point
        start = point.d
    point = primal_dual_active_set(problem, start, gap_goal=gap_goal)
    if point and point.gap <= gap_goal:
        return point
    if hasattr(K, "block"):
        problem = replace(problem, K=K.block(np.arange(K.shape[0])))
    best = interior_point(problem, start, tol=0.0, gap_goal=gap_goal)
    return point if point and point.gap <= best.gap else best

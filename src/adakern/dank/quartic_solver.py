"""DANK's quartic, or a quadratic program: active sets, then the
interior-point method."""

from adakern.dank.active_set import primal_dual_active_set
from adakern.dank.interior_point import interior_point


def maximise_quartic(problem, start, *, gap_goal):
    """The point that maximises h, from a start whose active set is nearly right."""
    point = primal_dual_active_set(problem, start, gap_goal=gap_goal)
    if point and point.gap <= gap_goal:
        return point
    best = interior_point(problem, start, tol=0.0, gap_goal=gap_goal)
    return point if point and point.gap <= best.gap else best

"""One point of the saddle function of a machine whose kernel is learned."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Point", "point_of_machine"]


@dataclass(frozen=True)
class Point:
    """The function at one feasible u, with all that was computed on the way."""

    #: Variables, and the coefficients that they give; see :mod:`adakern.svm.dual`.
    u: np.ndarray
    d: np.ndarray
    #: ``G d`` with the learned Gram matrix G, such as DANK's F∘K, shape (n,).
    scores: np.ndarray
    #: The function, and the part of it that is the dual value of the machine with G.
    #: The duality gap is compared with that part; the rest is the regulariser of G.
    value: float
    svm_value: float
    #: Of the function in u.
    gradient: np.ndarray
    #: Of the machine.
    intercept: float
    #: Duality gap of the machine with G, which bounds what the value can still gain.
    gap: float
    #: Of the learned factor, 0 where it is not computed.
    rank: int = 0
    #: What else the function knows here, for its Hessian or a point nearby.
    parts: dict = field(repr=False, default_factory=dict)


def point_of_machine(dual, u, scores, regulariser, rank=0, **parts):
    """The point u of the machine's dual value plus a regulariser."""
    d = dual.coefficients(u)
    linear, quadratic = dual.linear @ u, d @ scores
    loss, intercept = dual.loss(scores)
    return Point(
        u=u,
        d=d,
        scores=scores,
        value=linear - quadratic / 2 + regulariser,
        svm_value=linear - quadratic / 2,
        gradient=dual.linear - dual.pull_back(scores),
        intercept=intercept,
        gap=max(quadratic + loss - linear, 0.0),
        rank=rank,
        parts=parts,
    )

"""The support vector machines whose kernel is learned, as one dual problem.

Both machines maximise ``linear'u - 1/2 d'(F∘K)d`` over ``0 <= u <= C, signs'u = 0``
where the coefficients of the decision function are ``d = signs∘u`` summed by row:

- the classifier has one variable for each row, ``signs = y`` and ``linear = 1``;
- epsilon-regression has two (the papers' alpha hat and alpha check, problem 22), with
  signs +1 and -1 and ``linear = (y - epsilon, -y - epsilon)``.
"""

from dataclasses import dataclass

import numpy as np

from adakern.linalg import project_onto_feasible

__all__ = ["Dual", "classification_dual", "regression_dual"]


@dataclass(frozen=True)
class Dual:
    """The dual problem of one machine, for a kernel that is still open.

    Attributes
    ----------
    y : ndarray of shape (n,)
        Labels -1.0 and +1.0, or targets.
    signs : ndarray of shape (n,) or (2 n,)
    linear : ndarray of the shape of signs
    C : float
    fit_intercept : bool
        Without an intercept the constraint ``signs'u = 0`` falls away.
    """

    y: np.ndarray
    signs: np.ndarray
    linear: np.ndarray
    C: float
    fit_intercept: bool = True

    def coefficients(self, u):
        """The coefficients d of the decision function, shape (n,)."""
        return (self.signs * u).reshape(-1, len(self.y)).sum(axis=0)

    def pull_back(self, row_values):
        """Transpose of ``coefficients``: values for each row, spread over u."""
        return self.signs * np.tile(row_values, len(self.signs) // len(self.y))

    def project(self, u):
        """The nearest feasible u."""
        if self.fit_intercept:
            return project_onto_feasible(u, self.signs, self.C)
        return np.clip(u, 0.0, self.C)

    def loss(self, f):
        """Smallest hinge or tube loss of the decision values f, and its intercept.

        The loss ``C sum max(0, linear - signs (f + b))`` is convex and piecewise linear
        in b; its slope rises by one at each breakpoint ``signs linear - f`` and starts
        from minus the number of positive signs, so the minimum lies between two
        neighbouring breakpoints.
        """
        slack = self.linear - self.pull_back(f)
        intercept = 0.0
        if self.fit_intercept:
            positive = int((self.signs > 0).sum())
            breakpoints = np.partition(self.signs * slack, [positive - 1, positive])
            intercept = breakpoints[positive - 1 : positive + 1].mean()
        return self.C * np.maximum(slack - self.signs * intercept, 0).sum(), intercept


def classification_dual(y, C, fit_intercept=True):
    """The dual of the support vector classifier (equation 2); y holds -1 and +1."""
    return Dual(y, y, np.ones(len(y)), C, fit_intercept)


def regression_dual(y, C, epsilon, fit_intercept=True):
    """The dual of epsilon support vector regression (problem 22)."""
    ones = np.ones(len(y))
    return Dual(
        y,
        np.concatenate([ones, -ones]),
        np.concatenate([y - epsilon, -y - epsilon]),
        C,
        fit_intercept,
    )

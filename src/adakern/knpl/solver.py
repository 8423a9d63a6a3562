"""The saddle point of KNPL: accelerated ascent on a closed form, or the paper's way.

With the closed form of the layer (:mod:`adakern.knpl.pairwise`) the outer problem is

    h(a) = 1'a - 1/2 d'Kd - reg |(P Gamma P)_+|_F^2 + reg n^2,    d = y∘a,

a smooth concave function whose gradient for d is ``y - (G∘K) d`` (equation 7). Dual
variables are kept signed, as d.
"""

from dataclasses import dataclass, field

import numpy as np

from adakern.knpl.pairwise import admm, exact_layer, gamma_matrix
from adakern.linalg import project_onto_feasible
from adakern.svm import svm_dual

__all__ = ["Saddle", "solve_admm", "solve_exact"]


@dataclass
class Saddle:
    """Where a solver ended, and how it went."""

    d: np.ndarray
    intercept: float
    G: np.ndarray
    gap: float
    objective: float
    n_iter: int
    converged: bool
    history: dict = field(repr=False)


class SaddleFunction:
    """h and its gradient, less the constant reg n^2.

    For a positive semidefinite K neither G nor Gamma is formed: with ``f = Kd``, the
    row means ``Gamma 1 / n = d∘f / (4 reg n)`` and their mean,

        |P Gamma P|^2 = |Gamma|^2 - 2 n |means|^2 + n^2 mean^2,
        |Gamma|^2 = q'(K∘K)q / (16 reg^2),    q = d∘d,

    so a value and a gradient cost three products of a matrix and a vector.
    """

    def __init__(self, K, y, reg, *, psd):
        self.K, self.y, self.reg, self.psd = K, y, reg, psd
        self.K_squared = K * K if psd else None

    def layer(self, d):
        """The minimiser G for fixed d."""
        return exact_layer(gamma_matrix(d, self.K, self.reg), psd=self.psd)

    def __call__(self, d):
        if not self.psd:
            G = self.layer(d)
            f = (G * self.K) @ d
            # |G|^2 = n^2 + |G - 11'|^2, and |G - 11'|^2 = <Gamma, G - 11'>.
            excess = np.vdot(G - 1, gamma_matrix(d, self.K, self.reg))
            return self.y @ d - 0.5 * d @ (self.K @ d) - self.reg * excess, self.y - f
        n, scale = len(d), 4 * self.reg
        f = self.K @ d
        product = self.K_squared @ (d * d)
        means = d * f / (scale * n)
        mean = means.mean()
        squared_norm = (d * d) @ product / scale**2
        squared_norm += n * (n * mean**2 - 2 * means @ means)
        value = self.y @ d - 0.5 * d @ f - self.reg * squared_norm
        # G = 11' + Gamma - means 1' - 1 means' + mean 11'
        learned = (1 + mean) * f + d * product / scale
        learned -= means * f + self.K @ (means * d)
        return value, self.y - learned


def solve_exact(K, y, C, reg, *, psd, max_iter, tol):
    """Maximise h by accelerated projected ascent, to a certified gap.

    Parameters
    ----------
    K : ndarray of shape (n, n)
    y : ndarray of shape (n,)
        Signs.
    C, reg : float
        Positive.
    psd : bool
        Whether K is positive semidefinite; if not, every step takes an
        eigendecomposition.
    max_iter : int
    tol : float
        Stop where the gap is below tol times the objective (without reg n^2).

    Returns
    -------
    Saddle
    """
    function = SaddleFunction(K, y, reg, psd=psd)
    history = {"objective": [], "gap": []}
    constant = reg * len(y) ** 2

    def project(d):
        return y * project_onto_feasible(y * d, y, C)

    converged, gap = False, np.inf
    start = project(svm_dual(K, y, C)[0])
    for _, (d, value, gradient) in zip(
        range(max_iter), accelerated_ascent(function, project, start), strict=False
    ):
        gap, intercept = svm_gap(d, y - gradient, y, C)
        history["objective"].append(float(value + constant))
        history["gap"].append(float(gap))
        if gap <= tol * abs(value):
            converged = True
            break
    n_iter = len(history["gap"])
    objective = history["objective"][-1]
    G = function.layer(d)
    return Saddle(d, intercept, G, gap, objective, n_iter, converged, history)


def accelerated_ascent(function, project, d):
    """Iterates of Nesterov's method with backtracking and adaptive restart.

    Parameters
    ----------
    function : callable
        ``d -> value, gradient`` of a smooth concave function.
    project : callable
        Projection onto the feasible set.
    d : ndarray
        Feasible start, the first iterate.

    Yields
    ------
    d, value, gradient
        Without end.
    """
    value, gradient = function(d)
    yield d, value, gradient
    step = 1.0 / max(1.0, np.abs(gradient).max())
    point, point_gradient, momentum = d, gradient, 1.0
    while True:
        ahead = project(point + step * point_gradient)
        move = ahead - point
        value, gradient = function(ahead)
        # By concavity this bounds the error of the quadratic model; unlike a comparison
        # of values it keeps its digits near the optimum.
        if 2 * step * (point_gradient - gradient) @ move > move @ move:
            step /= 2
            continue
        if move @ (ahead - d) < 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        point = ahead + (momentum - 1) / following * (ahead - d)
        d, momentum = ahead, following
        yield d, value, gradient
        _, point_gradient = function(point)
        step *= 1.1


def svm_gap(d, f, y, C):
    """Duality gap of the SVM at dual variables d with ``f = K d``, and the best bias.

    ``sum_i max(0, 1 - y_i (f_i + b))`` has its slope rise by 1 at every ``y_i - f_i``,
    from minus the number of positive rows: it is least between two order statistics.
    """
    n_positive = int((y > 0).sum())
    intercept = np.partition(y - f, [n_positive - 1, n_positive])[
        [n_positive - 1, n_positive]
    ].mean()
    hinge = np.maximum(0, 1 - y * (f + intercept)).sum()
    return max(d @ f + C * hinge - y @ d, 0.0), float(intercept)


def solve_admm(K, y, C, reg, *, max_outer, max_inner, tol):
    """Algorithm 2 as printed: algorithm 1 for the layer, then the SVM, in turn.

    The alternation need not converge; ``Saddle.converged`` tells. Parameters as in
    :func:`solve_exact`, with ``max_inner`` iterations of algorithm 1 in each round.
    """
    history = {"objective": [], "gap": [], "inner_residuals": []}
    answer, _ = svm_dual(K, y, C)
    for _ in range(max_outer):
        d = answer
        G, residuals = admm(gamma_matrix(d, K, reg), max_iter=max_inner)
        learned = G * K
        f = learned @ d
        gap, _ = svm_gap(d, f, y, C)
        value = y @ d - 0.5 * d @ f
        history["objective"].append(float(value + reg * np.vdot(G, G)))
        history["gap"].append(float(gap))
        history["inner_residuals"].append(residuals)
        answer, intercept = svm_dual(learned, y, C)
        converged = bool(gap <= tol * abs(value))
        if converged:
            break
    objective, n_iter = history["objective"][-1], len(history["gap"])
    return Saddle(answer, intercept, G, gap, objective, n_iter, converged, history)

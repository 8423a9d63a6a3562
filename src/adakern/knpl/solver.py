"""Solvers of KNPL's saddle point: accelerated ascent, or the paper's alternation.

With the closed form of the layer (:mod:`adakern.knpl.pairwise`) the outer problem is

    h(a) = 1'a - 1/2 d'Kd - reg |P Gamma P|_F^2 + reg n^2,    d = y∘a,

a smooth concave function with the gradient ``1 - y∘((G∘K) d)`` (KNPL, equation 7).
"""

import numpy as np

from adakern._utils.resources import one_blas_thread
from adakern.knpl.pairwise import admm, gamma_matrix, project_onto_affine
from adakern.svm import ascent
from adakern.svm.dual import Ascent, DualEvaluation, classification_dual
from adakern.svm.libsvm import svm_dual


class Saddle:
    """Solution: the layer G, the SVM on G∘K, and the history of the solver."""

    def __init__(self, d, intercept, G, solution, reg, n_iter, n):
        self.d = d
        self.intercept = intercept
        self.G = G
        self.n_iter = n_iter
        self.gap = solution.gap
        self.converged = solution.converged
        self.history = solution.history
        # The solvers omit the terms that do not depend on the variables.
        constant = reg * n**2
        self.history["objective"] = [
            value + constant for value in self.history["objective"]
        ]
        self.objective = self.history["objective"][-1]


class SaddleFunction:
    """h and its gradient, with the interface of :mod:`adakern.svm.ascent`.

    Neither G nor Gamma is formed: with ``f = Kd``, the row means
    ``Gamma 1 / n = d∘f / (4 reg n)`` and their mean::

        |P Gamma P|^2 = |Gamma|^2 - 2 n |means|^2 + n^2 mean^2,
        |Gamma|^2 = q'(K∘K)q / (16 reg^2),    q = d∘d,

    so a value and a gradient cost three matrix-vector products. A row of weight w
    counts as w equal rows, which share its d: ``Gamma`` contains ``d / w``, and norms
    and means are weighted.
    """

    def __init__(self, K, dual, reg):
        self.K = K
        self.dual = dual
        self.reg = reg
        self._K_squared = K * K
        #: Number of rows, or the sum of their weights.
        self.n = len(K) if dual.weights is None else float(dual.weights.sum())

    def layer(self, d):
        """The minimiser G for fixed d."""
        Gamma = gamma_matrix(d / self.dual.copies, self.K, self.reg)
        return project_onto_affine(Gamma, self.dual.weights)

    def __call__(self, u, near=None):
        return self._point(u, self.K @ self.dual.coefficients(u))

    def extrapolate(self, new, old, beta):
        """Extrapolate from ``old`` beyond ``new``."""
        f = new.parts["f"]
        old_f = old.parts["f"]
        return self._point(new.u + beta * (new.u - old.u), f + beta * (f - old_f))

    def _point(self, u, f):
        d = self.dual.coefficients(u)
        copies = self.dual.copies
        n = self.n
        scale = 4 * self.reg
        each = d / copies
        product = self._K_squared @ (d * each)
        means = each * f / (scale * n)
        mean = np.average(means, weights=self.dual.weights)
        squared_norm = (d * each) @ product / scale**2
        squared_norm += n * (n * mean**2 - 2 * (copies * means) @ means)
        # G = 11' + Gamma - means 1' - 1 means' + mean 11'
        learned = (1 + mean) * f + each * product / scale
        learned -= means * f + self.K @ (means * d)
        # d'(G∘K)d = d'Kd + 4 reg <Gamma, G - 11'> and <Gamma, G - 11'> = |G - 11'|^2.
        return DualEvaluation(self.dual, u, learned, self.reg * squared_norm, f=f)


def solve_exact(K, y, C, reg, *, max_iter, tol, weights=None):
    """Maximise h by accelerated projected ascent, to a certified gap."""
    dual = classification_dual(y, C, weights=weights)
    function = SaddleFunction(K, dual, reg)
    with one_blas_thread(len(K)):
        d, _ = svm_dual(K, y, C, weights=weights)
        start = dual.project(dual.adjoint(d))
        solution = ascent.solve(function, function(start), tol, max_iter=max_iter)
    point = solution.point
    G = function.layer(point.d)
    n_iter = solution.n_iter
    return Saddle(point.d, point.intercept, G, solution, reg, n_iter, function.n)


def solve_admm(K, y, C, reg, *, max_outer, max_inner, tol):
    """KNPL's Algorithm 2 as printed: alternate between Algorithm 1 and the SVM.

    It need not converge.
    """
    dual = classification_dual(y, C)
    way = None
    residuals = []
    d, _ = svm_dual(K, y, C)
    for _ in range(max_outer):
        G, inner = admm(gamma_matrix(d, K, reg), max_iter=max_inner)
        residuals.append(inner)
        learned = G * K
        regulariser = reg * (np.vdot(G, G) - len(y) ** 2)
        point = DualEvaluation(dual, dual.adjoint(d), learned @ d, regulariser)
        if way:
            way.add(point)
        else:
            way = Ascent(point, tol)
        d, intercept = svm_dual(learned, y, C)
        if way.converged:
            break
    way.history["inner_residuals"] = residuals
    return Saddle(d, intercept, G, way, reg, len(residuals), len(y))

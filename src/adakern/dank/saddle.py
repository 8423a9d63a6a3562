"""The concave function h of DANK: its value, gradient, Hessian and duality gap.

For coefficients d the inner minimiser is ``F = J(11' + Gamma)`` with
``Gamma = diag(d) K diag(d) / (4 eta)`` and J the soft-thresholding of eigenvalues by
tau/2 (Lemma 1). It is kept as factors ``F = Z Z'``, Z of shape (n, r), and all products
with ``F∘K`` go through ``(F∘K) v = rowsum(Z ∘ (K (Z ∘ v)))``.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from adakern.dank.hessian import QuarticHessian, ThresholdedHessian
from adakern.linalg import leading_eigenpairs
from adakern.svm.dual import Dual

__all__ = ["ClosedFormSaddle", "FrozenSaddle", "Point", "Saddle", "make_saddle"]


@dataclass
class Point:
    """h at one feasible u, with all that was computed on the way.

    ``scores`` are the values ``(F∘K) d``. ``svm_value`` is the dual value of the
    machine with the kernel ``F∘K``, the part of h that the gap is compared with;
    ``h - svm_value`` is the regulariser of F.
    """

    u: np.ndarray
    d: np.ndarray
    scores: np.ndarray
    value: float
    svm_value: float
    gradient: np.ndarray
    intercept: float
    gap: float
    rank: int
    parts: dict = field(repr=False, default_factory=dict)


#: Rows above which 11' + Gamma is not formed.
OPERATOR_ROWS = 2000


class _OnesPlusGamma:
    """The matrix ``11' + diag(c) K diag(c)`` as an operator."""

    def __init__(self, K, c):
        self.K, self.c, self.shape = K, c[:, None], K.shape

    def __matmul__(self, X):
        return X.sum(axis=0) + self.c * (self.K @ (self.c * X))


class Saddle:
    """DANK with a nuclear norm (tau > 0) on one Gram matrix.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite.
    dual : Dual
    eta, tau : float
        Positive.
    tol : float, default=1e-4
        Duality gap, relative to the objective, that the caller aims at. The eigenpairs
        are computed well enough for it.
    """

    def __init__(self, K, dual: Dual, eta, tau, tol=1e-4):
        self.K, self.dual, self.eta, self.tau, self.tol = K, dual, eta, tau, tol
        self._diagonal = K.diagonal().max()  # no entry of K is larger
        self._block = None
        self._scale = None  # |svm_value| of the last point

    def __call__(self, u):
        d = self.dual.coefficients(u)
        if self._scale is None:
            self._scale = abs(self.dual.linear @ u)
        f, U = self._threshold(d)
        Z = U * np.sqrt(f)
        KZ = self.K @ (Z * d[:, None])
        scores = np.einsum("ir,ir->i", Z, KZ)
        regulariser = self.eta * (self._distance_to_ones(f, U) + self.tau * f.sum())
        parts = {"f": f, "U": U, "Z": Z, "KZ": KZ}
        return self._point(u, d, scores, regulariser, len(f), parts)

    def _point(self, u, d, scores, regulariser, rank, parts):
        linear = self.dual.linear @ u
        quadratic = d @ scores
        loss, intercept = self.dual.loss(scores)
        svm_value = linear - quadratic / 2
        self._scale = abs(svm_value)
        return Point(
            u=u,
            d=d,
            scores=scores,
            value=svm_value + regulariser,
            svm_value=svm_value,
            gradient=self.dual.linear - self.dual.pull_back(scores),
            intercept=intercept,
            gap=quadratic + loss - linear,
            rank=rank,
            parts=parts,
        )

    def _threshold(self, d):
        """Eigenvalues of F above zero and their eigenvectors, shape (n, r)."""
        scaled = d / np.sqrt(4 * self.eta)
        tol = self._residual(d)
        if len(d) > OPERATOR_ROWS:
            A = _OnesPlusGamma(self.K, scaled)
            values, U, self._block = leading_eigenpairs(
                A, self.tau / 2, start=self._block, tol=tol
            )
            return values - self.tau / 2, U
        # Gamma lives on the support vectors. All other rows of 11' + Gamma are equal:
        # they act as one, weighted by the root of their number.
        support = np.flatnonzero(d)
        rest = len(d) - len(support)
        kept = np.append(support, np.flatnonzero(d == 0)[:1])
        weights = np.ones(len(kept))
        weights[len(support) :] = np.sqrt(rest)
        A = self.K[np.ix_(kept, kept)] * np.outer(scaled[kept], scaled[kept])
        A += np.outer(weights, weights)
        start = None if self._block is None else self._block[kept] * weights[:, None]
        values, vectors, block = leading_eigenpairs(
            A, self.tau / 2, start=start, tol=tol
        )
        rows = np.full(len(d), len(support))
        rows[support] = np.arange(len(support))
        self._block = (block / weights[:, None])[rows]
        return values - self.tau / 2, (vectors / weights[:, None])[rows]

    def _residual(self, d):
        """Residual rho of the eigenpairs that the gap and the line searches can bear.

        It moves h by at most 4 eta rho^2. The pairs are exact for a matrix at most
        sqrt(2) rho away, and the thresholding is not expansive, so F moves no further;
        each row of ``(F∘K) d`` then feels its row of F, and the gap C times their sum.
        """
        aim, size = self.tol * self._scale, np.linalg.norm(d)
        slope = self._diagonal * size * (self.dual.C * np.sqrt(2 * len(d)) + 2 * size)
        return min(
            np.sqrt(1e-8 * aim / self.eta),
            0.1 * aim / max(slope, np.finfo(float).tiny),
            1e-4,
        )

    def _distance_to_ones(self, f, U):
        """||F - 11'||_F^2 from the factors, without the cancellation against n^2."""
        n = len(U)
        R = np.linalg.qr(np.column_stack([np.full(n, n**-0.5), U]), mode="r")
        difference = (R[:, 1:] * f) @ R[:, 1:].T
        difference[0, 0] -= n
        return (difference**2).sum()

    def learned_kernel(self, point):
        """The product with F∘K, F held at the point, as a function of a vector."""
        Z = point.parts["Z"]
        FK = Z @ Z.T
        FK *= self.K
        return FK.__matmul__

    def hessian(self, point):
        """Minus the second derivative of h in d, by products and blocks."""
        return ThresholdedHessian(
            self.K, point.d, **point.parts, eta=self.eta, tau=self.tau
        )

    def factor(self, point):
        """Z with F = Z Z', shape (n, r)."""
        return point.parts["Z"]


class ClosedFormSaddle(Saddle):
    """DANK without the nuclear norm: F = 11' + Gamma, and h is a quartic.

    ``h = linear'u - 1/2 d'K d - 1/(16 eta) q'(K∘K) q`` with ``q = d∘d``.
    """

    def __init__(self, K, dual, eta, tau=0.0, tol=1e-4):
        super().__init__(K, dual, eta, tau, tol)
        self._K2 = K * K

    def __call__(self, u):
        d = self.dual.coefficients(u)
        K2q = self._K2 @ (d * d)
        scores = self.K @ d + d * K2q / (4 * self.eta)
        # eta ||Gamma||^2 = q'(K∘K) q / (16 eta)
        regulariser = (d * d) @ K2q / (16 * self.eta)
        return self._point(u, d, scores, regulariser, 0, {"K2q": K2q})

    def learned_kernel(self, point):
        d = point.d
        return lambda v: self.K @ v + d * (self._K2 @ (d * v)) / (4 * self.eta)

    def hessian(self, point):
        return QuarticHessian(self.K, self._K2, point.d, point.parts["K2q"], self.eta)

    def factor(self, point):
        """Columns 1 and diag(d) L / (2 sqrt(eta)), K = L L' on the support."""
        support = np.flatnonzero(point.d)
        values, vectors = np.linalg.eigh(self.K[np.ix_(support, support)])
        keep = values > len(support) * np.finfo(float).eps * values.max(initial=0.0)
        Z = np.zeros((len(point.d), 1 + keep.sum()))
        Z[:, 0] = 1.0
        scaled = point.d[support, None] / np.sqrt(4 * self.eta)
        Z[support, 1:] = scaled * vectors[:, keep] * np.sqrt(values[keep])
        return Z


class FrozenSaddle:
    """The support vector machine with the kernel F∘K, F held at a point of a saddle.

    A concave quadratic, so a point on the line through two others costs no product.
    """

    def __init__(self, saddle, point):
        self._saddle, self._rank = saddle, point.rank
        self._multiply = saddle.learned_kernel(point)

    def __call__(self, u):
        d = self._saddle.dual.coefficients(u)
        return self._saddle._point(u, d, self._multiply(d), 0.0, self._rank, {})

    def extrapolate(self, new, old, beta):
        """The point that lies beyond ``new``, seen from ``old``."""
        u, d, scores, gradient = (
            getattr(new, name) + beta * (getattr(new, name) - getattr(old, name))
            for name in ("u", "d", "scores", "gradient")
        )
        value = self._saddle.dual.linear @ u - d @ scores / 2
        return replace(
            new, u=u, d=d, scores=scores, gradient=gradient, value=value, gap=np.nan
        )


def make_saddle(K, dual, eta, tau, tol=1e-4):
    """The problem for these parameters, in closed form when tau is zero."""
    return (Saddle if tau > 0 else ClosedFormSaddle)(K, dual, eta, tau, tol)

"""Extension of the adaptive factor to new rows.

Every rule provides ``transform(X)`` of shape (m, q) and ``train_factor`` of shape
(n, q). The learned kernel is ``(transform(X) train_factor')∘K(X, X_train)``; the
papers' F' is never formed.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import nnls
from scipy.stats import rankdata
from sklearn.utils import check_random_state

from adakern._utils.resources import row_blocks
from adakern.kernels import TrainingRows

#: Maximum number of anchors of the hyper-kernel regression, whose cost is cubic in it.
MAX_ANCHORS = 200

#: Memory, in bytes, for the ranks in the search for reciprocal neighbours.
RANKS_BYTES = 2**30


class Trained(NamedTuple):
    """Quantities of a fitted model that are available to the rules.

    A row with several copies is treated as equal rows that share its coefficient.
    """

    #: Factor of F = Z Z', shape (n, r).
    Z: Any
    #: Coefficients, shape (n,).
    d: Any
    #: Gram matrix of the training rows.
    K: Any
    rows: TrainingRows
    #: Number of copies (weight) of each row, shape (n,).
    copies: Any
    eta: float
    tau: float
    n_neighbors: int
    random_state: Any


class NoExtension:
    """F' = 1: new rows use the kernel of the support vector machine unchanged."""

    def __init__(self, trained):
        self.train_factor = np.ones((len(trained.Z), 1))

    def transform(self, X):
        return np.ones((len(X), 1))


class NeighboursExtension:
    """Mean of F over the k nearest training rows."""

    def __init__(self, trained):
        self.train_factor = trained.Z
        self._rows = trained.rows
        self._copies = trained.copies
        self._k = min(trained.n_neighbors, trained.copies.sum())

    def transform(self, X):
        factor = np.empty((len(X), self.train_factor.shape[1]))
        for part in row_blocks(len(X), 40 * len(self.train_factor)):
            D = self._rows.distances(X[part])
            order, nearer = _nearest_first(D, self._copies)
            shares = np.clip(self._k - nearer, 0, self._copies[order])
            np.put_along_axis(D, order, shares / self._k, axis=1)
            factor[part] = D @ self.train_factor
        return factor


class ReciprocalExtension:
    """F of the best reciprocal nearest neighbour (JMLR, equation 11, and the next one).

    It depends on all rows that are predicted together.
    """

    def __init__(self, trained):
        self.train_factor = trained.Z
        self._rows = trained.rows
        self._copies = trained.copies

    def transform(self, X):
        near = reciprocal_neighbours(X, self._copies, self._rows.distances)
        return self.train_factor[near]


class NystromExtension:
    """Nyström extension of F's eigenvectors, which are those of ``11' + Gamma``.

    An eigenvector u is extended to ``u(x) = sum_i a(x, x_i) u_i / lambda``, where
    a(x, x_i) = 1 + delta(x) k(x, x_i) d_i / (4 eta) and delta(x) is the coefficient of
    the training row nearest to x.
    """

    def __init__(self, trained):
        Z = trained.Z
        d = trained.d
        copies = trained.copies
        values, rotation = np.linalg.eigh(Z.T @ (copies[:, None] * Z))
        kept = values > len(Z) * np.finfo(float).eps * values.max(initial=0.0)
        self.train_factor = Z @ rotation[:, kept]
        scaled = self.train_factor / (values[kept] + trained.tau / 2)
        self._support = np.flatnonzero(d)
        self._mean = (copies[:, None] * scaled).sum(axis=0)
        self._weighted = scaled[self._support] * (
            d[self._support, None] / (4 * trained.eta)
        )
        self._d = d / copies
        self._rows = trained.rows

    def transform(self, X):
        factor = np.tile(self._mean, (len(X), 1))
        delta = self._d[self._rows.nearest(X), None]
        for part in row_blocks(len(X), 8 * len(self._d)):
            K = self._rows.kernel(X[part], self._support)
            factor[part] += delta[part] * (K @ self._weighted)
        return factor


class HyperkernelExtension:
    """Non-negative regression of F in a hyper-RKHS (Pan et al. 2017).

    The regression function is ``f(x, x') = sum_p beta_p g_p(x) g_p(x')``, beta >= 0,
    over a constant and the hyper-kernels ``k(x, z) k(x', z)`` of anchors z. It is
    positive semidefinite. Fitting it to all n^2 entries of F is a non-negative least
    squares problem with one unknown per anchor.
    """

    def __init__(self, trained):
        n = len(trained.Z)
        sizes = np.sqrt(trained.copies)[:, None]
        seed = 0 if trained.random_state is None else trained.random_state
        chosen = check_random_state(seed).permutation(n)
        self._rows = trained.rows
        self._anchors = np.sort(chosen[:MAX_ANCHORS])
        G = np.column_stack([np.ones(n), trained.K[:, self._anchors]])
        weighted = sizes * G
        normal = (weighted.T @ weighted) ** 2
        normal[np.diag_indices(len(normal))] += 1e-10 * np.trace(normal)
        target = ((weighted.T @ (sizes * trained.Z)) ** 2).sum(axis=1)
        L = scipy.linalg.cholesky(normal, lower=True)
        beta, _ = nnls(L.T, scipy.linalg.solve_triangular(L, target, lower=True))
        self._used = np.flatnonzero(beta)
        self._roots = np.sqrt(beta[self._used])
        self.train_factor = G[:, self._used] * self._roots

    def transform(self, X):
        G = np.column_stack([np.ones(len(X)), self._rows.kernel(X, self._anchors)])
        return G[:, self._used] * self._roots


#: Rules by the values of the parameter ``extension``.
EXTENSIONS = {
    "hyperkernel": HyperkernelExtension,
    "reciprocal": ReciprocalExtension,
    "knn": NeighboursExtension,
    "nystrom": NystromExtension,
    "none": NoExtension,
}


def reciprocal_neighbours(X, copies, distances):
    """For each row x'_j of X, return the training row i with the largest 1/(r s).

    Here, x_i is the s-th nearest training row to x'_j, and x'_j is the r-th nearest row
    of X to x_i (JMLR, equation 11). Rows at equal distance share a rank. Among equal
    products, the nearest row is chosen.
    """
    best = np.empty(len(X), dtype=int)
    n_train = len(copies)
    for some in row_blocks(len(X), 4 * n_train, RANKS_BYTES):
        r = np.empty((some.stop - some.start, n_train), dtype=np.int32)
        for columns in row_blocks(n_train, 32 * len(X)):
            D = distances(X, np.arange(n_train)[columns])
            r[:, columns] = rankdata(D, method="min", axis=0)[some]
        for rows in row_blocks(len(r), 40 * n_train):
            D = distances(X[some][rows])
            product = r[rows] * _weighted_ranks(D, copies)
            least = product == product.min(axis=1, keepdims=True)
            best[some][rows] = np.where(least, D, np.inf).argmin(axis=1)
    return best


def _weighted_ranks(D, copies):
    """Ranks along the rows of D, counting copies; ties share the smallest rank."""
    order, nearer = _nearest_first(D, copies)
    values = np.take_along_axis(D, order, axis=1)
    nearer[:, 1:][values[:, 1:] == values[:, :-1]] = 0.0
    ranks = np.empty_like(D)
    shared = np.maximum.accumulate(nearer, axis=1)
    np.put_along_axis(ranks, order, 1 + shared, axis=1)
    return ranks


def _nearest_first(D, copies):
    """Column order by distance in each row of D, and number of rows before each."""
    order = np.argsort(D, axis=1, kind="stable")
    return order, np.cumsum(copies[order], axis=1) - copies[order]

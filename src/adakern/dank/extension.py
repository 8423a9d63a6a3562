"""The adaptive factor of rows that were not in training.

Every rule here is a pair of factors: ``transform(X)`` of shape (m, q) for the new rows
and ``train_factor`` of shape (n, q) for the training rows. The learned kernel between
them is ``(transform(X) train_factor')∘K(X, X_train)``, so that the matrix F' of the
papers, of shape (m, n), is never formed.
"""

import numpy as np
import scipy.linalg
from scipy.optimize import nnls
from sklearn.utils import check_random_state

from adakern._utils.blocks import row_blocks

#: Anchors of the hyper-kernel regression; its cost grows with their cube.
MAX_ANCHORS = 200

#: Length of the lists of neighbours in the search for reciprocal ones.
LIST_LENGTH = 32


def make_extension(Z, d, K, rows, *, eta, tau, extension, n_neighbors, random_state):
    """The rule of this name for a fitted model with ``F = Z Z'`` and coefficients d."""
    if extension == "none":
        return NoExtension(len(Z))
    if extension == "reciprocal":
        return ReciprocalExtension(Z, rows)
    if extension == "knn":
        return NeighboursExtension(Z, rows, min(n_neighbors, len(Z)))
    if extension == "nystrom":
        return NystromExtension(Z, d, rows, eta, tau)
    return HyperkernelExtension(Z, K, rows, random_state)


class NoExtension:
    """F' = 1: the support vector machine's kernel for new rows."""

    def __init__(self, n_train):
        self.train_factor = np.ones((n_train, 1))

    def transform(self, X):
        return np.ones((len(X), 1))


class NeighboursExtension:
    """The mean of F over the k nearest training rows."""

    def __init__(self, Z, rows, n_neighbors):
        self.train_factor, self._rows, self._k = Z, rows, n_neighbors

    def transform(self, X):
        factor = np.empty((len(X), self.train_factor.shape[1]))
        for part in row_blocks(len(X), 16 * len(self.train_factor)):
            near, _ = _nearest(self._rows.distances(X[part]), self._k)
            factor[part] = self.train_factor[near].mean(axis=1)
        return factor


class ReciprocalExtension:
    """F of the best reciprocal nearest neighbour (JMLR, equations 11 and 12).

    The rank of a new row among *all* rows that are predicted together enters the rule,
    so predictions for a row can depend on the rows beside it, as in the papers.
    """

    def __init__(self, Z, rows):
        self.train_factor, self._rows = Z, rows

    def transform(self, X):
        n_train = len(self.train_factor)
        return self.train_factor[reciprocal_neighbours(X, n_train, self._rows.distances)]


class NystromExtension:
    """Nyström extension of F's eigenvectors.

    F has the eigenvectors of ``11' + Gamma``. With a(x, x_i) = 1 + delta(x) k(x, x_i)
    d_i / (4 eta), an eigenvector u extends to ``u(x) = sum_i a(x, x_i) u_i / lambda``;
    delta(x), the coefficient that x would have, is that of the nearest training row.
    On the training rows this gives F back.
    """

    def __init__(self, Z, d, rows, eta, tau):
        values, rotation = np.linalg.eigh(Z.T @ Z)
        kept = values > len(Z) * np.finfo(float).eps * values.max(initial=0.0)
        self.train_factor = Z @ rotation[:, kept]
        scaled = self.train_factor / (values[kept] + tau / 2)
        self._support = np.flatnonzero(d)
        self._mean = scaled.sum(axis=0)
        self._weighted = scaled[self._support] * (d[self._support, None] / (4 * eta))
        self._d, self._rows = d, rows

    def transform(self, X):
        factor = np.tile(self._mean, (len(X), 1))
        for part in row_blocks(len(X), 32 * len(self._d)):
            near, _ = _nearest(self._rows.distances(X[part]), 1)
            K = self._rows.kernel(X[part], self._support)
            factor[part] += self._d[near] * (K @ self._weighted)
        return factor


class HyperkernelExtension:
    """Non-negative regression of F in a hyper-RKHS (Pan et al. 2017).

    The regression function is ``f(x, x') = sum_p beta_p g_p(x) g_p(x')``, beta >= 0,
    over a constant and the hyper-kernels ``k(x, z) k(x', z)`` of anchors z: for a
    Gaussian kernel these are Gaussian hyper-kernels at the pairs (z, z). It is positive
    semidefinite for every beta >= 0, and the fit to all n^2 entries of F is a
    non-negative least squares problem in as many unknowns as there are anchors.
    """

    def __init__(self, Z, K, rows, random_state):
        n = len(Z)
        seed = 0 if random_state is None else random_state
        chosen = check_random_state(seed).permutation(n)
        self._rows, self._anchors = rows, np.sort(chosen[:MAX_ANCHORS])
        G = np.column_stack([np.ones(n), K[:, self._anchors]])
        normal = (G.T @ G) ** 2
        normal[np.diag_indices(len(normal))] += 1e-10 * np.trace(normal)
        target = ((G.T @ Z) ** 2).sum(axis=1)
        L = scipy.linalg.cholesky(normal, lower=True)
        beta, _ = nnls(L.T, scipy.linalg.solve_triangular(L, target, lower=True))
        self._used = np.flatnonzero(beta)
        self._roots = np.sqrt(beta[self._used])
        self.train_factor = G[:, self._used] * self._roots

    def transform(self, X):
        G = np.column_stack([np.ones(len(X)), self._rows.kernel(X, self._anchors)])
        return G[:, self._used] * self._roots


def _nearest(D, k):
    """Indices of the k smallest entries of each row, nearest first, and the entries."""
    near = np.sort(np.argpartition(D, k - 1, axis=1)[:, :k], axis=1)
    values = np.take_along_axis(D, near, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(values, order, axis=1)


def reciprocal_neighbours(X, n_train, distances):
    """For each row of X the training row i with the largest M_ij = 1/(r s).

    x_i is the s-th nearest training row of x'_j, x'_j the r-th nearest of the rows of X
    to x_i (JMLR, equation 11); rows at equal distance share a rank, and among equal
    products the nearest training row is taken. Exact, in memory that does not grow with
    len(X) * n_train: lists of the k nearest on both sides hold every pair whose product
    is at most k, and the few rows without such a pair are looked at one block at a
    time.
    """
    n_new = len(X)
    train, s, last_s = _ranked_lists(lambda rows: distances(X[rows]), n_new, n_train)
    new, r, last_r = _ranked_lists(lambda cols: distances(X, cols).T, n_train, n_new)
    # Each pair has a number, by which the ranks r are found of those that both hold.
    order = np.argsort(new, axis=1)
    r = np.take_along_axis(r, order, axis=1).ravel()
    held = (np.sort(new, axis=1) + n_new * np.arange(n_train)[:, None]).ravel()
    wanted = n_new * train + np.arange(n_new)[:, None]
    place = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
    product = np.where(held[place] == wanted, r[place] * s, np.inf)
    least = product.argmin(axis=1)[:, None]
    best = np.take_along_axis(train, least, axis=1)[:, 0]
    settled = np.take_along_axis(product, least, axis=1)[:, 0] <= np.minimum(last_s, last_r.min())
    rest = np.flatnonzero(~settled)
    for block in row_blocks(len(rest), 48 * n_train):
        best[rest[block]] = _reciprocal_directly(X, rest[block], n_train, distances)
    return best


def _ranked_lists(distances, n_rows, n_columns):
    """The nearest columns of each row, nearest first, their ranks, and the last rank.

    A list that holds all columns leaves nothing out: its last rank counts as infinite.
    """
    k = min(LIST_LENGTH, n_columns)
    near, ranks = np.empty((n_rows, k), dtype=int), np.empty((n_rows, k))
    for rows in row_blocks(n_rows, 24 * n_columns):
        near[rows], values = _nearest(distances(rows), k)
        ranks[rows] = 1 + (values[:, None, :] < values[:, :, None]).sum(axis=2)
    return near, ranks, ranks[:, -1] if k < n_columns else np.full(n_rows, np.inf)


def _reciprocal_directly(X, queries, n_train, distances):
    """The same for some rows of X, from all their pairs."""
    D = distances(X[queries])
    s = np.array([1 + np.searchsorted(np.sort(values), values) for values in D])
    r = np.empty(D.shape)
    for block in row_blocks(n_train, 24 * len(X)):
        columns = np.arange(n_train)[block]
        for i, values in zip(columns, distances(X, columns).T, strict=True):
            r[:, i] = 1 + np.searchsorted(np.sort(values), values[queries])
    # lexsort's last key comes first: the product, then the distance
    return np.array([np.lexsort((a, b))[0] for a, b in zip(D, r * s, strict=True)])

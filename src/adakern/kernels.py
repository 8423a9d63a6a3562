"""Gram matrices of the kernels that adakern adapts, for any array API library."""

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy.sparse import issparse
from scipy.spatial.distance import cdist
from sklearn.utils._param_validation import StrOptions

from adakern._utils.arrays import as_numpy
from adakern._utils.constraints import GAMMA
from adakern._utils.resources import (
    BLOCK_BYTES,
    CACHE_BYTES,
    TILE_BYTES,
    by_row_blocks,
    require_memory,
    row_blocks,
)

#: Kernels computed from features; estimators also accept "precomputed".
KERNELS = ("rbf", "laplacian", "l2-laplacian", "tl1", "poly", "linear")


#: Numbers of indicators, and of rows, from which on counting differing indicators takes
#: less time than adding up distances.
MANY_INDICATORS = 100


def centre_of(X):
    """Mean row, or the column medians if outliers dominate the mean.

    Matrix products lose all digits of rows far from the centre. The median of about 100
    rows is accurate enough.
    """
    xp = array_namespace(X)
    rows = X[:: 1 + X.shape[0] // 100, :]
    if not X.shape[0]:
        return xp.sum(X, axis=0)
    mean = xp.mean(X, axis=0)
    middle = xp.sort(rows, axis=0)[rows.shape[0] // 2, :]
    spread = xp.sort(xp.sum((rows - middle) ** 2, axis=1))[rows.shape[0] // 2]
    return middle if xp.sum((mean - middle) ** 2) > 100 * spread else mean


def squared_distances(X, Y=None):
    """Squared Euclidean distances between the rows of X and Y, by one matrix product.

    The rows are centred first, since ``|x|^2 - 2 x'y + |y|^2`` loses all digits of
    float32 far from the origin.
    """
    xp = array_namespace(X) if Y is None else array_namespace(X, Y)
    centre = centre_of(X if Y is None else Y)
    A = X - centre
    B = A if Y is None else Y - centre
    D = A @ B.T
    D *= -2
    D += xp.sum(A * A, axis=1)[:, None]
    D += xp.sum(B * B, axis=1)[None, :]
    D = clamp_at_zero(D, xp)
    if Y is None:
        flat = xp.reshape(D, (-1,))
        flat[:: D.shape[0] + 1] = 0
        D = xp.reshape(flat, D.shape)
    return D


def clamp_at_zero(D, xp):
    """Replace negative values of D by zero, in place if the library allows it."""
    return (
        np.maximum(D, 0, out=D)
        if is_numpy_array(D)
        else xp.where(D > 0, D, xp.zeros_like(D))
    )


def _rounding(squares, d):
    """Bound on the rounding error of squared distances from a matrix product.

    ``squares`` are the squared norms of the rows, which have d features. Distances up
    to the bound are set to zero, since their square roots would depend on the other
    rows in the product.
    """
    return 4 * (d + 2) * array_namespace(squares).finfo(squares.dtype).eps * squares


def _euclidean_distances(X, Y=None):
    D = squared_distances(X, Y)
    if Y is not None:
        xp = array_namespace(Y)
        rounding = _rounding(xp.sum((Y - centre_of(Y)) ** 2, axis=1), Y.shape[1])
        D = xp.where(rounding < D, D, xp.zeros_like(D))
    D **= 0.5
    return D


def manhattan_distances(X, Y=None):
    """Manhattan distances between the rows of X and Y, shape (n, m)."""
    Y = X if Y is None else Y
    if is_numpy_array(X) and is_numpy_array(Y):
        return _numpy_manhattan(X, Y).astype(X.dtype, copy=False)
    xp = array_namespace(X, Y)
    return by_row_blocks(
        lambda rows: xp.sum(xp.abs(rows[:, None, :] - Y[None, :, :]), axis=2),
        X,
        8 * Y.shape[0] * Y.shape[1],
    )


def _numpy_manhattan(X, Y):
    """Manhattan distances; those of many equal indicators by counting differing ones.

    Levels of a category are indicators of one scale. If they are the last columns, the
    order of summation, and thus the rounding, is SciPy's.
    """
    others = np.ones(X.shape[1], dtype=bool)
    counted = []
    if X.shape[1] >= MANY_INDICATORS <= min(len(X), len(Y)):
        highest = np.maximum(X.max(axis=0), Y.max(axis=0))
        values, counts = np.unique(highest, return_counts=True)
        for value in values[counts >= MANY_INDICATORS]:
            each = np.flatnonzero(highest == value)
            is_indicator = [np.isin(Z[:, each], (0, value)).all(axis=0) for Z in (X, Y)]
            each = each[np.logical_and(*is_indicator)]
            A, B = ((Z[:, each] != 0).astype(np.float32) for Z in (X, Y))
            n_both = A @ B.T
            counted.append((value, A.sum(axis=1)[:, None] + B.sum(axis=1) - 2 * n_both))
            others[each] = False
    D = cdist(X[:, others], Y[:, others], "cityblock")
    for value, n_differing in counted:
        for i in range(int(n_differing.max())):
            D += value * (n_differing > i)
    return D


#: Kernels ``exp(-gamma D)`` and their distances D.
DECAYING_KERNELS = {
    "rbf": squared_distances,
    "laplacian": manhattan_distances,
    "l2-laplacian": _euclidean_distances,
}


def gram_matrix(
    X, Y=None, *, kernel="rbf", gamma=1.0, degree=3, coef0=1.0, prepared=None
):
    """Kernel matrix between the rows of X and of Y (by default X).

    The kernels are ``exp(-gamma |x-y|_2^2)`` ("rbf", gamma = 1/(2 sigma^2) in the
    papers' terms), ``exp(-gamma |x-y|_1)`` ("laplacian", scikit-learn's), ``exp(-gamma
    |x-y|_2)`` ("l2-laplacian"), ``max(1 - gamma |x-y|_1, 0)`` ("tl1", the truncated L1
    kernel with rho = 1/gamma, scaled to 1 at zero distance; not positive semidefinite
    in general), ``(gamma x'y + coef0)^degree`` ("poly") and ``x'y`` ("linear"). The
    result has the dtype, array library and device of X. ``prepared`` is
    :func:`prepare_centres` of Y, which repeated calls need not compute again.
    """
    n = X.shape[0]
    m = n if Y is None else Y.shape[0]
    if n * m * 8 > BLOCK_BYTES:
        require_gram_memory(n, m)
    if kernel in ("rbf", "l2-laplacian") and is_numpy_array(X):
        prepared = prepared or prepare_centres(X if Y is None else Y, kernel, gamma)
        K = _gram_by_products(X, *prepared, kernel, gamma)
        if Y is None:
            np.fill_diagonal(K, 1)
        return K
    if kernel in DECAYING_KERNELS:
        return exponential_decay(DECAYING_KERNELS[kernel](X, Y), gamma)
    if kernel == "tl1":
        D = manhattan_distances(X, Y)
        return clamp_at_zero(1 - gamma * D, array_namespace(D))
    if kernel in ("poly", "linear"):
        K = X @ (X if Y is None else Y).T
        return K if kernel == "linear" else (gamma * K + coef0) ** degree
    raise ValueError(f"kernel={kernel!r} is unknown; use one of {', '.join(KERNELS)}")


def prepare_centres(Y, kernel, gamma):
    """Return the centre of the rows Y, and the right factor of a Gram matrix with them.

    The factor is the part of the matrix product that depends on Y only.
    """
    centre = centre_of(Y)
    B, end = _centred(Y, centre, kernel, gamma)
    return centre, np.hstack([B, np.ones_like(end), end]).T


def _centred(X, centre, kernel, gamma):
    """Centred rows in units of the kernel, and minus their squared norms."""
    A = (X - centre) * (gamma**0.5 if kernel == "rbf" else gamma)
    return A, -np.einsum("ij,ij->i", A, A)[:, None]


def _gram_by_products(X, centre, right, kernel, gamma):
    """Gram matrix ("rbf" or "l2-laplacian") of NumPy arrays by one matrix product.

    ``centre`` and ``right`` are :func:`prepare_centres` of the rows y.
    """
    A, end = _centred(X, centre, kernel, gamma)
    left = np.hstack([2 * A, end, np.ones_like(end)])
    K = np.empty((len(A), right.shape[1]), dtype=left.dtype)
    zero = _rounding(right[-1], A.shape[1])
    for rows in row_blocks(len(A), K.itemsize * right.shape[1], CACHE_BYTES):
        tile = np.matmul(left[rows], right, out=K[rows])
        if kernel == "rbf":
            np.minimum(tile, 0, out=tile)
        else:
            tile[tile > zero] = 0
            np.negative(np.sqrt(np.negative(tile, out=tile), out=tile), out=tile)
        np.exp(tile, out=tile)
    return K


def require_gram_memory(n, m):
    """Raise MemoryError if an n x m kernel matrix does not fit into memory."""
    require_memory(
        2 * 8 * n * m,
        f"the {n} x {m} kernel matrix with its distances",
        "use fewer rows, or a method that stores none (Falkon, EigenPro, DANK with "
        'strategy="decomposed", ClusterwiseClassifier)',
    )


def exponential_decay(D, gamma):
    """``exp(-gamma D)``, in place if the array library allows it."""
    D *= -gamma
    return np.exp(D, out=D) if is_numpy_array(D) else array_namespace(D).exp(D)


def kernel_product(X, Y, V, **kernel):
    """``K(X, Y) V`` without storing K."""
    return _by_tiles(X, Y, lambda tile: (tile @ V,), kernel)[0]


def kernel_products(X, Y, V, U, **kernel):
    """``K(X, Y) V`` and ``(K∘K)(X, Y) U`` without storing K."""

    def products(tile):
        KV = tile @ V
        tile *= tile
        return KV, tile @ U

    return _by_tiles(X, Y, products, kernel)


def _by_tiles(X, Y, products, kernel):
    """Products with the Gram matrix, which is computed by tiles that fit into cache."""
    xp = array_namespace(X)
    row_bytes = Y.shape[0] * xp.finfo(X.dtype).bits // 8
    blocks = [*row_blocks(X.shape[0], row_bytes, TILE_BYTES)] or [slice(0)]
    parts = [products(gram_matrix(X[rows, :], Y, **kernel)) for rows in blocks]
    return [xp.concat(part) for part in zip(*parts, strict=True)]


def kernel_diagonal(X, *, kernel="rbf", gamma=1.0, degree=3, coef0=1.0):
    """Kernel values k(x, x) of the rows of X, shape (n,)."""
    xp = array_namespace(X)
    if kernel in ("poly", "linear"):
        squares = xp.sum(X * X, axis=1)
        return squares if kernel == "linear" else (gamma * squares + coef0) ** degree
    return xp.ones(X.shape[0], dtype=X.dtype, device=getattr(X, "device", None))


def nearest_rows(X, Y):
    """Index of the first nearest row of Y for each row of X, by blocks."""
    xp = array_namespace(X, Y)
    centre = centre_of(Y)  # as in squared_distances
    B = Y - centre
    half_squares = xp.sum(B * B, axis=1) / 2

    def nearest(rows):
        # |x - y|^2 / 2 = |x|^2 / 2 - this, and the first term does not depend on y.
        closeness = (rows - centre) @ B.T
        closeness -= half_squares
        return xp.argmax(closeness, axis=1)

    return by_row_blocks(nearest, X, 8 * Y.shape[0], CACHE_BYTES)


def resolve_gamma(gamma, X, weights=None):
    """Value of ``gamma``, by scikit-learn's rules for "scale" and "auto"."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if weights is not None:
        X = as_numpy(X)
        mean = np.average(X, axis=0, weights=weights).mean()
        variance = float(np.average((X - mean) ** 2, axis=0, weights=weights).mean())
    elif issparse(X):
        variance = float(X.multiply(X).mean() - X.mean() ** 2)
    else:
        variance = float(array_namespace(X).var(X))
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


class TrainingRows:
    """Training rows X, or a precomputed kernel, to compare new rows with."""

    def __init__(self, X, K, params):
        precomputed = params["kernel"] == "precomputed"
        self._X = None if precomputed else X
        self._params = params
        self._diagonal = K.diagonal().copy() if precomputed else None

    def kernel(self, X, columns):
        """Kernel values between new rows and some training rows."""
        if self._X is None:
            return X[:, columns]
        return gram_matrix(X, self._X[columns], **self._params)

    def nearest(self, X):
        """Index of the training row nearest to each new row."""
        if self._X is None:
            return np.argmin(self.distances(X), axis=1)
        return nearest_rows(X, self._X)

    def distances(self, X, columns=slice(None)):
        """Squared distances; for a precomputed kernel, those in its feature space.

        The latter omit k(x, x), which is unknown for new rows. It is assumed to be
        constant, as for kernels that depend on a distance.
        """
        if self._X is None:
            return self._diagonal[columns] - 2 * X[:, columns]
        return squared_distances(X, self._X[columns])


class KernelMixin:
    """Mixin for the parameters ``kernel``, ``gamma`` and, if any, ``degree, coef0``."""

    _kernel_constraints = {
        "kernel": [StrOptions({*KERNELS, "precomputed"})],
        "gamma": GAMMA,
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _resolve_kernel(self, X, weights=None):
        """Set ``gamma_`` from the training data."""
        given = self.kernel == "precomputed"
        self.gamma_ = 1.0 if given else resolve_gamma(self.gamma, X, weights)

    @property
    def _kernel_params(self):
        return {
            "kernel": self.kernel,
            "gamma": self.gamma_,
            "degree": getattr(self, "degree", 3),
            "coef0": getattr(self, "coef0", 1.0),
        }

    def _gram(self, X, Y=None):
        """Kernel matrix between X and Y; X itself if the kernel is precomputed."""
        return (
            X
            if self.kernel == "precomputed"
            else gram_matrix(X, Y, **self._kernel_params)
        )

"""Input of the column samplers: kernel columns on demand, and encoded labels."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import (
    euclidean_distances,
    pairwise_kernels,
    sigmoid_kernel,
)
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.extmath import row_norms
from sklearn.utils.multiclass import type_of_target

from adakern._utils.arrays import encode_classes
from adakern.kernels import exponential_decay, gram_matrix, kernel_diagonal

#: Number of random sign vectors used in place of missing labels.
N_PROBES = 16


class KernelColumns:
    """Gram matrix K of the rows of X, of which only requested columns are computed."""

    def __init__(self, X, kernel="rbf", **kernel_params):
        self.X = X
        self.n_rows = X.shape[0]
        self.precomputed = kernel == "precomputed"
        self._params = {"kernel": kernel, **kernel_params}

    def columns(self, indices, rows=slice(None)):
        """K[rows, indices]; all rows by default."""
        if self.precomputed:
            return self.X[rows][:, indices]
        return kernel_matrix(self.X[rows], self.X[indices], **self._params)

    def full(self):
        """All of K, for the methods that need it by definition."""
        return self.X if self.precomputed else kernel_matrix(self.X, **self._params)

    def diagonal(self):
        """The diagonal of K, shape (l,), as a new array."""
        if self.precomputed:
            return np.diagonal(self.X).copy()
        lengths = self.X
        kernel = self._params
        if issparse(self.X):  # k(x, x) is a function of |x|
            lengths = row_norms(self.X)[:, None]
        if kernel["kernel"] == "sigmoid":
            linear = kernel | {"kernel": "poly", "degree": 1}
            return np.tanh(kernel_diagonal(lengths, **linear))
        return kernel_diagonal(lengths, **kernel)


def kernel_matrix(X, Y=None, *, kernel, gamma=1.0, degree=3, coef0=1.0):
    """:func:`adakern.kernels.gram_matrix` with support for sparse rows and "sigmoid".

    The sigmoid kernel is ``tanh(gamma x'y + coef0)``.
    """
    params = {"gamma": gamma, "degree": degree, "coef0": coef0}
    if kernel == "sigmoid":
        return sigmoid_kernel(X, Y, gamma=gamma, coef0=coef0)
    if not issparse(X):
        return gram_matrix(X, Y, kernel=kernel, **params)
    if kernel == "l2-laplacian":
        return exponential_decay(euclidean_distances(X, Y), gamma)
    return pairwise_kernels(X, Y, metric=kernel, filter_params=True, **params)


class Targets(NamedTuple):
    """Labels in the two encodings used by the samplers.

    ``values`` (l, q) are the y of ``mu y'(K + mu l I)^-1 y``: -1/+1 (one column per
    class for three or more), or the numeric targets. ``weights`` (l,) are the labels
    that Algorithm 2 squares: one over the size of the class, or the absolute values of
    the numeric targets.
    """

    values: np.ndarray
    weights: np.ndarray


def encode_targets(estimator, y, task="auto"):
    """Encode the labels passed to an estimator as :class:`Targets`."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if task == "auto":
        continuous = y.ndim == 2 or type_of_target(y).startswith("continuous")
        task = "regression" if continuous else "classification"
    if task == "regression":
        values = y.astype(np.float64).reshape(len(y), -1)
        return Targets(values, np.linalg.norm(values, axis=1))
    _, codes = encode_classes(estimator, y)
    signs = LabelBinarizer(neg_label=-1).fit_transform(codes).astype(np.float64)
    return Targets(signs, 1.0 / np.bincount(codes)[codes])


def random_targets(n_rows, rng):
    """Random signs as targets, with expected criterion ``mu tr (K + mu l I)^-1``."""
    return Targets(rng.choice([-1.0, 1.0], size=(n_rows, N_PROBES)), np.ones(n_rows))

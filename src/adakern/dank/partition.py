"""Partition of the rows into clusters, which DANK solves separately."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from adakern._utils.arrays import as_index, as_numpy, asarray_like
from adakern.kernels import nearest_rows

#: Number of rows per cluster in the sample to which k-means is fitted.
SAMPLE_PER_CLUSTER = 200

#: Interior-point steps, and floating-point operations per second of one core, that
#: :func:`clusters_for` assumes.
STEPS, FLOPS = 20, 1e10


@dataclass(frozen=True)
class Partition:
    """Clusters of the training rows, and assignment of new rows to them."""

    #: Cluster centres, shape (k, d).
    centres: Any
    #: Cluster of each training row, 0 <= label < k, shape (n,). No cluster is empty.
    labels: np.ndarray

    @property
    def rows(self):
        """Row indices of each cluster, a list of k index arrays."""
        order = np.argsort(self.labels, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.labels))[:-1])

    def assign(self, X):
        """Nearest centre of each row of X, an integer ndarray of shape (n,)."""
        return as_numpy(nearest_rows(X, self.centres))


def clusters_for(n_rows, *, memory=2**30, seconds=600.0):
    """Number of clusters with which a decomposed fit stays within a budget.

    In the worst case, all n/k rows of a cluster are support vectors. Each of 20
    interior-point steps then stores four matrices of (n/k)^2 doubles, and factorises
    one at 10 GFlop/s.
    """
    for_memory = n_rows / np.sqrt(memory / (4 * 8))
    for_seconds = np.sqrt(STEPS * n_rows**3 / (3 * FLOPS * seconds))
    return max(1, int(np.ceil(max(for_memory, for_seconds))))


def partition(X, n_clusters, random_state=None):
    """Fit k-means to a sample, and assign every row to the nearest centre."""
    n = X.shape[0]
    xp = array_namespace(X)
    rng = check_random_state(random_state)
    sample = np.sort(
        rng.choice(n, min(n, SAMPLE_PER_CLUSTER * n_clusters), replace=False)
    )
    points = np.unique(as_numpy(xp.take(X, as_index(sample, X), axis=0)), axis=0)
    means = KMeans(min(n_clusters, len(points)), n_init=1, random_state=rng).fit(points)
    centres = asarray_like(means.cluster_centers_, X)
    filled, labels = np.unique(as_numpy(nearest_rows(X, centres)), return_inverse=True)
    return Partition(xp.take(centres, as_index(filled, X), axis=0), labels)

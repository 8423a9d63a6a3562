"""A classifier per cluster of the data, the papers' approach to large data sets."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone, is_classifier
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods

from adakern._utils.arrays import encode_classes
from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, constraints
from adakern.baselines.base import Baseline


@parameters
class ClusterwiseClassifier(ClassifierMixin, Baseline):
    """Classifier fitted separately to each k-means cluster of the rows.

    A row is predicted by the classifier of its cluster. This reduces the cost of
    methods that are quadratic or cubic in the number of rows.

    Parameters
    ----------
    estimator : classifier, default=None
        Cloned for every cluster; ``SVC()`` if None.
    n_clusters : int, default=5
        Number of clusters, at most the number of distinct rows.
    random_state : int, RandomState instance or None, default=None
        Random state of k-means and of the clones that have a ``random_state``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kmeans_ : KMeans
    estimators_ : list
        One per cluster; a ``DummyClassifier`` for clusters with a single class.
    """

    estimator: Any = None
    _: KW_ONLY
    n_clusters: int = 5
    random_state: Any = None

    _parameter_constraints = constraints(
        "random_state",
        estimator=[HasMethods(["fit", "predict"]), None],
        n_clusters=AT_LEAST_ONE,
    )

    def _fit(self, X, y):
        self.classes_, _ = encode_classes(self, y)
        n_clusters = min(self.n_clusters, len(np.unique(X, axis=0)))
        rng = check_random_state(self.random_state)
        self.kmeans_ = KMeans(n_clusters, n_init=1, random_state=rng.randint(2**31))
        clusters = self.kmeans_.fit_predict(X)
        base = SVC() if self.estimator is None else self.estimator
        if not is_classifier(base):
            raise ValueError(f"estimator must be a classifier, got {base!r}")
        self.estimators_ = []
        for cluster in range(n_clusters):
            # Rows that differ only by rounding can leave a cluster empty: use all rows.
            rows = clusters == cluster if cluster in clusters else slice(None)
            several = len(np.unique(y[rows])) > 1
            model = _seeded_copy(base, rng) if several else DummyClassifier()
            self.estimators_.append(model.fit(X[rows], y[rows]))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of each row by the classifier of its cluster.

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        X = self._rows(X)
        clusters = self.kmeans_.predict(X)
        labels = np.empty(len(X), dtype=self.classes_.dtype)
        for cluster, estimator in enumerate(self.estimators_):
            rows = np.flatnonzero(clusters == cluster)
            if len(rows):
                labels[rows] = estimator.predict(X[rows])
        return labels


def _seeded_copy(estimator, rng):
    names = [
        n for n in sorted(estimator.get_params()) if n.split("__")[-1] == "random_state"
    ]
    return clone(estimator).set_params(**{name: rng.randint(2**31) for name in names})

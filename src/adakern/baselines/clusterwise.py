"""A classifier for every cluster of the data: the papers' way to large sets."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from adakern._utils.base import Estimator
from adakern._utils.constraints import AT_LEAST_ONE
from adakern._utils.validation import encode_classes, validate_data


class ClusterwiseClassifier(ClassifierMixin, Estimator):
    """Fits a copy of a classifier on each k-means cluster; a row's own cluster answers.

    Cuts the cost of a method that is quadratic or cubic in the rows.

    Parameters
    ----------
    estimator : classifier, default=None
        Cloned for every cluster; ``SVC()`` when None.
    n_clusters : int, default=5
        At most the number of distinct rows is used.
    random_state : int, RandomState or None, default=None
        Of k-means, and of the copies wherever they have a ``random_state``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kmeans_ : KMeans
    estimators_ : list
        One a cluster; a ``DummyClassifier`` for a cluster that holds one class only.
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_clusters": AT_LEAST_ONE,
        "random_state": ["random_state"],
    }

    def __init__(self, estimator=None, *, n_clusters=5, random_state=None):
        self.estimator = estimator
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Cut the rows into clusters and fit a classifier on each.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Class labels, two classes or more.
        """
        self._validate_params()
        X, y = validate_data(self, X, y, dtype=np.float64)
        self.classes_, _ = encode_classes(self, y)
        n_clusters = min(self.n_clusters, len(np.unique(X, axis=0)))
        rng = check_random_state(self.random_state)
        self.kmeans_ = KMeans(n_clusters, n_init=1, random_state=rng.randint(2**31))
        clusters = self.kmeans_.fit_predict(X)
        base = SVC() if self.estimator is None else self.estimator
        self.estimators_ = []
        for cluster in range(n_clusters):
            # Rows that differ by rounding alone leave a cluster empty: then all rows.
            rows = clusters == cluster if cluster in clusters else slice(None)
            several = len(np.unique(y[rows])) > 1
            model = _seeded_copy(base, rng) if several else DummyClassifier()
            self.estimators_.append(model.fit(X[rows], y[rows]))
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class that the row's own cluster gives it, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        check_is_fitted(self, "estimators_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        clusters = self.kmeans_.predict(X)
        labels = np.empty(len(X), dtype=self.classes_.dtype)
        for cluster, estimator in enumerate(self.estimators_):
            rows = np.flatnonzero(clusters == cluster)
            if len(rows):
                labels[rows] = estimator.predict(X[rows])
        return labels


def _seeded_copy(estimator, rng):
    names = [n for n in sorted(estimator.get_params()) if n.split("__")[-1] == "random_state"]
    return clone(estimator).set_params(**{name: rng.randint(2**31) for name in names})

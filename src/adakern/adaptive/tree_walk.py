"""Fast predictions of scikit-learn's trees for a few rows.

Each call of a compiled tree takes about ten microseconds, and a model has hundreds of
trees. Here, all trees of a model are descended simultaneously.
"""

from itertools import chain
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

#: Maximum number of rows for which this is faster than calling each tree.
FEW_ROWS_ASKED = 10

#: Cached arrays of fitted models. They are not attributes, which would be written to
#: model files without being checked.
_KNOWN = WeakKeyDictionary()


class Trees(NamedTuple):
    """Trees as arrays; ``child`` has two entries per node, for leaves themselves."""

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    child: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    depth: int

    def leaves(self, X):
        """Values of the leaves that the rows X reach, shape (n_trees, n, k)."""
        (n, d) = X.shape
        numbers = X.ravel()
        missing = np.isnan(X).any()
        node, start = (
            np.repeat(self.roots, n),
            np.tile(d * np.arange(n), len(self.roots)),
        )
        for _ in range(self.depth):
            x = numbers.take(start + self.feature.take(node))
            goes_right = x > self.threshold.take(node)
            if missing:
                goes_right |= np.isnan(x) & ~self.missing_left.take(node)
            node = self.child.take(2 * node + goes_right)
        return self.value[node].reshape(len(self.roots), n, -1)


def trees_of(*models):
    """Trees of forests, or of boosting without categories, in their order."""
    known = _KNOWN.setdefault(models[0], {})
    key = tuple(map(id, models))
    if key not in known:
        found = _of_boosting if hasattr(models[0], "_predictors") else _of_forest
        parts, depths = zip(*map(found, models), strict=True)
        known[key] = _joined(list(chain(*parts)), max(depths))
    return known[key]


def _joined(trees, depth):
    """Concatenate trees, which are tuples of all arrays but the roots."""
    sizes = [len(feature) for feature, *_ in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    parts = [np.concatenate(part) for part in zip(*trees, strict=True)]
    feature, threshold, missing_left, left, right, value = parts
    children = np.stack([left, right], axis=1)
    own = np.arange(len(left))[:, None]
    inner = left[:, None] > 0
    child = np.where(inner, children + np.repeat(roots, sizes)[:, None], own).ravel()
    feature = np.where(inner[:, 0], feature, 0)
    missing_left = missing_left.astype(bool)
    return Trees(feature, threshold, missing_left, child, value, roots, depth)


def _of_forest(model):
    trees = [estimator.tree_ for estimator in model.estimators_]
    parts = [
        (
            tree.feature,
            tree.threshold,
            tree.missing_go_to_left,
            tree.children_left,
            tree.children_right,
            tree.value.reshape(len(tree.value), -1),
        )
        for tree in trees
    ]
    return parts, max(tree.max_depth for tree in trees)


def _of_boosting(model):
    trees = [tree.nodes for trees in model._predictors for tree in trees]
    parts = [
        (
            nodes["feature_idx"].astype(np.intp),
            nodes["num_threshold"],
            nodes["missing_go_to_left"],
            nodes["left"].astype(np.intp),
            nodes["right"].astype(np.intp),
            nodes["value"][:, None],
        )
        for nodes in trees
    ]
    return parts, max(int(nodes["depth"].max()) for nodes in trees)

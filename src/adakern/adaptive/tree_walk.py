"""Trees of scikit-learn asked about a few rows, all of a model at once.

Each call of a compiled tree takes about ten microseconds whatever it is asked, and a
model has hundreds. Here all trees take a step at a time.
"""

from itertools import chain
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

#: Rows up to which one walk through all trees is faster than a call for each of them.
FEW_ROWS_ASKED = 10

#: The trees of fitted models. No part of them, so that files hold what is checked.
_KNOWN = WeakKeyDictionary()


class Trees(NamedTuple):
    """Trees, an array of each part; ``child`` has two of each node, a leaf leads to
    itself.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    child: np.ndarray
    value: np.ndarray
    roots: np.ndarray
    depth: int

    def leaves(self, X):
        """Values (n_trees, n, k) of the leaves that rows X end in."""
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
    """The trees of forests, or of boosting without categories, in their order."""
    known = _KNOWN.setdefault(models[0], {})
    key = tuple(map(id, models))
    if key not in known:
        found = _of_boosting if hasattr(models[0], "_predictors") else _of_forest
        parts, depths = zip(*map(found, models), strict=True)
        known[key] = _joined(list(chain(*parts)), max(depths))
    return known[key]


def _joined(trees, depth):
    """Trees, each a tuple of the parts but the roots, as one."""
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

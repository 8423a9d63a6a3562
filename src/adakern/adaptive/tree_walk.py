"""Fast predictions of scikit-learn's trees for a few rows.

Calling a compiled tree takes about ten microseconds, and a model has hundreds of trees.
Here, all trees of a model are descended simultaneously.
"""

from itertools import chain
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

#: Maximum number of rows for which this is faster than calling each tree.
FEW_ROWS_PREDICTED = 10

#: Cached arrays of fitted models. They are not stored as attributes, which would be
#: written to model files without being checked.
_CACHE = WeakKeyDictionary()

_NO_BITS = np.empty(0, dtype=np.uint32)


class Trees(NamedTuple):
    """Trees as arrays.

    ``child`` has two entries per node; both children of a leaf are the leaf itself.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    #: Index into ``bits`` of each node that splits categories, -1 for other nodes.
    category: np.ndarray
    child: np.ndarray
    value: np.ndarray
    #: Packed bits, 32 categories per entry; a set bit sends its category to the left.
    bits: np.ndarray
    roots: np.ndarray
    #: Number of trees of each model.
    counts: list
    depth: int

    def leaves(self, *rows):
        """Values of the leaves that the rows reach, an array (n_trees, n, k) per model.

        ``rows`` has one array per model, with categories encoded from 0.
        """
        (n, d) = rows[0].shape
        numbers = np.concatenate(rows, axis=None)
        missing = np.isnan(numbers).any()
        first = n * d * np.repeat(np.arange(len(rows)), self.counts)
        node = np.repeat(self.roots, n)
        start = (first[:, None] + d * np.arange(n)).ravel()
        for _ in range(self.depth):
            x = numbers.take(start + self.feature.take(node))
            goes_right = x > self.threshold.take(node)
            if len(self.bits):
                self._split_categories(node, x, goes_right)
            if missing:
                goes_right |= np.isnan(x) & ~self.missing_left.take(node)
            node = self.child.take(2 * node + goes_right)
        values = self.value[node].reshape(len(self.roots), n, -1)
        return np.split(values, np.cumsum(self.counts[:-1]))

    def _split_categories(self, node, x, goes_right):
        """Set ``goes_right`` for the rows at nodes that split categories."""
        word = self.category.take(node)
        here = np.flatnonzero((word >= 0) & ~np.isnan(x))
        code = x[here].astype(np.intp)
        left = self.bits[word[here] + code // 32] >> (code % 32).astype(np.uint32) & 1
        goes_right[here] = left == 0


def trees_of(*models):
    """Return all trees of several forests, or of several boosting models."""
    known = _CACHE.setdefault(models[0], {})
    key = tuple(map(id, models))
    if key not in known:
        arrays_of = (
            _arrays_of_boosting
            if hasattr(models[0], "_predictors")
            else _arrays_of_forest
        )
        parts, depths = zip(*map(arrays_of, models), strict=True)
        known[key] = _concatenate(
            list(chain(*parts)), list(map(len, parts)), max(depths)
        )
    return known[key]


def _concatenate(trees, counts, depth):
    """Concatenate trees, each given as a tuple of all arrays except the roots."""
    sizes = [len(tree[0]) for tree in trees]
    words = np.cumsum([0, *(len(tree[-1]) for tree in trees)])[:-1]
    roots = np.cumsum([0, *sizes[:-1]])
    parts = [np.concatenate(part) for part in zip(*trees, strict=True)]
    feature, threshold, missing_left, category, left, right, value, bits = parts
    category = np.where(category < 0, -1, category + np.repeat(words, sizes))
    children = np.stack([left, right], axis=1)
    own = np.arange(len(left))[:, None]
    inner = left[:, None] > 0
    child = np.where(inner, children + np.repeat(roots, sizes)[:, None], own).ravel()
    feature = np.where(inner[:, 0], feature, 0)
    missing_left = missing_left.astype(bool)
    arrays = feature, threshold, missing_left, category, child, value, bits, roots
    return Trees(*arrays, counts, depth)


def _arrays_of_forest(model):
    trees = [estimator.tree_ for estimator in model.estimators_]
    parts = [
        (
            tree.feature,
            tree.threshold,
            tree.missing_go_to_left,
            np.full(len(tree.feature), -1),
            tree.children_left,
            tree.children_right,
            tree.value.reshape(len(tree.value), -1),
            _NO_BITS,
        )
        for tree in trees
    ]
    return parts, max(tree.max_depth for tree in trees)


def _arrays_of_boosting(model):
    trees = [tree for trees in model._predictors for tree in trees]
    nodes_and_bits = [(tree.nodes, tree.raw_left_cat_bitsets) for tree in trees]
    parts = [
        (
            nodes["feature_idx"].astype(np.intp),
            nodes["num_threshold"],
            nodes["missing_go_to_left"],
            np.where(
                nodes["is_categorical"],
                bits.shape[1] * nodes["bitset_idx"].astype(np.intp),
                -1,
            ),
            nodes["left"].astype(np.intp),
            nodes["right"].astype(np.intp),
            nodes["value"][:, None],
            bits.ravel(),
        )
        for nodes, bits in nodes_and_bits
    ]
    return parts, max(int(nodes["depth"].max()) for nodes, _ in nodes_and_bits)


def encode_for_boosting(model, X):
    """Move categorical columns to the front and encode them from 0.

    This is scikit-learn's preprocessing for boosting, without the checks that take most
    of the time for a few rows.
    """
    categorical = model.is_categorical_
    if categorical is None:
        return X
    encoder = model._preprocessor.named_transformers_["encoder"]
    columns = zip(X[:, categorical].T, encoder.categories_, strict=True)
    codes = [_codes(column, categories) for column, categories in columns]
    return np.column_stack([*codes, X[:, ~categorical]])


def _codes(column, categories):
    """Indices into the sorted categories; NaN for missing and unknown values."""
    place = np.minimum(np.searchsorted(categories, column), len(categories) - 1)
    return np.where(categories[place] == column, place, np.nan)

"""Fast predictions of boosting with small trees for hundreds of rows.

Calling a compiled tree takes about fifty nanoseconds per row. Here, each value is
looked up for all trees of a model at once.

Lucchese, Nardini, Orlando, Perego, Tonellotto, Venturini. QuickScorer: a fast algorithm
to rank documents with additive ensembles of regression trees. SIGIR 2015.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

#: Maximum number of leaves of a tree, one for each bit of a byte.
MOST_LEAVES = 8

#: Maximum number of columns for which this is faster than calling each tree.
MOST_COLUMNS = 100

#: Cached tables of fitted models. They are not stored as attributes, which would be
#: written to model files without being checked.
_CACHE = WeakKeyDictionary()

#: Position of the set bit in a byte with exactly one set bit.
_BIT_POSITION = np.zeros(256, dtype=np.intp)
_BIT_POSITION[1 << np.arange(8)] = np.arange(8)


class LeafSets(NamedTuple):
    """Trees as tables of the leaves that a value of a column does not rule out.

    The leaves of a tree are the bits of a byte, from left to right. A split that sends
    a row to the right rules out the leaves below it on the left; the row reaches the
    first of the leaves that no split rules out.
    """

    #: For each column: its index, its thresholds in ascending order (None for category
    #: codes), and the remaining leaves (n_entries, n_trees), indexed by the number of
    #: thresholds below a value, or by its code. The last entry is for missing values.
    columns: list
    #: Leaf values, eight per tree.
    value: np.ndarray

    def values(self, X):
        """Values of the leaves that the rows reach, shape (n, n_trees)."""
        n_trees = len(self.value) // MOST_LEAVES
        left = np.full((len(X), n_trees), 255, dtype=np.uint8)
        for column, thresholds, leaves in self.columns:
            x = X[:, column]
            place = x if thresholds is None else thresholds.searchsorted(x)
            place = np.where(np.isnan(x), len(leaves) - 1, place).astype(np.intp)
            left &= leaves.take(place, axis=0)
        first = _BIT_POSITION.take(left & -left)
        return self.value.take(first + MOST_LEAVES * np.arange(n_trees))


def leaf_sets(model):
    """Return the :class:`LeafSets` of a boosting model, or None if it is too large."""
    if model.max_leaf_nodes > MOST_LEAVES or model.n_features_in_ > MOST_COLUMNS:
        return None
    if model not in _CACHE:
        _CACHE[model] = _tables_of_trees(
            [tree for trees in model._predictors for tree in trees]
        )
    return _CACHE[model]


def _tables_of_trees(trees):
    nodes = np.concatenate([tree.nodes for tree in trees])
    sizes = [len(tree.nodes) for tree in trees]
    tree = np.repeat(np.arange(len(trees)), sizes)
    first = np.repeat(np.cumsum([0, *sizes[:-1]]), sizes)
    is_leaf = nodes["is_leaf"] > 0
    # Nodes are in preorder, so leaves are ordered from left to right, and those on the
    # left of a split lie between its two children.
    place = np.cumsum(is_leaf) - is_leaf
    place -= place[first]
    value = np.zeros((len(trees), MOST_LEAVES))
    value[tree[is_leaf], place[is_leaf]] = nodes["value"][is_leaf]
    ends = [1 << place[first + nodes[side]] for side in ("left", "right")]
    kept = (~(ends[1] - ends[0])).astype(np.uint8)
    bits = [part.raw_left_cat_bitsets for part in trees]
    columns = []
    for column in np.unique(nodes["feature_idx"][~is_leaf]):
        here = np.flatnonzero((nodes["feature_idx"] == column) & ~is_leaf)
        split = nodes[here]
        thresholds = None
        if split["is_categorical"].any():
            sets = [
                bits[t][i] for t, i in zip(tree[here], split["bitset_idx"], strict=True)
            ]
            words = np.array(sets).view(np.uint8)
            goes_left = np.unpackbits(words, axis=1, bitorder="little") > 0
        else:
            thresholds, rank = np.unique(split["num_threshold"], return_inverse=True)
            goes_left = rank[:, None] >= np.arange(len(thresholds) + 1)
        goes_left = np.column_stack([goes_left, split["missing_go_to_left"] > 0])
        masks = np.where(goes_left, np.uint8(255), kept[here][:, None])
        present, starts = np.unique(tree[here], return_index=True)
        leaves = np.full((len(trees), masks.shape[1]), 255, dtype=np.uint8)
        leaves[present] = np.bitwise_and.reduceat(masks, starts, axis=0)
        columns.append((column, thresholds, np.ascontiguousarray(leaves.T)))
    return LeafSets(columns, value.ravel())

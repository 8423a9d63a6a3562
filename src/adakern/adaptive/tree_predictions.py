"""Fast predictions of scikit-learn's trees.

Calling a compiled tree takes about ten microseconds, and fifty nanoseconds per row, and
a model has hundreds of trees. For a few rows, all trees of several models are joined to
one, whose topmost nodes select a tree. For hundreds of rows, each value is looked up
for all small trees of a boosting model at once.

Lucchese, Nardini, Orlando, Perego, Tonellotto, Venturini. QuickScorer: a fast algorithm
to rank documents with additive ensembles of regression trees. SIGIR 2015.
"""

from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from adakern._utils.resources import map_in_threads, row_blocks

#: Maximum number of rows for which joined trees are faster than calling each tree.
FEW_ROWS_PREDICTED = 10

#: Number of rows from which on trees predict, and forests are fitted, in several
#: threads.
ROWS_FOR_THREADS = 2000

#: Maximum number of leaves of a tree, one for each bit of a byte, and of columns, for
#: which looking up values is faster than calling each tree.
MOST_LEAVES = 8
MOST_COLUMNS = 100

#: Cached joined trees, and tables of leaves, of fitted models. They are not stored as
#: attributes, which would be written to model files without being checked.
_JOINED = WeakKeyDictionary()
_TABLES = WeakKeyDictionary()

#: Names of the fields of nodes in forests, and in boosting.
_FIELDS = "feature", "threshold", "left_child", "right_child"
_BOOSTING_FIELDS = "feature_idx", "num_threshold", "left", "right"

#: Position of the set bit in a byte with exactly one set bit.
_BIT_POSITION = np.zeros(256, dtype=np.intp)
_BIT_POSITION[1 << np.arange(8)] = np.arange(8)


def mean_of_trees(forest, X):
    """Mean values or probabilities (n, k), summed in the order of scikit-learn.

    The rows X are of the dtype of trees, float32, without missing values if these were
    not in training. The checks of each tree, which take most of the time for few rows,
    are omitted.
    """
    blocks = [X[rows] for rows in row_blocks(len(X), 1, ROWS_FOR_THREADS)]
    totals = map_in_threads(
        lambda rows: sum(tree.tree_.predict(rows) for tree in forest.estimators_),
        blocks,
    )
    return np.concatenate(totals).reshape(len(X), -1) / len(forest)


def sums_of_iterations(models, X):
    """Sums over the trees (n, k) of each boosting model for the rows X.

    scikit-learn gives the same, but its preprocessing would take half of the time for a
    thousand rows.
    """
    if len(X) <= FEW_ROWS_PREDICTED:
        tree = joined_tree(models)
        if tree.same_levels:
            rows = encode_for_boosting(models[0], X)
        else:
            encoded = [encode_for_boosting(model, X) for model in models]
            rows = np.repeat(encoded, tree.counts, axis=0)
        leaves = tree.leaves(rows)
        return [_sum_iterations(*pair) for pair in zip(models, leaves, strict=True)]
    few = len(X) < ROWS_FOR_THREADS
    n_threads = _openmp_effective_n_threads(1 if few else None)
    sums = []
    for model in models:
        rows = encode_for_boosting(model, X)
        if few and (sets := leaf_sets(model)):
            sums.append(_sum_iterations(model, sets.values(rows).T))
            continue
        raw = np.zeros((len(X), model.n_trees_per_iteration_), order="F")
        raw += model._baseline_prediction
        model._predict_iterations(rows, model._predictors, raw, False, n_threads)
        sums.append(raw)
    return sums


def _sum_iterations(model, leaves):
    """Sums (n, k) of the values of a model's leaves (n_trees, n).

    Iterations are added up in the order of scikit-learn.
    """
    n = leaves.shape[1]
    rounds = leaves.reshape(-1, model.n_trees_per_iteration_, n)
    terms = np.empty((len(rounds) + 1, *rounds.shape[1:]))
    terms[0] = model._baseline_prediction.T
    terms[1:] = rounds
    return np.asfortranarray(terms.cumsum(axis=0)[-1].T)


def probabilities(models, sums):
    """Probabilities (n, n_classes) by each boosting model from its sums (n, k)."""
    if len(sums[0]) > FEW_ROWS_PREDICTED or len({s.shape for s in sums}) > 1:
        pairs = zip(models, sums, strict=True)
        return [model._loss.predict_proba(values) for model, values in pairs]
    stacked = models[0]._loss.predict_proba(np.concatenate(sums))
    return stacked.reshape(len(models), len(sums[0]), -1)


class JoinedTree(NamedTuple):
    """A tree that contains all trees of several models.

    It has an additional, last feature: the number of the tree to be descended.
    """

    #: Function of rows with the additional feature, returns the values of their leaves.
    predict: Any
    #: Number of trees of each model.
    counts: list
    #: Whether all models encode categories alike.
    same_levels: bool = True

    def leaves(self, rows):
        """Values of the leaves that the rows reach, an array (n_trees, n, k) per model.

        ``rows`` are those of all trees (n, d), or of each tree (n_trees, n, d), with
        categories encoded from 0.
        """
        n, d = rows.shape[-2:]
        n_trees = sum(self.counts)
        each = np.empty((n_trees, n, d + 1), dtype=rows.dtype)
        each[:, :, :d] = rows
        each[:, :, d] = np.arange(n_trees)[:, None]
        values = self.predict(each.reshape(-1, d + 1)).reshape(n_trees, n, -1)
        return np.split(values, np.cumsum(self.counts[:-1]))


def joined_tree(models):
    """Return all trees of several forests, or of several boosting models."""
    known = _JOINED.setdefault(models[0], {})
    key = tuple(map(id, models))
    if key not in known:
        if len({model.n_features_in_ for model in models}) > 1:
            raise ValueError("the trees of a member expect different columns")
        boosting = hasattr(models[0], "_predictors")
        known[key] = (_join_boosting if boosting else _join_forests)(models)
    return known[key]


def _join(trees, d, fields):
    """Nodes of one tree, in which feature ``d`` selects among trees given by nodes."""
    feature, threshold, left, right = fields
    depth = (len(trees) - 1).bit_length()
    i = np.arange(2**depth - 1)
    nodes = np.concatenate([np.zeros(len(i), dtype=trees[0].dtype), *trees])
    sizes = list(map(len, trees))
    roots = len(i) + np.cumsum([0, *sizes[:-1]])
    own = nodes[len(i) :]
    moved = np.repeat(roots, sizes) * (own[left] > 0)  # leaves have no children
    own[left] += moved.astype(own[left].dtype)
    own[right] += moved.astype(own[right].dtype)
    # The topmost nodes are those of a complete binary tree, in order of their depth.
    level = np.frexp(i + 1)[1] - 1
    nodes[feature][: len(i)] = d
    nodes[threshold][: len(i)] = (i + 1.5 - 2**level) * 2.0 ** (depth - level) - 0.5
    place = np.append(i, roots)
    nodes[left][: len(i)] = place.take(2 * i + 1, mode="clip")
    nodes[right][: len(i)] = place.take(2 * i + 2, mode="clip")
    return nodes


def _join_forests(models):
    trees = [tree.tree_ for model in models for tree in model.estimators_]
    make, (d, *outputs), state = trees[0].__reduce__()
    nodes = _join([tree.__getstate__()["nodes"] for tree in trees], d, _FIELDS)
    values = np.concatenate([tree.value for tree in trees])
    n_selecting = len(nodes) - len(values)
    values = np.concatenate([np.zeros((n_selecting, *values.shape[1:])), values])
    tree = make(d + 1, *outputs)
    tree.__setstate__(
        state | {"nodes": nodes, "node_count": len(nodes), "values": values}
    )
    return JoinedTree(tree.predict, [len(model) for model in models])


def _join_boosting(models):
    trees = [tree for m in models for trees in m._predictors for tree in trees]
    d = models[0].n_features_in_
    nodes = _join([tree.nodes for tree in trees], d, _BOOSTING_FIELDS)
    bits = [tree.raw_left_cat_bitsets for tree in trees]
    sizes = [len(tree.nodes) for tree in trees]
    first = np.cumsum([0, *map(len, bits)])[:-1]
    nodes["bitset_idx"][-sum(sizes) :] += np.repeat(first, sizes).astype(np.uint32)
    bits = np.concatenate(bits)
    tree = TreePredictor(nodes, bits, bits)
    # Categories are known, since unknown ones have been encoded as missing.
    known = np.full((d + 1, 8), ~np.uint32(0))
    features = np.arange(d + 1, dtype=np.uint32)
    predict = partial(
        tree.predict, known_cat_bitsets=known, f_idx_map=features, n_threads=1
    )
    counts = [len(m._predictors) * m.n_trees_per_iteration_ for m in models]
    columns = ([np.flatnonzero(m.is_categorical_), *_levels(m)] for m in models)
    encodings = {tuple(map(bytes, each)) for each in columns}
    return JoinedTree(predict, counts, len(encodings) == 1)


def require_columns(model, X):
    """Raise an error if rows lack columns, which compiled trees read unchecked.

    A model file may combine parts that do not belong together.
    """
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"trees of {model.n_features_in_} columns cannot predict rows of "
            f"{X.shape[1]} columns"
        )


def encode_for_boosting(model, X):
    """Move categorical columns to the front and encode them from 0.

    This is scikit-learn's preprocessing for boosting, without the checks that take most
    of the time for a few rows.
    """
    require_columns(model, X)
    categorical = model.is_categorical_
    if categorical is None:
        return X
    columns = zip(X[:, categorical].T, _levels(model), strict=True)
    codes = [_codes(column, categories) for column, categories in columns]
    return np.column_stack([*codes, X[:, ~categorical]])


def _levels(model):
    """Sorted categories of each categorical column of a boosting model."""
    if model.is_categorical_ is None:
        return []
    (_, encoder, _), *_ = model._preprocessor.transformers_
    return encoder.categories_


def _codes(column, categories):
    """Indices into the sorted categories; NaN for missing and unknown values."""
    place = np.minimum(np.searchsorted(categories, column), len(categories) - 1)
    return np.where(categories[place] == column, place, np.nan)


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
    if model not in _TABLES:
        _TABLES[model] = _tables_of_trees(
            [tree for trees in model._predictors for tree in trees]
        )
    return _TABLES[model]


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

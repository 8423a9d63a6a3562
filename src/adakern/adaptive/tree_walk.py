"""Fast predictions of scikit-learn's trees for a few rows.

Calling a compiled tree takes about ten microseconds, and a model has hundreds of trees.
Here, all trees of several models are joined to one, whose topmost nodes select a tree.
"""

from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

#: Maximum number of rows for which this is faster than calling each tree.
FEW_ROWS_PREDICTED = 10

#: Cached trees of fitted models. They are not stored as attributes, which would be
#: written to model files without being checked.
_CACHE = WeakKeyDictionary()

#: Names of the fields of nodes in forests, and in boosting.
_FIELDS = "feature", "threshold", "left_child", "right_child"
_BOOSTING_FIELDS = "feature_idx", "num_threshold", "left", "right"


class JoinedTree(NamedTuple):
    """A tree that contains all trees of several models.

    It has an additional, last feature: the number of the tree to be descended.
    """

    #: Function of rows with the additional feature, returns the values of their leaves.
    predict: Any
    #: Number of trees of each model.
    counts: list

    def leaves(self, rows):
        """Values of the leaves that the rows reach, an array (n_trees, n, k) per model.

        ``rows`` has one array (n, d) per model, with categories encoded from 0.
        """
        (n, d) = rows[0].shape
        n_trees = sum(self.counts)
        each = np.empty((n_trees, n, d + 1), dtype=rows[0].dtype)
        each[:, :, :d] = np.repeat(rows, self.counts, axis=0)
        each[:, :, d] = np.arange(n_trees)[:, None]
        values = self.predict(each.reshape(-1, d + 1)).reshape(n_trees, n, -1)
        return np.split(values, np.cumsum(self.counts[:-1]))


def joined_tree(models):
    """Return all trees of several forests, or of several boosting models."""
    known = _CACHE.setdefault(models[0], {})
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
    columns = np.arange(d + 1, dtype=np.uint32)
    predict = partial(
        tree.predict, known_cat_bitsets=known, f_idx_map=columns, n_threads=1
    )
    counts = [len(m._predictors) * m.n_trees_per_iteration_ for m in models]
    return JoinedTree(predict, counts)


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
    (_, encoder, _), *_ = model._preprocessor.transformers_
    columns = zip(X[:, categorical].T, encoder.categories_, strict=True)
    codes = [_codes(column, categories) for column, categories in columns]
    return np.column_stack([*codes, X[:, ~categorical]])


def _codes(column, categories):
    """Indices into the sorted categories; NaN for missing and unknown values."""
    place = np.minimum(np.searchsorted(categories, column), len(categories) - 1)
    return np.where(categories[place] == column, place, np.nan)

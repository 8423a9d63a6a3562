"""Check of what a model file contains, for safety and completeness.

skops constructs any class that a file names, and compiled code follows the indices of
trees, neighbours and support vectors unchecked. Therefore, every object of a file is
looked up in a list, together with its loader, before any object is constructed. The
sizes of arrays are compared with their bytes. Compiled objects are checked after they
have been constructed.
"""

import json
import re
import sys
from functools import partial
from importlib import import_module
from math import prod
from numbers import Integral

import numpy as np
from joblib import cpu_count
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import IsolationForest, VotingClassifier
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import (
    BaseHistGradientBoosting,
)
from sklearn.neighbors import BallTree, KDTree
from sklearn.neighbors._base import NeighborsBase
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm._base import BaseLibSVM
from sklearn.tree import BaseDecisionTree

from adakern._utils.dotted import resolve
from adakern.tables.unpack import read_part

#: Maximum ratio of unpacked to packed bytes of a file; deflate can reach a thousand.
MOST_UNPACKED = 200

#: Number of unpacked bytes that is always allowed.
ALWAYS_UNPACKED = 2**28

#: Number of values in JSON that is always allowed; further ones need a byte each of the
#: packed file.
ALWAYS_VALUES = 500_000

#: Attributes by which scikit-learn allocates arrays in predictions. Beyond this many,
#: there must be as many numbers in the model.
COUNTS = (
    "n_outputs_",
    "n_classes_",
    "n_components",
    "_n_components",
    "_n_out_full",
    "degree",
)
ALWAYS_COUNTED = 10_000

#: Modules whose classes do not access files, processes or a network.
SAFE_MODULES = re.compile(
    r"adakern\.(adaptive|baselines|dank|kernels|knpl|lab|nystrom|svm)\.\S+"
    r"|adakern\.tables\.(columns|encoding|texts)\.\S+"
    r"|adakern\.model_file\.TableModel"
    r"|sklearn\.(_loss|calibration|cluster\._kmeans|compose|covariance|cross_decomposition"
    r"|decomposition|discriminant_analysis|dummy|ensemble|feature_selection|frozen"
    r"|gaussian_process|impute|isotonic|kernel_approximation|kernel_ridge"
    r"|linear_model|metrics\._dist_metrics|metrics\._scorer|mixture|model_selection"
    r"|multiclass|multioutput|naive_bayes|neighbors|neural_network|pipeline"
    r"|preprocessing|random_projection|semi_supervised|svm|tree"
    r"|utils\._metadata_requests)\.\S+"
)

#: Compiled classes of these modules, whose objects are checked or contain no indices.
COMPILED = re.compile(
    r"sklearn\.(neighbors\._(kd|ball)_tree\.(KD|Ball)Tree"
    r"|metrics\._dist_metrics\.(Euclidean|Manhattan|Chebyshev)Distance(64)?)"
)

#: Functions and methods that models contain; none of them opens what a string names.
FUNCTIONS = {
    "adakern.baselines.deep_mkl.deep_gram_matrix",
    "adakern.baselines.kernel_bank.KernelBank.combine",
    "adakern.kernels.gram_matrix",
    "adakern.model_file.as_columns",
    "numpy.mean",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.metrics._classification.balanced_accuracy_score",
    # Stored by boosting with categories; it checks and converts an array.
    "sklearn.utils.validation.check_array",
}

#: Number of attributes that their ``__setstate__`` takes from a tuple unchecked.
N_ATTRIBUTES = {"KDTree": 13, "BallTree": 13}
N_ATTRIBUTES_OF_METRIC = 3

SCALARS = r"(float|u?int)(16|32|64)|u?int8|bool_?|str_|datetime64|timedelta64"

#: Loaders of skops that call nothing named by the file, and the names they may have.
PLAIN = {
    "JsonNode": r"builtins\.str",
    "DefaultDictNode": r"collections\.defaultdict",
    "SetNode": r"builtins\.(frozen)?set",
    "SliceNode": r"builtins\.slice",
    "NdArrayNode": rf"numpy\.(ndarray|{SCALARS})",
    "MaskedArrayNode": r"numpy\.ma(\.core)?\.MaskedArray",
    "DTypeNode": r"numpy\.dtype",
    "TypeNode": r"builtins\.(str|int|float|bool|list|dict|NoneType)"
    rf"|collections\.OrderedDict|numpy\.({SCALARS})",
    "RandomStateNode": r"numpy\.random\.mtrand\.RandomState",
    "RandomGeneratorNode": r"numpy\.random\._generator\.Generator",
    "TreeNode": r"sklearn\.tree\._tree\.Tree",
    "LossNode": r"sklearn\.(_loss\._loss\.Cy|linear_model\._sgd_fast\.)[A-Z]\w+",
    "PartialNode": r"functools\.partial",
    "CachedNode": r".*",
}

#: Loaders of containers, with the containers that they fill.
CONTAINERS = {"DictNode": dict, "ListNode": list, "TupleNode": tuple}

#: Packages to which --trust does not apply: their types are listed above, or unsafe.
OWN = {"adakern", "sklearn", "numpy", "scipy", "pandas", "joblib", "skops"}
OWN |= sys.stdlib_module_names


class DamagedModel(ValueError):
    """A file whose objects cannot be constructed, or cannot be used safely."""


def refused_names(nodes, trust):
    """Names of objects that are refused always, and those refused unless trusted."""
    unknown = {_name(node) for node in nodes if not _is_known(node, _name(node))}
    for_good = {name for name in unknown if name.partition(".")[0] in OWN}
    return sorted(for_good), sorted(unknown - for_good - set(trust))


def read_json(archive, name):
    """Parse a part of an archive, unless its values would take far more memory than the
    file.
    """
    content = read_part(archive, name)
    n_values = sum(map(content.count, (b",", b"[", b"{")))
    packed = sum(member.compress_size for member in archive.infolist())
    if n_values > ALWAYS_VALUES + packed:
        raise DamagedModel(f"{name} has {n_values:,} values, too many for its file")
    return json.loads(content)


def described_objects(archive):
    """Return the nodes of the schema, one for each object, of sizes that were checked.

    Parts and arrays whose stated sizes are wrong are refused before they take memory.
    """
    members = archive.infolist()
    if len({member.filename for member in members}) < len(members):
        raise DamagedModel("two of its parts have the same name")
    packed = sum(member.compress_size for member in members)
    unpacked = sum(member.file_size for member in members)
    if unpacked > max(ALWAYS_UNPACKED, MOST_UNPACKED * packed):
        raise DamagedModel(f"it would unpack to {unpacked / 1e9:.1f} GB")
    for member in members:
        read_part(archive, member.filename)  # also compares its checksum
    shapes = {
        member.filename: _shape(archive, member)
        for member in members
        if member.filename.endswith(".npy")
    }
    nodes = _nodes(read_json(archive, "schema.json"))
    for node in nodes:
        if node["__loader__"] == "TreeNode" and not _has_sizes(node, shapes):
            raise DamagedModel("the parts of a decision tree differ in size")
        if COMPILED.fullmatch(_name(node)) and not _has_attributes(node):
            raise DamagedModel("attributes of a search tree or metric are missing")
    return nodes


def is_sound(model):
    """Whether all indices in the compiled parts of a model are within their arrays, and
    counts do not exceed them.
    """
    parts = parts_of(model)
    n_numbers = sum(part.size for part in parts if isinstance(part, np.ndarray))
    most = max(ALWAYS_COUNTED, n_numbers)
    counts = [_attributes(part).get(name) for part in parts for name in COUNTS]
    is_plausible = all(count <= most for count in counts if isinstance(count, Integral))
    return is_plausible and all(map(_is_sound, parts))


def limit_threads(model):
    """Reduce numbers of threads to the processors of this computer."""
    for part in parts_of(model):
        for name in ("n_jobs", "_n_threads"):
            if (_attributes(part).get(name) or 0) > cpu_count():
                setattr(part, name, cpu_count())


def parts_of(root):
    """All objects that a loaded model, or a schema, consists of."""
    seen = {}
    left = [root]
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        if isinstance(part, dict):
            left += part.values()
        elif isinstance(part, list | tuple | set):
            left += part
        elif isinstance(part, np.ndarray) and part.dtype == object:
            left += part.ravel().tolist()
        elif isinstance(part, partial):
            left += [part.args, part.keywords]
        left += _attributes(part).values()
    return list(seen.values())


def _attributes(part):
    """Attributes of an object by name, if it has any."""
    return getattr(part, "__dict__", {})


def _are_indices(values, n):
    """Whether all values are from 0 to n - 1."""
    values = np.asarray(values)
    return ((values >= 0) & (values < n)).all()


def _nodes(schema):
    """Every object described by the schema."""
    return [
        part
        for part in parts_of(schema)
        if isinstance(part, dict) and isinstance(part.get("__loader__"), str)
    ]


def _name(node):
    """Dotted name of a class, of a function, or of a method with its class."""
    name = f"{node['__module__']}.{node['__class__']}"
    if node["__loader__"] == "MethodNode":
        name += f".{node['content']['func']}"
    return name


def _is_known(node, name):
    """Whether an object is listed, with a loader that fits its name."""
    loader = node["__loader__"]
    if loader == "RandomGeneratorNode":
        # skops calls what this names in numpy.random.
        state = node["content"]["bit_generator"]["content"]
        if state["bit_generator"]["content"] != '"PCG64"':
            return False
    if loader in PLAIN:
        return bool(re.fullmatch(PLAIN[loader], name))
    if loader in ("FunctionNode", "MethodNode"):
        return name in FUNCTIONS
    if loader in CONTAINERS:
        kind = CONTAINERS[loader]
        plain = {f"builtins.{kind.__name__}", "collections.OrderedDict"}
        return name in plain or _is_class(name, kind)
    return loader == "ObjectNode" and _is_class(name)


def _is_class(name, kind=object):
    """Whether it is a class of ``SAFE_MODULES``, and listed if it is compiled."""
    if not SAFE_MODULES.fullmatch(name):
        return False
    try:
        found = resolve(name)
        file = import_module(found.__module__).__file__
    except (ImportError, AttributeError):
        return False
    if not (isinstance(found, type) and issubclass(found, kind)):
        return False
    if not SAFE_MODULES.fullmatch(f"{found.__module__}.{found.__name__}"):
        return False  # only imported by the module, and defined elsewhere
    return file.endswith(".py") or bool(COMPILED.fullmatch(name))


def _shape(archive, member):
    """Shape of an array in the archive, after checking its number of bytes."""
    form = np.lib.format
    with archive.open(member) as file:
        read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}
        shape, _, dtype = read[form.read_magic(file)](file)
        n_bytes = file.tell() + prod(shape) * dtype.itemsize
    if (
        dtype.hasobject
        or not dtype.itemsize
        or n_bytes != member.file_size
        or min(shape, default=0) < 0
    ):
        raise DamagedModel("the size of an array is wrong")
    return shape


def _has_sizes(node, shapes):
    """Whether the arrays of a scikit-learn tree have the stated sizes."""
    _, n_classes, n_outputs = node["__reduce__"]["args"]["content"]
    state = node["content"]["content"]
    n_outputs = json.loads(n_outputs["content"])
    nodes, values = (shapes[state[name]["file"]] for name in ("nodes", "values"))
    return (
        shapes[n_classes["file"]] == (n_outputs,)
        and nodes == (json.loads(state["node_count"]["content"]),)
        and len(values) == 3
        and values[:2] == (*nodes, n_outputs)
        and min(values) > 0
    )


def _has_attributes(node):
    """Whether a compiled object has a tuple of all of its attributes."""
    state = node["content"]
    n = N_ATTRIBUTES.get(node["__class__"], N_ATTRIBUTES_OF_METRIC)
    return state["__loader__"] == "TupleNode" and len(state["content"]) == n


def _is_sound(part):
    """Whether compiled code can safely follow the indices of an object.

    An object with a folder of joblib's, which would be unpickled, is not sound, nor is
    one with an attribute in place of a method, which could return any shape.
    """
    if getattr(part, "memory", None) is not None:
        return False
    methods = (getattr(type(part), name, None) for name in _attributes(part))
    if not isinstance(part, type) and any(map(callable, methods)):
        return False
    width = getattr(part, "n_features_in_", None)
    for name in ("cluster_centers_", "_fit_X"):
        if hasattr(part, name) and np.shape(getattr(part, name))[1:] != (width,):
            return False
    return all(
        is_sound(part)
        for kind, fitted, is_sound in CHECKS
        if isinstance(part, kind) and hasattr(part, fitted)
    )


def _is_sound_ensemble(forest):
    """Check that the trees match: a forest passes rows and outputs on unchecked."""
    grown = np.asarray(forest.estimators_, dtype=object)
    width = getattr(forest, "_max_features", getattr(forest, "n_features_in_", None))
    columns = getattr(forest, "n_trees_per_iteration_", None)
    if columns is not None and grown.shape[1:] != (columns,):
        return False
    classes = getattr(forest, "n_classes_", 1)
    return all(
        isinstance(tree, BaseDecisionTree)
        and tree.n_features_in_ == width
        and (is_regressor(tree) or np.array_equal(tree.n_classes_, classes))
        for tree in grown.ravel().tolist()
    )


def _is_sound_vote(vote):
    """Whether members predict codes of the classes, of which an array is made."""
    codes = range(len(vote.classes_))
    return all(np.isin(member.classes_, codes).all() for member in vote.estimators_)


def _is_sound_initial(boosting):
    """Whether the initial predictions have a column for each tree of an iteration."""
    # Other estimators are rejected untested, since their own parts may not be sound.
    if not isinstance(boosting.init_, str | DummyClassifier | DummyRegressor):
        return False
    trees = boosting.estimators_
    start = boosting._raw_predict_init(np.zeros((2, trees[0, 0].n_features_in_)))
    return start.shape == (2, trees.shape[1])


def _is_sound_encoder(encoder):
    """Whether indicators have as many columns as there are categories."""
    return encoder._n_features_outs == encoder._compute_n_features_outs()


def _is_sound_tree(estimator):
    tree = estimator.tree_
    width = estimator.n_features_in_
    inner = tree.children_left != -1
    children = np.stack([tree.children_left, tree.children_right])[:, inner]
    return tree.n_features == width and _leads_downwards(
        inner, children, tree.feature[inner], width
    )


def _is_sound_boosting(model):
    """Check nodes and category maps of scikit-learn's histogram gradient boosting."""
    width = model.n_features_in_
    bins = model._bin_mapper
    if model._preprocessor is not None:
        # Others are rejected untested, since their own parts may not be sound.
        names = [type(part).__module__ for part in parts_of(model._preprocessor)]
        if any(re.match(r"sklearn\.(?!compose|preprocessing|utils)", n) for n in names):
            return False
        row = model._preprocessor.transform(np.full((1, width), np.nan))
        if row.shape[1] != width:
            return False
    categorical = np.asarray(bins.is_categorical_)
    known = bins.bin_thresholds_
    if categorical.shape != (width,) or len(known) != width:
        return False
    if any(len(row) != model.n_trees_per_iteration_ for row in model._predictors):
        return False
    for feature in np.flatnonzero(categorical):
        values = np.asarray(known[feature])
        if values.ndim != 1 or not _are_indices(values, 256):
            return False
    predictors = [tree for row in model._predictors for tree in row]
    return all(_is_sound_predictor(tree, categorical) for tree in predictors)


def _is_sound_predictor(predictor, categorical):
    inner = predictor.nodes["is_leaf"] == 0
    nodes = predictor.nodes[inner]
    children = np.stack([nodes["left"], nodes["right"]]).astype(np.int64)
    if not _leads_downwards(inner, children, nodes["feature_idx"], len(categorical)):
        return False
    by_category = nodes[nodes["is_categorical"] != 0]
    kept = predictor.raw_left_cat_bitsets
    return (
        kept.shape[1:] == (8,)
        and kept.dtype == np.uint32
        and (by_category["bitset_idx"] < len(kept)).all()
        and (categorical[by_category["feature_idx"]] != 0).all()
    )


def _leads_downwards(inner, children, features, width):
    """Whether children come after their parents, and features are in range."""
    after = (children > np.flatnonzero(inner)) & (children < len(inner))
    return len(inner) > 0 and after.all() and _are_indices(features, width)


def _is_sound_svm(model):
    """Whether the arrays of LIBSVM have sizes consistent with each other."""
    n = len(model.support_)
    given = model.kernel == "precomputed"
    classes = len(model.classes_) if is_classifier(model) else 2
    pairs = classes * (classes - 1) // 2
    counts = np.asarray(model._n_support)
    vectors = np.shape(model.support_vectors_)
    return (
        (given or vectors == (n, model.n_features_in_))
        and (not given or _are_indices(model.support_, model.n_features_in_))
        and counts.shape == (classes,)
        and (counts >= 0).all()
        and (counts.sum() == n or not is_classifier(model))
        and np.shape(model._dual_coef_) == (classes - 1, n)
        and np.shape(model._intercept_) == (pairs,)
        and np.shape(model._probA) == np.shape(model._probB)
        and len(model._probA) in (0, pairs)
    )


def _is_sound_metric(model):
    """Whether labels and parameters of a metric fit the training rows."""
    if not 0 < model.n_samples_fit_ == np.shape(model._fit_X)[0]:
        return False
    params = {**(model.metric_params or {}), **model.effective_metric_params_}
    if any({*np.shape(v)} - {model.n_features_in_} for v in params.values()):
        return False
    if not is_classifier(model):
        return True
    labels = np.reshape(model._y, (len(model._fit_X), -1)).T
    classes = model.classes_ if model.outputs_2d_ else [model.classes_]
    return all(
        _are_indices(codes, len(known))
        for codes, known in zip(labels, classes, strict=True)
    )


def _is_sound_neighbours(tree):
    """Whether the nodes of a KDTree or BallTree refer to rows of its data."""
    data, index, nodes, bounds, _, n_levels, n_nodes = tree.__getstate__()[:7]
    n, width = np.shape(data)
    nodes, bounds = np.asarray(nodes), np.asarray(bounds)
    start = nodes["idx_start"]
    end = nodes["idx_end"]
    last = np.arange(n_nodes) >= n_nodes // 2
    return (
        n_nodes == len(nodes) == 2**n_levels - 1
        and bounds.shape == (2 if isinstance(tree, KDTree) else 1, n_nodes, width)
        and np.shape(index) == (n,)
        and _are_indices(index, n)
        and ((start >= 0) & (start <= end) & (end <= n)).all()
        and (nodes["is_leaf"][last] != 0).all()
    )


#: Checks of the classes that an object is an instance of, if it has an attribute that
#: is set by ``fit``.
CHECKS = [
    (BaseDecisionTree, "tree_", _is_sound_tree),
    (
        BaseForest | BaseGradientBoosting | IsolationForest,
        "estimators_",
        _is_sound_ensemble,
    ),
    (VotingClassifier, "estimators_", _is_sound_vote),
    (BaseGradientBoosting, "estimators_", _is_sound_initial),
    (BaseHistGradientBoosting, "_predictors", _is_sound_boosting),
    (BaseLibSVM, "support_vectors_", _is_sound_svm),
    (OneHotEncoder, "categories_", _is_sound_encoder),
    (NeighborsBase, "_fit_X", _is_sound_metric),
    (KDTree | BallTree, "data", _is_sound_neighbours),
]

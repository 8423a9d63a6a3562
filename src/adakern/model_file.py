"""Model files, and the pipeline from a table with named columns to an estimator.

Pipelines are stored by skops, since unpickling can execute any code; ``card.json`` in
the file describes the model.
"""

import ast
import hashlib
import inspect
import json
import pickle
import re
import warnings
import zipfile
from contextlib import contextmanager
from importlib.metadata import version
from io import BytesIO
from pathlib import Path

import numpy as np
from array_api_compat import is_torch_array
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.metaestimators import available_if

from adakern._utils.arrays import as_numpy
from adakern._utils.dotted import resolve
from adakern._utils.files import atomic_path
from adakern._utils.hints import did_you_mean
from adakern._utils.warn import warn_user
from adakern._utils.wording import count
from adakern.model_contents import (
    described_objects,
    is_sound,
    limit_threads,
    parts_of,
    read_json,
    refused_names,
)
from adakern.tables.encoding import (
    CategoryColumns,
    make_encoder,
    most_categories,
    takes_raw_columns,
)
from adakern.tables.read_table import add_limits, read_as

CARD = "card.json"

#: Version of the file format, raised by changes that older versions cannot read.
FORMAT = 1

#: Maximum number of categories of a column that the card lists, to find new ones.
MOST_CATEGORIES = 1000

#: Maximum number of unpacked bytes of a card, as a small file can unpack to gigabytes.
MOST_OF_CARD = 2**26


class ModelFileError(ValueError):
    """A model file that cannot be used, or a table that the model cannot predict."""


def as_columns(frame, kinds, forms):
    """Select the training columns by name, as numbers, dates or categories."""
    import pandas as pd

    given = {str(name): column for name, column in getattr(frame, "items", tuple)()}
    add_limits(given, forms)
    if missing := [name for name in kinds if name not in given]:
        hint = did_you_mean(missing[0], given.keys() - kinds.keys())
        raise ModelFileError(
            f"the rows have no column named {', '.join(map(repr, missing))}, which "
            f"was used in fit.{hint}"
        )
    if frame.empty:
        raise ModelFileError("there are no rows to predict")
    columns = {
        name: read_as(given[name], name, kind, forms.get(name, ""))
        for name, kind in kinds.items()
    }
    return pd.DataFrame(columns, index=frame.index)


class TableModel(Pipeline):
    """Pipeline with the intervals, explanations and checks of its last step, if any."""

    @available_if(lambda self: hasattr(self[-1], "predict_interval"))
    def predict_interval(self, X, coverage=0.9):
        """Predict lower and upper bounds of the targets, shape (n, 2)."""
        return self[-1].predict_interval(self[:-1].transform(X), coverage)

    @available_if(lambda self: hasattr(self[-1], "check"))
    def check(self, X):
        """Check each column of new rows for a shift from the training rows."""
        return self[-1].check(self[:-1].transform(X))

    @available_if(lambda self: hasattr(self[-1], "explain"))
    def explain(self, X, **options):
        """Explain predictions by columns and by influential training rows."""
        return self[-1].explain(self[:-1].transform(X), **options)


def estimator_of(text):
    """Construct an unfitted estimator from Python text with dotted class names.

    >>> from adakern.model_file import estimator_of
    >>> estimator_of("sklearn.svm.SVC(C=10)")
    SVC(C=10)
    """
    try:
        node = ast.parse(text, mode="eval").body
        return _construct(
            node if isinstance(node, ast.Call) else ast.Call(node, [], [])
        )
    except (ImportError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"--method {text}: {error}") from error


def _construct(node):
    if isinstance(node, ast.List | ast.Tuple):
        return [_construct(element) for element in node.elts]
    if not isinstance(node, ast.Call):
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise ValueError(
                f"{ast.unparse(node)} is not a value; text needs quotation marks"
            ) from None
    found = resolve(ast.unparse(node.func))
    if not (isinstance(found, type) and issubclass(found, BaseEstimator)):
        raise ValueError(f"{ast.unparse(node.func)} is not an estimator class")
    args = map(_construct, node.args)
    return found(
        *args, **{keyword.arg: _construct(keyword.value) for keyword in node.keywords}
    )


def written(value):
    """Write an estimator for :func:`estimator_of`, with its non-default parameters."""
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{written(k)}: {written(v)}' for k, v in value.items())}}}"
        )
    if not isinstance(value, BaseEstimator):
        return repr(value.item() if hasattr(value, "item") else value)
    kind = type(value)
    defaults = inspect.signature(kind).parameters
    given = {
        name: written(param)
        for name, param in value.get_params(deep=False).items()
        if name not in ("n_jobs", "random_state")
    }
    # LightGBM's constructor accepts more parameters than it names.
    usual = {k: written(param.default) for k, param in defaults.items()}
    params = [f"{k}={v}" for k, v in given.items() if v != usual.get(k)]
    # scikit-learn exports the classes of private modules from the packages above.
    public = re.sub(r"\._.*", "", kind.__module__)
    return f"{public}.{kind.__name__}({', '.join(params)})"


def table_pipeline(estimator, table):
    """Return a pipeline from a table to the estimator, which is the step "model".

    Unless the estimator supports categories and missing values, unchanged or as pandas'
    dtype category, they are encoded, and all columns and the target of a regression are
    standardised.
    """
    known = {"kinds": table.kinds, "forms": table.forms}
    steps = [("columns", FunctionTransformer(as_columns, kw_args=known))]
    if n := most_categories(estimator):
        steps.append(("categories", CategoryColumns(table.kinds, n)))
    elif not takes_raw_columns(estimator):
        steps += [("encoding", make_encoder(table.kinds)), ("scale", StandardScaler())]
        if table.task == "regression":
            estimator = TransformedTargetRegressor(
                estimator, transformer=StandardScaler()
            )
    return TableModel([*steps, ("model", estimator)])


def make_card(table, **facts):
    """Return the model card of a model of a :class:`adakern.datasets.TableFile`."""
    import pandas as pd

    found = {
        name: sorted(table.X[name].dropna().unique())
        for name, kind in table.kinds.items()
        if kind == "categorical"
    }
    rows = pd.util.hash_pandas_object(pd.concat([table.X, table.y], axis=1))
    targets = list(table.y.to_frame() if table.y.ndim == 1 else table.y)
    return {
        "target": ",".join(targets),
        "targets": targets,
        "task": table.task,
        "kinds": table.kinds,
        "forms": table.forms,
        "categories": {n: c for n, c in found.items() if len(c) <= MOST_CATEGORIES},
        "dropped": table.dropped,
        "columns": [vars(account) for account in table.account],
        "rows": len(table.X),
        **_origin(table),
        "data_fingerprint": hashlib.sha256(rows.to_numpy().tobytes()).hexdigest()[:32],
        "format": FORMAT,
        "versions": versions(),
        **facts,
    }


def _origin(table):
    """Groups and times of the rows, and what the model must not be used for."""
    origin = {}
    not_for = ["categories that are not among those listed here"]
    if table.groups is not None:
        origin["groups"] = {
            "column": str(table.groups.name),
            "number": int(table.groups.nunique()),
        }
    else:
        not_for.append(
            "rows that share something, such as a patient, with training rows of "
            "another result: they were taken for independent"
        )
    if table.times is not None:
        last = str(table.times.max())
        origin["times"] = {
            "column": str(table.times.name),
            "from": str(table.times.min()),
            "to": last,
        }
        not_for.append(f"rows long after {last}: the score is of the latest ones alone")
    else:
        not_for.append("a time other than that of these rows, which is not known")
    return {
        **origin,
        "not_for": not_for,
        "read_by": f"adakern>={versions()['adakern']}",
    }


def new_categories(rows, card):
    """Yield a sentence for each column with categories that the model has not seen."""
    if str(card.get("estimator", "")).startswith("AdaptiveKernel"):
        return  # the estimator itself warns of new categories
    for name, known in card["categories"].items():
        new = rows[name].dropna()[lambda values, known=known: ~values.isin(known)]
        if len(new):
            yield (
                f"{name}: the model does not know the category of {len(new)} of "
                f"{count(len(rows), 'row')}, such as {new.iloc[0]!r}"
            )


def _is_card(card):
    """Whether a card has the entries that predictions need, with valid types."""
    if not isinstance(card, dict) or not isinstance(card.get("target"), str):
        return False
    text = {"versions": str, "kinds": str, "forms": str, "categories": list}
    targets = card.get("targets", [card["target"]])
    if not isinstance(targets, list) or ",".join(map(str, targets)) != card["target"]:
        return False
    has_types = all(
        isinstance(card.get(name), dict)
        and all(isinstance(value, kind) for value in card[name].values())
        for name, kind in text.items()
    )
    return (
        has_types
        and bool(card["kinds"])
        and card["categories"].keys() <= card["kinds"].keys()
    )


def versions():
    """Versions of the packages that a model file depends on."""
    return {name: version(name) for name in ("adakern", "scikit-learn", "numpy")}


class _ArraysForTensors(pickle.Pickler):
    """Pickler that replaces PyTorch tensors by NumPy arrays, to copy a model."""

    def reducer_override(self, part):
        """Reduce a tensor to an array."""
        return (
            (np.asarray, (as_numpy(part),)) if is_torch_array(part) else NotImplemented
        )


def without_tensors(model):
    """Return the model, or a copy that needs no PyTorch if it contains tensors."""
    if not any(map(is_torch_array, parts_of(model))):
        return model
    buffer = BytesIO()
    _ArraysForTensors(buffer).dump(model)
    return pickle.loads(buffer.getvalue())


def save_model(pipeline, path, card):
    """Write a fitted pipeline and its card, atomically."""
    import skops.io

    with atomic_path(path) as temporary:
        try:
            pipeline = without_tensors(pipeline)
            skops.io.dump(pipeline, temporary, compression=zipfile.ZIP_DEFLATED)
        except Exception as error:  # for example, if it contains a generator
            model = type(pipeline[-1]).__name__
            raise ModelFileError(f"{model} cannot be saved: {error}") from error
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.writestr(CARD, json.dumps(card, indent=1, default=str))


def load_model(path, trust=()):
    """Load the pipeline and the model card from a file written by `adakern fit`.

    No code of the file is executed. A file is refused if it contains a type that
    neither belongs to the estimators of adakern or scikit-learn nor is named in
    ``trust``.

    Parameters
    ----------
    path : path-like
    trust : sequence of str, default=()
        Dotted names of types of other packages to trust, such as that of a
        ``--method``.

    Returns
    -------
    pipeline : TableModel
        scikit-learn pipeline, with ``predict_interval``, ``explain`` and ``check`` if
        its model has them. It predicts DataFrames with the training columns, in any
        order.
    card : dict
        Target, task, columns with their kinds, versions, fingerprint of the data and
        score.

    Raises
    ------
    ModelFileError
        If the file is not a model of this version, or is not safe to load.
    """
    import skops.io

    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"there is no file {path}")
    # Read once, since another may replace the file between the check and the use.
    data = path.read_bytes()
    with _report_damage(path), zipfile.ZipFile(BytesIO(data)) as archive:
        card = _read_card(archive)
        _check_version(path, card)
        if not _is_card(card):
            raise ValueError("its card is damaged")
        refused, untrusted = refused_names(described_objects(archive), trust)
        types = skops.io.get_untrusted_types(data=data)
    if refused:
        raise ModelFileError(
            f"{path} has contents that `adakern fit` never writes: "
            f"{', '.join(refused)}. It cannot be loaded, even with --trust"
        )
    if untrusted:
        raise ModelFileError(
            f"{path} has untrusted types; if you trust its author: --trust "
            f"{','.join(untrusted)}"
        )
    with _report_damage(path), warnings.catch_warnings():
        # Reported above, in one sentence.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        # Caused by the rows on which the categories of boosting are tested.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        pipeline = skops.io.loads(data, trusted=types)
        if not is_sound(pipeline):
            raise ValueError("an index is out of bounds, or it has a cache")
    limit_threads(pipeline)
    return pipeline, card


@contextmanager
def _report_damage(path):
    """Context that converts any error from a damaged file to one sentence."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:  # skops, zipfile and NumPy can raise any type
        raise ModelFileError(
            f"{path} is not a complete model written by `adakern fit`: {error}"
        ) from error


def _read_card(archive):
    if archive.getinfo(CARD).file_size > MOST_OF_CARD:
        raise ValueError("its card is too large")
    return read_json(archive, CARD)


def _check_version(path, card):
    """Refuse a file of a later version; warn about a file of an earlier one."""
    here = versions()
    there = card["versions"]
    wrote = there.get("adakern", "")
    if card.get("format", FORMAT) > FORMAT or _order(wrote) > _order(here["adakern"]):
        raise ModelFileError(
            f"{path} was written by adakern {wrote}, and this is {here['adakern']}: "
            f'pip install "adakern>={wrote}", or fit the model again'
        )
    if here != there:
        was = ", ".join(f"{name} {there.get(name)}" for name in here)
        warn_user(f"{path.name} was written with {was}; here they are {here}")


def _order(version):
    """Sort key of a version."""
    return [int(number) for number in re.findall(r"\d+", version)[:3]]

"""A fitted pipeline in one file, and the pipeline from a table with named columns.

The file is skops': known types are rebuilt from plain data, where unpickling would run
whatever the file says. ``card.json`` in the same archive says what the model is.
"""

import json
import re
import warnings
import zipfile
from functools import partial
from importlib.metadata import version
from pathlib import Path

from sklearn.compose import make_column_transformer
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.metaestimators import available_if

from adakern._utils.files import atomic_path
from adakern._utils.hints import did_you_mean
from adakern._utils.warn import warn_user

__all__ = [
    "ModelFileError",
    "TableModel",
    "as_columns",
    "column_kinds",
    "load_model",
    "make_card",
    "new_categories",
    "save_model",
    "table_pipeline",
]

CARD = "card.json"

#: What a model may be made of, beside the types that skops trusts: parts of adakern's
#: and scikit-learn's estimators. None of them touches files, processes or a network.
KNOWN = re.compile(
    r"functools\.partial|numpy\.dtype|adakern\.model_file\.(as_columns|TableModel)|sklearn\.metrics\._dist_metrics"
    r"\..*|(adakern\.(adaptive|baselines|dank|kernels|knpl|lab|nystrom|svm)|sklearn\."
    r"(_loss|calibration|compose|ensemble|gaussian_process|neighbors|neural_network"
    r"|tree))\..*"
)

#: Categories of a column that the card lists at most, to find new ones.
MOST_CATEGORIES = 1000

KIND_OF_DTYPE = {"M": "date", **dict.fromkeys("biuf", "number")}


class ModelFileError(ValueError):
    """A model file that cannot be used, or a table that the model cannot predict."""


def column_kinds(frame):
    """The kind of each column of a table: "number", "date" or "category"."""
    return {
        str(name): KIND_OF_DTYPE.get(column.dtype.kind, "category")
        for name, column in frame.items()
    }


def as_columns(frame, kinds, days=False):
    """The columns that a model learned from, found by name, in its order and kinds.

    With ``days`` dates are days since 1970, as numbers.
    """
    import pandas as pd

    if not hasattr(frame, "columns"):
        raise ModelFileError(
            f"the model needs a table with named columns, not {type(frame).__name__}"
        )
    given = {str(name): column for name, column in frame.items()}
    missing = [name for name in kinds if name not in given]
    if missing:
        hint = did_you_mean(missing[0], given.keys() - kinds.keys())
        raise ModelFileError(
            f"the table has no column {', '.join(map(repr, missing))}, which the model "
            f"learned from.{hint}"
        )
    if frame.empty:
        raise ModelFileError("the table has no rows")
    columns = {}
    for name, kind in kinds.items():
        column = given[name]
        if kind == "category":
            column = column.astype(object).where(column.notna(), None)
            columns[name] = column.map(str, na_action="ignore")
        elif kind == "number":
            columns[name] = _parsed(column, pd.to_numeric, kind).astype("float64")
        else:
            dates = _parsed(column, partial(pd.to_datetime, utc=True), kind)
            since = dates - pd.Timestamp(0, tz="utc")
            columns[name] = since / pd.Timedelta(days=1) if days else dates
    return pd.DataFrame(columns, index=frame.index)


def _parsed(column, parse, kind):
    parsed = parse(column, errors="coerce")
    bad = column[parsed.isna() & column.notna()]
    if len(bad):
        message = (
            f"column {column.name!r} held {kind}s where the model was fitted, and now "
            f"holds {bad.iloc[0]!r}"
        )
        if parsed.isna().all():
            raise ModelFileError(f"{message}.")
        warn_user(f"{message}; {len(bad)} of {len(column)} values count as missing")
    return parsed


class TableModel(Pipeline):
    """scikit-learn's pipeline, with intervals where its last step has them."""

    @available_if(lambda self: hasattr(self[-1], "predict_interval"))
    def predict_interval(self, X, coverage=0.9):
        """Lower and upper bounds (n, 2) of new targets."""
        return self[-1].predict_interval(self[:-1].transform(X), coverage)


def table_pipeline(estimator, kinds, raw):
    """A pipeline from a table with named columns to the estimator, its step "model".

    ``raw``: the estimator takes categories, dates and missing values itself. Otherwise
    numbers and dates are standardised, their missing values replaced by the median and
    marked, and categories become indicators.
    """
    read = FunctionTransformer(as_columns, kw_args={"kinds": kinds, "days": not raw})
    if raw:
        return TableModel([("columns", read), ("model", estimator)])
    categories = [name for name, kind in kinds.items() if kind == "category"]
    numbers = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True), StandardScaler()
    )
    encode = make_column_transformer(
        (numbers, [name for name in kinds if name not in categories]),
        (OneHotEncoder(handle_unknown="ignore", max_categories=30), categories),
        sparse_threshold=0,
    )
    return TableModel([("columns", read), ("encoding", encode), ("model", estimator)])


def make_card(frame, target, kinds, **facts):
    """What there is to know of a model: its columns, target, data and versions."""
    from pandas.util import hash_pandas_object

    used = frame[[*kinds, target]]
    columns = [{"name": name, "kind": kind} for name, kind in kinds.items()]
    for column in columns:
        if column["kind"] == "category":
            levels = frame[column["name"]].dropna().map(str).unique()
            column["categories"] = sorted(levels)[:MOST_CATEGORIES]
    return {
        "target": target,
        "columns": columns,
        "rows": len(frame),
        "data_fingerprint": f"{hash_pandas_object(used, index=False).sum():016x}",
        "versions": versions(),
        **facts,
    }


def new_categories(frame, card):
    """A sentence for each column with categories that the model has not seen."""
    for column in card["columns"]:
        known = column.get("categories", [])
        if column["name"] in frame and 0 < len(known) < MOST_CATEGORIES:
            values = frame[column["name"]].dropna().map(str)
            new = values[~values.isin(known)]
            if len(new):
                yield (
                    f"{column['name']}: {len(new)} of {len(frame)} rows have categories "
                    f"that the model has not seen, such as {new.iloc[0]!r}"
                )


def versions():
    """Of the packages that a model's file depends on."""
    return {name: version(name) for name in ("adakern", "scikit-learn", "numpy")}


def save_model(pipeline, path, card):
    """Write a fitted pipeline and its card, whole or not at all."""
    import skops.io

    with atomic_path(path) as temporary:
        skops.io.dump(pipeline, temporary, compression=zipfile.ZIP_DEFLATED)
        with zipfile.ZipFile(temporary, "a") as archive:
            archive.writestr(CARD, json.dumps(card, indent=1, default=str))


def load_model(path, trust=()):
    """The pipeline and the card of a file that `save_model` wrote.

    Nothing in the file is run. A file that holds a type which is neither part of
    adakern's or scikit-learn's estimators nor named in ``trust`` is refused.
    """
    import skops.io

    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"there is no file {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            card = json.loads(archive.read(CARD))
            broken = archive.testzip()
        types = skops.io.get_untrusted_types(file=path)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError) as error:
        broken, card = error, {}
    if broken or "versions" not in card:
        raise ModelFileError(
            f"{path} is no model that `adakern fit` wrote, or not all of it"
        )
    unknown = [name for name in types if not KNOWN.fullmatch(name)]
    if unsafe := sorted(set(unknown) - set(trust)):
        raise ModelFileError(
            f"{path} holds {', '.join(unsafe)}, which adakern does not load from a file "
            "unasked; if you know who wrote it: " + f"--trust {' '.join(unsafe)}"
        )
    here, there = versions(), card["versions"]
    if here["adakern"] != there.get("adakern"):
        raise ModelFileError(
            f"{path} was written by adakern {there.get('adakern')}, this is "
            f"{here['adakern']}: install that version, or fit the model again"
        )
    if here != there:
        was = ", ".join(f"{name} {there.get(name)}" for name in here)
        warn_user(f"{path.name} was written with {was}; here they are {here}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # said above
        return skops.io.load(path, trusted=types), card

"""From the columns of files to the canonical table, and the check of its entry."""

import inspect

import numpy as np

from adakern.datasets.cells import read_column
from adakern.datasets.read_table import find_column
from adakern.datasets.unpack import TableError
from adakern_bench.data.errors import DatasetError, ParseError, TableMismatchError
from adakern_bench.data.formulas import evaluate
from adakern_bench.data.parsers import format_of
from adakern_bench.data.table import Table
from adakern_bench.records.dotted import loader_function, outside_paths

__all__ = ["check_table", "table_from_frames", "table_from_loader"]


def table_from_frames(name, entry, frames):
    """The table of an entry from the parsed frames of its files, in their order."""
    import pandas as pd

    kind = format_of(entry, entry.files[0])
    is_mixed, described = kind == "table", frames[0].attrs
    if kind == "libsvm":
        # An index that occurs in another file only stands for zeros.
        widest = max(frames, key=lambda frame: frame.shape[1]).columns
        frames = [frame.reindex(columns=widest, fill_value=0.0) for frame in frames]
    frame = pd.concat(frames, ignore_index=True)
    # What is known of rows is found by their index, whatever rows are left out or moved.
    is_test = pd.Series(np.repeat([file.test for file in entry.files], [len(f) for f in frames]))

    def column(key, role):
        try:
            return find_column(frame, key)
        except TableError as error:
            raise ParseError(f"{name}.{role}: {error}") from None

    target = column(entry.target, "target")
    for rule, value in entry.test_where.items():
        is_test |= frame[column(rule, "test_where")] == value
    dropped = {target, *(column(c, "drop") for c in entry.drop)}
    features = [c for c in frame.columns if c not in dropped]
    groups = None if entry.groups is None else frame[column(entry.groups, "groups")]
    if is_mixed:
        frame = frame.dropna(subset=[target]).copy()
    if entry.time is not None:
        time = column(entry.time, "time")
        frame[time] = _times(frame[time], name)
        frame = frame.sort_values(time, kind="stable")
    for key, codes in entry.codes.items():
        categories = column(key, "codes")
        if unknown := set(frame[categories].dropna()) - set(codes):
            raise ParseError(
                f"{name}.codes: column {key!r} also holds {sorted(map(str, unknown))}."
            )
        frame[categories] = frame[categories].map(codes)
    for key, formula in entry.fill.items():
        blank = column(key, "fill")
        try:
            frame[blank] = frame[blank].fillna(evaluate(formula, frame))
        except Exception as error:
            raise ParseError(f"{name}.fill: {key}: {formula!r}: {error}") from error
    categories = {}
    if is_mixed:  # as positions, which stand for no order
        for feature in frame[features].select_dtypes(exclude=["number", "bool"]).columns:
            codes, known = pd.factorize(frame[feature], sort=True)
            categories[feature] = known.tolist()
            frame[feature] = np.where(codes < 0, np.nan, codes)
    X = _numeric(frame[features], name)
    y = _target_values(frame[target], entry, name)
    absent = np.isnan(X)
    if absent.any() and not is_mixed:
        incomplete = absent.any(axis=1)
        if entry.missing == "drop-rows":
            X, y, frame = X[~incomplete], y[~incomplete], frame[~incomplete]
        elif entry.missing == "mean":
            X = np.where(absent, np.nanmean(X, axis=0), X)
        else:
            raise ParseError(
                f"{name}: {incomplete.sum()} of {len(X)} rows have a missing value; set "
                "missing to drop-rows or mean."
            )
    _check_features(X, name, may_miss=is_mixed)
    # A column of a file without names goes by its position.
    names = [f"x{c}" if isinstance(c, int) else str(c) for c in features]
    table = Table(X, y, name, entry.task, names, categories=categories)
    table.in_order_of_time = entry.time is not None
    for facts, found in described.items():
        setattr(table, facts, {feature: found[feature] for feature in names if found[feature]})
    if groups is not None:
        table.groups = np.unique(groups[frame.index], return_inverse=True)[1]
    if is_test.any():
        table.test_rows = np.flatnonzero(is_test[frame.index])
    return table


def table_from_loader(name, entry, seed):
    """The table that the entry's function returns (embedded sets, generators)."""
    arguments = dict(entry.loader)
    target = arguments.pop("_target_")
    try:
        function = loader_function(str(target))
    except (ImportError, AttributeError, ValueError) as error:
        raise DatasetError(
            f"{name}.loader: {target!r} cannot be used ({error}). Generators and "
            "embedded sets of sklearn.datasets and adakern.datasets can, and functions "
            "load_..., make_... of the project's folder methods/ (_target_: "
            "methods.mine.load_mine)."
        ) from error
    for parameter, value in outside_paths(arguments):
        raise DatasetError(f"{name}.loader: {parameter}={value!r} leaves the project.")
    if "random_state" in inspect.signature(function).parameters:
        arguments.setdefault("random_state", seed)
    try:
        result = function(**arguments)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{name}.loader: {error}") from error
    if isinstance(result, tuple):
        result = {"data": result[0], "target": result[1]}
    X, y = np.asarray(result["data"]), np.asarray(result["target"])
    _refuse_complex([X, y], name)
    X = np.ascontiguousarray(X, dtype=np.float64)
    _check_features(X, name)
    names = result.get("feature_names", [f"x{i}" for i in range(X.shape[1])])
    y = _labels(y, entry, name) if entry.task == "classification" else y.astype(np.float64)
    test_rows = result.get("test_rows")
    return Table(X, y, name, entry.task, [*map(str, names)], test_rows=test_rows)


def check_table(entry, table, fingerprint):
    """Compare a table with what its entry states."""
    n, d = table.X.shape
    n_test = 0 if table.test_rows is None else len(table.test_rows)
    stated = [("n (rows) is", entry.n, n), ("d (features) is", entry.d, d)]
    stated.append(("n_test (published test rows) is", entry.n_test, n_test))
    stated.append(("the content fingerprint is", entry.fingerprint, fingerprint))
    if entry.classes:
        said = {str(label): n_rows for label, n_rows in entry.classes.items()}
        counts = {str(label): n_rows for label, n_rows in table.class_counts.items()}
        stated += [
            (f"class {label} has", f"{said.get(label, 0)} rows", f"{counts.get(label, 0)} rows")
            for label in sorted({*said, *counts})
        ]
    differ = [
        f"{what} {seen}, the entry says {said}"
        for what, said, seen in stated
        if said not in (None, seen)
    ]
    if len(differ) == 1 and differ[0].startswith("the content"):
        differ[0] += ": some values differ at six significant digits"
    if differ:
        raise TableMismatchError(
            f"the table of {table.name} is not the one of its entry: " + "; ".join(differ)
        )


def _times(values, name):
    """When rows were observed, as numbers; dates are counted in days."""
    try:
        times = read_column(values, ".", kind=None)
    except TableError as error:
        raise ParseError(f"{name}.time: {error}") from error
    if times[1] == "categorical" or times[0].isna().any():
        raise ParseError(
            f"{name}.time: {values.name!r} holds {values.iloc[0]!r}, and "
            f"{int(times[0].isna().sum())} of {len(values)} rows have none; dates or "
            "numbers are needed in every row."
        )
    return times[0]


def _refuse_complex(columns, name):
    if any(map(np.iscomplexobj, columns)):
        raise ParseError(
            f"{name}: complex numbers; a table holds real ones. Give the real and "
            "the imaginary part, or modulus and angle, as columns of their own."
        )


def _numeric(features, name):
    _refuse_complex([features[c] for c in features], name)
    try:
        return np.ascontiguousarray(features.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        pass
    words = [str(c) for c in features.select_dtypes(exclude="number").columns]
    raise ParseError(
        f"{name}: the columns {', '.join(words)} hold categories; keep them with "
        "format: table, give them numbers with codes, or leave them out with drop."
    )


def _check_features(X, name, may_miss=False):
    if X.ndim != 2 or X.shape[1] == 0:
        raise ParseError(
            f"{name}: the table has no features, only the target; is the separator "
            "right, and is drop?"
        )
    rows = np.flatnonzero(~(np.isfinite(X) | (may_miss & np.isnan(X))).all(axis=1))
    if len(rows):
        raise ParseError(
            f"{name}: {len(rows)} rows hold NaN or infinite values, the first is row "
            f"{rows[0]}; correct the data."
        )


def _target_values(values, entry, name):
    if values.isna().any():
        raise ParseError(f"{name}: the target is missing in {values.isna().sum()} rows.")
    if entry.task == "regression":
        return _numeric(values.to_frame(), name).ravel()
    many = values.dtype.kind == "f" and values.nunique() > max(2, len(values) // 2)
    if many and not (values == np.rint(values)).all():
        raise ParseError(
            f"{name}: the target takes {values.nunique()} different values in "
            f"{len(values)} rows, such as {values.iloc[0]:g}; did you mean task: "
            "regression?"
        )
    return _labels(values.to_numpy(), entry, name)


#: From here on two neighbouring whole numbers can be one float64.
LARGEST_WHOLE = 2**53


def _labels(y, entry, name):
    """Class labels as whole numbers where they are some, as words elsewhere."""
    _refuse_complex([y], name)
    if y.dtype.kind == "f" and (large := np.abs(y) >= LARGEST_WHOLE).any():
        raise ParseError(
            f"{name}: the class label {y[large][0]:g} is too large "
            "for a number that tells it from its neighbours (2^53); is the target the "
            "right column? Write such labels as words."
        )
    whole = y.dtype.kind in "fiub" and np.array_equal(y, np.rint(y))
    if whole and (y <= np.iinfo(np.int64).max).all():
        y = y.astype(np.int64)
    if entry.labels:
        renamed = {str(old): new for old, new in entry.labels.items()}
        y = np.array([renamed.get(str(label), label) for label in y.tolist()])
    return y if y.dtype.kind == "i" else y.astype(str)

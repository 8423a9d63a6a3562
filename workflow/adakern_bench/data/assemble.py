"""Assembly of the canonical table from the columns of files, or from a loader."""

import inspect
from collections import ChainMap

import numpy as np

from adakern._utils.printable import shortened
from adakern._utils.wording import listed
from adakern.tables.cells import ALIKE, form_of_merged, read_cells
from adakern.tables.dates import days_of
from adakern.tables.kinds import learn
from adakern.tables.typed import LIMITS_OF, cells_of, find_column
from adakern_bench.base.dotted import loader_function, outside_paths
from adakern_bench.config.entry import ONE_OF_CLASSES, DatasetError
from adakern_bench.data.parsers import format_of
from adakern_bench.data.table import Table

#: Value of an entry's `time` if the rows of the file are in order of time.
ORDER = "order of the file"
#: Seed of generators whose entry states none.
SEED = 0


def table_from_frames(name, entry, frames):
    """Return the table of an entry from the parsed frames of its files, in order."""
    is_mixed = format_of(entry, entry.files[0]) == "table"
    # Test rows and groups are looked up by index, since rows may be dropped or sorted.
    is_test = np.repeat([file.test for file in entry.files], [len(f) for f in frames])
    frame = _joined(frames, format_of(entry, entry.files[0]))
    targets = _targets_in(frame, entry, name)
    dropped = {*targets, *(find_column(frame, key) for key in entry.drop)}
    if not (features := [c for c in frame.columns if c not in dropped]):
        raise DatasetError(f"{name}: no features; check separator and drop.")
    groups = None if entry.groups is None else _equal_rows(frame, entry.groups)
    if is_mixed:
        frame = frame.dropna(subset=targets).copy()
    if entry.time is not None:
        if entry.time == ORDER:
            frame[ORDER] = np.arange(len(frame))
        time = find_column(frame, entry.time)
        frame[time], kind = _times(frame[time], name)
        frame = frame.sort_values(time, kind="stable")
    _fill(frame, entry, name)
    if entry.missing == "drop-rows":
        frame = frame.dropna(subset=features)
    categories = _as_numbers(frame, features) if is_mixed else {}
    names = _named(features, "x")
    finite = "allow-nan" if is_mixed else True
    table = Table(
        _numbers(frame[features], name, ensure_all_finite=finite),
        _values_of_targets(frame[targets], entry, name),
        name,
        entry.task,
        names,
        targets=_several(targets),
        categories=categories,
    )
    for key in frames[0].attrs:  # kinds, forms
        found = ChainMap(*(part.attrs[key] for part in frames))
        setattr(table, key, {c: found[c] for c in names if found[c]})
    if entry.time is not None:
        table.times_are_dates = "date" in (kind, table.kinds.get(time))
        table.times = frame[time].to_numpy(float)
    if groups is not None:
        table.groups = _numbers_of(groups[frame.index])
    if is_test.any():
        table.test_rows = np.flatnonzero(is_test[frame.index])
    return table


def _targets_in(frame, entry, name):
    """Return the names of an entry's targets."""
    targets = [find_column(frame, key) for key in entry.targets]
    if len({*targets}) < len(targets):
        raise DatasetError(f"{name}.target: {targets} names a column twice.")
    return targets


def _named(columns, letter):
    """Return the names of columns; unnamed ones are named by their positions."""
    return [f"{letter}{c}" if isinstance(c, int) else str(c) for c in columns]


def _several(targets):
    """Return the names of several targets; None for a single one."""
    return _named(targets, "y") if len([*targets]) > 1 else None


def _equal_rows(frame, columns):
    """Return a number for each row, equal for rows that agree in these columns."""
    keys = columns if isinstance(columns, list) else [columns]
    found = [find_column(frame, key) for key in keys]
    return frame.groupby(found, dropna=False).ngroup().to_numpy()


def _numbers_of(values):
    """Replace values by their positions among the sorted distinct values."""
    return np.unique(values, return_inverse=True)[1]


def _joined(frames, kind):
    """Concatenate the frames of several files."""
    import pandas as pd

    if kind == "libsvm":
        # A feature that is absent from a file is zero there.
        widest = max(frames, key=lambda frame: frame.shape[1]).columns
        frames = [frame.reindex(columns=widest, fill_value=0.0) for frame in frames]
    joined = pd.concat(frames, ignore_index=True)
    for part in frames:  # limits may occur in only some of the files
        for column, form in part.attrs.get("forms", {}).items():
            if form.startswith(LIMITS_OF):
                joined[column] = joined[column].fillna(0.0)
            elif form.startswith(ALIKE) and len(frames) > 1:
                cells = cells_of(joined[column], column)
                form = form_of_merged(cells)  # of the spellings of all files
                part.attrs["forms"][column] = form
                joined[column], _ = read_cells(cells, "categorical", form, True)
    return joined


def _fill(frame, entry, name):
    """Replace categories by codes, and fill in missing values, as the entry states."""
    for key, codes in entry.codes.items():
        categories = find_column(frame, key)
        if new := set(frame[categories].dropna()) - set(codes):
            raise DatasetError(
                f"{name}.codes: column {key!r} also contains {sorted(map(str, new))}; "
                "add their codes."
            )
        frame[categories] = frame[categories].map(codes)
    for key, weights in entry.fill.items():
        terms = [
            weight * frame[find_column(frame, term)] for term, weight in weights.items()
        ]
        filled = find_column(frame, key)
        frame[filled] = frame[filled].fillna(sum(terms))


def _as_numbers(frame, features):
    """Replace categories by their positions (which imply no order) and dates by days.

    Returns categorical feature -> its categories.
    """
    import pandas as pd

    categories = {}
    for feature in frame[features].select_dtypes("datetime").columns:
        frame[feature] = days_of(frame[feature].to_numpy())
    for feature in frame[features].select_dtypes(exclude=["number", "bool"]).columns:
        codes, known = pd.factorize(frame[feature], sort=True)
        categories[feature] = known.tolist()
        frame[feature] = np.where(codes < 0, np.nan, codes)
    return categories


def table_from_loader(name, entry):
    """Return the table of an entry's loader (bundled data sets, generators)."""
    import pandas as pd

    arguments = dict(entry.loader)
    target = str(arguments.pop("_target_", None))
    try:
        function = loader_function(target)
    except (ImportError, AttributeError, ValueError) as error:
        raise DatasetError(
            f"{name}.loader: {target!r} cannot be used ({error}). Allowed are the "
            "generators and bundled data sets of sklearn.datasets, the generators of "
            "adakern.datasets, and functions load_..., make_... or fetch_... in the "
            "project's folder methods/ (_target_: methods.mine.load_mine)."
        ) from error
    for key, value in outside_paths(arguments):
        raise DatasetError(f"{name}.loader: {key}={value!r} is outside the project.")
    if "random_state" in inspect.signature(function).parameters:
        arguments.setdefault("random_state", SEED)
    try:
        result = function(**arguments)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{name}.loader: {error}") from error
    if isinstance(result, tuple):
        result = {"data": result[0], "target": result[1]}
    X = _numbers(result["data"], name)
    targets = pd.DataFrame(result["target"])
    names = result.get("feature_names", _named(range(X.shape[1]), "x"))
    table = Table(
        X,
        _values_of_targets(targets, entry, name),
        name,
        entry.task,
        [*map(str, names)],
        targets=_several(targets),
        test_rows=result.get("test_rows"),
    )
    groups, times = (
        _of_mapping(result, getattr(entry, key), key, name)
        for key in ("groups", "time")
    )
    if times is not None:
        order = np.argsort(times, kind="stable")
        table.X = X[order]
        table.y = table.y[order]
        groups = None if groups is None else groups[order]
        table.times = times[order].astype(float)
    if groups is not None:
        table.groups = _numbers_of(groups)
    return table


def _of_mapping(result, key, setting, name):
    """Return the value of a key in a loader's mapping; None if the key is None."""
    if key is None:
        return None
    if key not in result:
        raise DatasetError(
            f"{name}.{setting}: the loader's mapping has no key {key!r}; use one of "
            f"{', '.join(map(str, result))}."
        )
    return np.asarray(result[key])


def _times(values, name):
    """Return the times of rows as numbers (dates as days), and their kind."""
    found, times = learn(cells_of(values, values.name), ".", text=False)
    if found.kind == "date":
        times = days_of(times)
    if found.kind == "categorical" or np.isnan(times).any():
        n_missing = sum(value is None or value != value for value in times)
        missing = f"; {n_missing} of {len(values)} rows have none" if n_missing else ""
        raise DatasetError(
            f"{name}.time: {values.name!r} must be a date or number in every row, got "
            f"{values.iloc[0]!r}{missing}."
        )
    return times, found.kind


def _numbers(columns, name, **allowed):
    """Return an array of real numbers; otherwise the error is that of scikit-learn."""
    from sklearn.utils import check_array  # a global import would slow down every plan

    try:
        return check_array(
            columns, dtype=np.float64, order="C", input_name="table", **allowed
        )
    except (TypeError, ValueError) as error:
        raise DatasetError(
            f"{name}: {str(error).splitlines()[0]} Keep categories with format: table, "
            "replace them by numbers with codes, or leave columns out with drop; "
            "missing: drop-rows leaves out rows with missing values."
        ) from error


def _values_of_targets(frame, entry, name):
    """Return the target, or an array with one column per target."""
    columns = [_target_values(column, entry, name) for _, column in frame.items()]
    if len(columns) == 1:
        return columns[0]
    if entry.task == "classification":
        raise DatasetError(f"{name}: {ONE_OF_CLASSES}")
    return np.column_stack(columns)


def _target_values(values, entry, name):
    if missing := values.isna().sum():
        raise DatasetError(
            f"{name}: the target is missing in {missing} of {len(values)} rows."
        )
    if values.nunique() == 1 < len(values):
        raise DatasetError(
            f"{name}: the target has the same value in all {len(values)} rows, "
            f"{shortened(values.tolist()[0])}; name another column as target."
        )
    if entry.task == "regression":
        return _numbers(values.to_frame(), name).ravel()
    many = values.dtype.kind == "f" and values.nunique() > max(2, len(values) // 2)
    if many and not (values == np.rint(values)).all():
        raise DatasetError(
            f"{name}: the target takes {values.nunique()} different values in "
            f"{len(values)} rows, "
            f"such as {values.iloc[0]:g}; did you mean task: regression?"
        )
    return _labels(values.to_numpy(), entry, name)


#: From here on, float64 does not distinguish all integers.
LARGEST_WHOLE = 2**53


def _labels(y, entry, name):
    """Return class labels as integers if they are integers, else as text."""
    if y.dtype.kind == "f" and (large := np.abs(y) >= LARGEST_WHOLE).any():
        raise DatasetError(
            f"{name}: the class label {y[large][0]:g} is too large: integers from "
            "2^53 on cannot be distinguished. Is this the right target column? If so, "
            "write the labels as text."
        )
    whole = y.dtype.kind in "fiub" and np.array_equal(y, np.rint(y))
    if whole and (y <= np.iinfo(np.int64).max).all():
        y = y.astype(np.int64)
    if entry.labels:
        renamed = {str(old): new for old, new in entry.labels.items()}
        if absent := renamed.keys() - {*map(str, y.tolist())}:
            raise DatasetError(
                f"{name}.labels: no row has the class {min(absent)}; the classes are "
                f"{listed(np.unique(y).tolist(), most=10)}."
            )
        y = np.array([renamed.get(str(label), label) for label in y.tolist()])
    return y if y.dtype.kind == "i" else y.astype(str)

"""Validation of the input of fits and predictions."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array, check_consistent_length, validation
from sklearn.utils.validation import check_X_y

from adakern._utils.arrays import check_weights, from_foreign
from adakern._utils.warn import warn_user
from adakern.tables.columns import as_columns, in_order_of, is_frame

#: With times, fraction of the rows, the earliest ones, that are never left out; and
#: fraction of the rows in each later block, roughly the horizon of valid intervals.
EARLIEST, BLOCK = 0.4, 0.2


def validated(estimator, X, *y, held_out=False):
    """Validate X (n, d) and, if given, y (n,) or (n, t).

    With y, also return which columns have a categorical dtype. Columns must be those of
    the fit, unless y is given and not ``held_out``.
    """
    reset = bool(y) and not held_out
    X = from_foreign(X)
    y = [from_foreign(v) for v in y]
    if hasattr(X, "to_pandas") and not is_frame(X):
        X = X.to_pandas()  # columns of an Arrow array have no names
    as_in_fit = False
    if not reset and is_frame(X) and hasattr(estimator, "feature_names_in_"):
        X, as_in_fit = in_order_of(estimator.feature_names_in_, X)
    rows, categorical = as_columns(X)
    if as_in_fit and not y and rows.size and rows.dtype == object:
        return rows  # already checked, and the checks below take half a millisecond
    options = {"input_name": "X"}
    if y:
        options = {"y_numeric": not is_classifier(estimator)}
        name = "y_val" if held_out else "y"
        targets = several_targets(estimator, y[0], name)
        y = y if targets is None else [np.zeros(len(targets))]
    options |= {"dtype": None, "ensure_all_finite": "allow-nan"}
    try:
        check = check_X_y if y else check_array
        checked = check(rows, *y, estimator=estimator, **options)
    except OverflowError:
        raise ValueError("y has a number beyond 1.8e308; rescale it") from None
    validation.validate_data(estimator, X, reset=reset, skip_check_array=True)
    if not y:
        return checked
    return checked[0], checked[1] if targets is None else targets, categorical


def target_names(y):
    """Names of the columns of y if all are strings, otherwise numbers from 0."""
    names = list(getattr(y, "columns", ()))
    if names and all(isinstance(name, str) for name in names):
        return np.array(names, dtype=object)
    shape = _shape(y)
    return np.arange(shape[1] if len(shape) == 2 else 1)


def _shape(y):
    """Shape of targets, also of array-likes that ``np.shape`` does not support."""
    return y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape


def several_targets(estimator, y, name):
    """Return targets (n, t), NaN where missing, or None if there is a single target.

    A single target must not have missing values.
    """
    refuse_missing_labels(y, name)
    shape = _shape(y)
    if len(shape) != 2 or shape[1] < 2:
        return None
    if is_classifier(estimator):
        raise ValueError(
            f"{type(estimator).__name__} supports a single target, got y with "
            f"{shape[1]} columns; use "
            f"sklearn.multioutput.MultiOutputClassifier({type(estimator).__name__}())"
        )
    names = map(repr, target_names(y).tolist())
    options = {"dtype": float, "input_name": "y", "ensure_all_finite": False}
    try:
        Y = check_array(y, **options)
    except TypeError:
        Y = check_array(y.astype("Float64").to_numpy(float, na_value=np.nan), **options)
    except ValueError as error:
        raise ValueError(
            f"y must be numeric: {error}; for labels use AdaptiveKernelClassifier"
        ) from None
    for name, column in zip(names, Y.T, strict=True):
        if np.isinf(column).any():
            row = np.flatnonzero(np.isinf(column))[0]
            raise ValueError(
                f"column {name} of y contains infinity in row {row}; drop such rows, "
                "or set the value to NaN if it is missing"
            )
        if np.isnan(column).all():
            raise ValueError(
                f"column {name} of y is NaN in every row; drop this target"
            )
    return Y


def refuse_missing_labels(y, name):
    """Raise ValueError if y, called name, has a missing value, with the first one."""
    y = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    if y.ndim != 1 or y.dtype.kind not in "OfM":
        return
    # Comparisons of pandas' NA with itself are NA, and pandas may not be installed.
    names = ("NoneType", "NAType")
    missing = (
        [type(value).__name__ in names or value != value for value in y]
        if y.dtype == object
        else y != y
    )
    if np.any(missing):
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"{name}[{row}] is {y[row]}: Input {name} contains NaN; drop such rows"
        )


def read_rows(estimator, reader, X):
    """Validate rows X, and convert them to numbers and category codes."""
    return reader.transform(validated(estimator, X))


def row_weights(estimator, rows, y, sample_weight):
    """Sample weights times class weights; zero for rows without any known target."""
    weights = estimator._row_weights(y, check_weights(sample_weight, rows))
    if not ((weights >= 0) & (weights < np.inf)).all():
        raise ValueError("class_weight must give finite and non-negative weights")
    if not (weights > 0).any():
        raise ValueError("sample_weight is zero for every row")
    return weights if y.ndim == 1 else _drop_rows_without_target(y, weights)


def _drop_rows_without_target(Y, weights):
    """Set weights of rows without a target to zero; each target must keep a row."""
    known = ~np.isnan(Y)
    for j, column in enumerate(known.T):
        if not weights[column].any():
            raise ValueError(
                f"column {j} of y is missing in every row with positive weight; drop "
                "this target"
            )
    return np.where(known.any(axis=1), weights, 0.0)


def refuse_several_folds(**given):
    """Raise ValueError if several arguments determine which rows are held out."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise ValueError(
            f"pass {' or '.join(names)}, not both: each defines the held-out rows"
        )


def _one_per_row(name, values, weights):
    try:
        values = validation.column_or_1d(values)
        check_consistent_length(weights, values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be one value for each row: {error}") from error
    return values


def time_blocks(time, weights):
    """Assign rows to consecutive blocks in time, numbered from 0.

    Rows of the same time are in the same block. Return None if all rows with a positive
    weight have the same time.
    """
    time = _one_per_row("time", time, weights)
    refuse_missing_labels(time, "time")
    if any(isinstance(value, str) for value in time):
        raise ValueError(
            f"time must be numeric or dates, got strings such as {str(time[0])!r}, "
            "whose order may not be chronological; convert them (see "
            "pandas.to_datetime)"
        )
    place = np.unique(time, return_inverse=True)[1]
    counts = np.bincount(place, weights > 0)
    if np.count_nonzero(counts) == 1:
        warn_user("time has one value only: folds are drawn as without time")
        return None
    earlier = (np.cumsum(counts) - counts) / counts.sum()
    block = np.floor((earlier - EARLIEST) / BLOCK + 1e-9).clip(-1)
    if block[counts > 0].max() < 0:  # most rows are of the last time
        block[np.flatnonzero(counts)[-1]] = 0
    return np.unique(block[place], return_inverse=True)[1]


def group_codes(groups, weights):
    """Encode groups as integers from 0; return None if there is only one group."""
    groups = _one_per_row("groups", groups, weights)
    try:
        validation.assert_all_finite(groups, input_name="groups")
        groups = np.unique(groups, return_inverse=True)[1]
    except TypeError:
        raise ValueError(
            "groups must not contain None or values of several types"
        ) from None
    if np.ptp(groups[weights > 0]) == 0:
        warn_user("groups has one value only: folds are drawn as without groups")
        return None
    return groups

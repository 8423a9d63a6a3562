"""Validation and conversion of the arrays that users pass.

NumPy arrays, and objects that convert to them (lists, tables), go through
scikit-learn's checks. PyTorch tensors and other arrays of the Python array API stay in
their library and on their device, even if scikit-learn's ``array_api_dispatch`` is off.
Predictions are of the same library as X. Targets and labels become NumPy arrays.

In addition to scikit-learn's checks, the magnitude of numbers is validated. Squares of
numbers out of range overflow or vanish, which would result in NaN, obscure internal
errors or infinite loops.
"""

from contextlib import contextmanager, suppress
from contextvars import ContextVar

import numpy as np
import sklearn.utils.validation
from array_api_compat import (
    array_namespace,
    is_array_api_obj,
    is_numpy_array,
    is_torch_array,
)
from array_api_compat import device as device_of
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.utils import check_consistent_length, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    assert_all_finite,
)

#: Range of absolute values whose fourth powers, as in the papers' objectives, fit into
#: float64.
SMALLEST, LARGEST = 1e-75, 1e75
#: Largest absolute value of float32 input, of which sums of squares are computed.
LARGEST_SINGLE = 1e15

#: Range of positive sample weights that stand for repeated rows.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-15, 1e15

#: Empty array with the library and device of the computation; None for NumPy.
_DEVICE: ContextVar = ContextVar("device", default=None)


@contextmanager
def device_context(X):
    """Context in which :func:`to_device` moves arrays to the device of a tensor X.

    The moved arrays are in double precision.
    """
    like = None
    if is_torch_array(X):
        xp = array_namespace(X)
        with suppress(TypeError):
            like = xp.empty(0, dtype=xp.float64, device=device_of(X))
    token = _DEVICE.set(like)
    try:
        yield
    finally:
        _DEVICE.reset(token)


def to_device(array):
    """Move an array to the device of the context, if there is one."""
    like = _DEVICE.get()
    return array if like is None else asarray_like(array, like)


def as_numpy(array):
    """Convert an array of any library and device to a NumPy copy or view."""
    if hasattr(array, "detach"):  # PyTorch, possibly on a GPU.
        array = array.detach().cpu()
    return np.asarray(array)


def from_foreign(array):
    """Convert tensors to NumPy arrays; return lists, tables and NumPy arrays as is."""
    return as_numpy(array) if _is_foreign(array) else array


def as_index(index, like):
    """Convert a NumPy index array to the library and device of ``like``."""
    xp = array_namespace(like)
    return xp.asarray(index, dtype=xp.int64, device=device_of(like))


def asarray_like(array, like):
    """Convert an array to the library, dtype and device of ``like``."""
    xp = array_namespace(like)
    if is_array_api_obj(array) and array_namespace(array) is not xp:
        array = as_numpy(array)
    return xp.asarray(array, dtype=like.dtype, device=device_of(like))


def output_like(output, X):
    """Convert the output of an estimator, unless text, to X's library and device."""
    if not _is_foreign(X) or output.dtype.kind in "OSU":
        return output
    return array_namespace(X).asarray(output, device=device_of(X))


def validate_arrays(estimator, X, y="no_validation", *, y_numeric=False):
    """Check X, and y when fitting, as scikit-learn does; tensors stay tensors."""
    predicting = isinstance(y, str)
    if _is_foreign(X):
        X = _foreign_rows(estimator, X, reset=not predicting)
        return X if predicting else (X, _target(y, X.shape[0], y_numeric))
    floating = [np.float64, np.float32]
    if predicting:
        return validate_data(estimator, X, reset=False, dtype=floating)
    # Labels may be a tensor even if X is a NumPy array.
    y = from_foreign(y)
    X, y = validate_data(estimator, X, y, dtype=floating, y_numeric=y_numeric)
    return X, np.asarray(y, dtype=np.float64) if y_numeric else y


def is_dask(X):
    """Whether X is an array or data frame of Dask."""
    return type(X).__module__.partition(".")[0] == "dask"


def _is_foreign(array):
    return is_array_api_obj(array) and not is_numpy_array(array)


def _foreign_rows(estimator, X, reset):
    # scikit-learn's own array API support needs an environment variable set before
    # SciPy is imported; a tensor should just work.
    xp = array_namespace(X)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions, expected 2: (rows, features)")
    if 0 in X.shape:
        raise ValueError(f"X is empty: got shape {tuple(X.shape)}")
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"X must be real, got dtype {X.dtype}")
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError("X contains NaN or infinity; impute or drop such rows")
    check_scale("X", X, reset)
    _check_n_features(estimator, X, reset=reset)
    if reset:
        check_training(estimator, X)
    return X


def _target(y, n_rows, numeric):
    y = column_or_1d(as_numpy(y), warn=True)
    check_consistent_length(range(n_rows), y)
    y = np.asarray(y, dtype=np.float64) if numeric else y
    assert_all_finite(y, input_name="y")
    if numeric:
        check_scale("y", y, fitting=True)
    return y


def validate_data(estimator, /, X="no_validation", y="no_validation", **options):
    """Call scikit-learn's ``validate_data``; check scale, symmetry and parameters.

    NumPy arrays are returned in C order, since the rounding of sums depends on it.
    """
    checked = sklearn.utils.validation.validate_data(
        estimator, X, y, **{"order": "C"} | options
    )
    fitting = options.get("reset", True)
    X, y = checked if isinstance(checked, tuple) else (checked, None)
    check_scale("X", X, fitting)
    if fitting:
        check_training(estimator, X)
        if y is not None and not is_classifier(estimator):
            check_scale("y", y, fitting)
    return checked


def check_scale(name, values, fitting):
    """Raise ValueError for values too large, or training values too close together.

    New rows may all be equal; training rows may not.
    """
    if issparse(values):
        values = values.data[:, None]
    kind = getattr(values.dtype, "kind", "f")
    if kind != "f" or 0 in values.shape:
        return
    xp = array_namespace(values)
    highest = xp.max(values, axis=0)
    lowest = xp.min(values, axis=0)
    largest = float(xp.max(xp.maximum(xp.abs(highest), xp.abs(lowest))))
    limit = LARGEST_SINGLE if values.dtype == xp.float32 else LARGEST
    if not largest <= limit:
        raise ValueError(
            f"{name} must not exceed {limit:g} in {values.dtype}, got {largest:.3g}. "
            "Scale it, for instance with sklearn.preprocessing.StandardScaler"
        )
    spread = float(
        xp.max(xp.maximum(highest - values[0, ...], values[0, ...] - lowest))
    )
    if fitting and 0 < spread < SMALLEST:
        raise ValueError(
            f"values of {name} must differ by at least {SMALLEST:g}, got at most "
            f"{spread:.3g}, whose square underflows. Scale it, for instance with "
            "sklearn.preprocessing.StandardScaler"
        )


def check_square(K):
    """Raise ValueError if a Gram matrix of training rows is not square."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            "a kernel of training rows must be a square matrix, got shape "
            f"{tuple(K.shape)}"
        )


def check_training(estimator, X):
    """Raise ValueError for parameters too large or too small to compute with.

    A precomputed Gram matrix must be square and symmetric.
    """
    for name, value in estimator.get_params(deep=False).items():
        number = isinstance(value, int | float | np.number)
        if number and value and not SMALLEST <= abs(value) <= LARGEST:
            raise ValueError(
                f"{name}={value:.3g} of {type(estimator).__name__} must be from "
                f"{SMALLEST:g} to {LARGEST:g} in absolute value, or 0 where allowed"
            )
    if not get_tags(estimator).input_tags.pairwise:
        return
    check_square(X)
    if getattr(estimator, "_takes_asymmetric_kernels", False):
        return
    xp = array_namespace(X)
    difference = float(xp.max(xp.abs(X - X.T)))
    if difference > 1e-6 * float(xp.max(xp.abs(X))):
        raise ValueError(
            "the precomputed kernel matrix is not symmetric: entries (i, j) and (j, "
            f"i) differ by up to {difference:.3g}. Use (K + K.T) / 2, or "
            "AsymmetricKernelRidge for an asymmetric kernel"
        )


def encode_classes(estimator, y):
    """Return the sorted classes, and the index of each row's class."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class ({classes[0]}); {type(estimator).__name__} needs at "
            "least 2 classes"
        )
    return classes, codes


def require_finite(estimator, predicted):
    """Return a prediction, or raise ValueError if it contains NaN or infinity."""
    xp = array_namespace(predicted)
    if not bool(xp.all(xp.isfinite(predicted))):
        raise ValueError(
            f"{type(estimator).__name__} predicted NaN or infinity: the fit diverged, "
            "or the rows are too far from the training rows. Scale X and y, or use "
            "less extreme parameters"
        )
    return predicted


def check_weights(sample_weight, rows):
    """Return a non-negative weight for each row, not all zero; 1 by default."""
    try:
        weights = _check_sample_weight(
            from_foreign(sample_weight), rows, dtype=float, ensure_non_negative=True
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"sample_weight must be a non-negative number for each row: {error}"
        ) from error
    if not weights.any():
        raise ValueError("sample_weight is zero for every row")
    return weights


def distinct_rows(X, y, sample_weight=None):
    """Return the indices of the rows to fit, and their weights (None if all are 1).

    A weight is equivalent to repeating a row. Equal rows with equal targets are merged
    and their weights added; rows of weight zero are left out. If rows are merged or
    weighted, they are sorted by their values, so that weighted and repeated rows give
    the same result to the last digit.
    """
    n = len(X)
    weights = np.ones(n)
    if sample_weight is not None:
        weights = check_weights(sample_weight, X)
        low, high = weights[weights > 0].min(), weights.max()
        if low < LEAST_WEIGHT or high > LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight must be 0 or from {LEAST_WEIGHT:g} to "
                f"{LARGEST_WEIGHT:g}, got {low:.3g} to {high:.3g}; scale the weights, "
                "or leave out rows with tiny ones"
            )
    _, targets = np.unique(y, return_inverse=True)
    once = (weights == 1).all()
    if once:  # compare a hash of each row before the rows themselves
        hashes = targets.astype(np.uint64)
        for column in X.T:
            exact = np.ascontiguousarray(column, dtype=np.float64) + 0.0
            hashes = (hashes ^ exact.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            hashes ^= hashes >> np.uint64(29)
        if len(np.unique(hashes)) == n:
            return np.arange(n), None
    rows = np.column_stack([np.asarray(X, dtype=np.float64), targets]) + 0.0
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    if once and len(first) == n:
        return np.arange(n), None
    total = np.bincount(np.ravel(group), weights=weights)
    kept = total > 0
    return first[kept], total[kept]

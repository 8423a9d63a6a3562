"""Validation and conversion of the arrays that users pass.

NumPy arrays, and objects that convert to them (lists, tables), go through
scikit-learn's checks. PyTorch tensors and other arrays of the Python array API stay in
their library and on their device, even if scikit-learn's ``array_api_dispatch`` is off.
Predictions are of the same library as X. Targets and labels become NumPy arrays.
"""

from contextlib import contextmanager, suppress
from contextvars import ContextVar

import numpy as np
from array_api_compat import (
    array_namespace,
    is_array_api_obj,
    is_numpy_array,
    is_torch_array,
)
from array_api_compat import device as device_of
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_n_features, assert_all_finite

from adakern._utils import validation

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
        return validation.validate_data(estimator, X, reset=False, dtype=floating)
    # Labels may be a tensor even if X is a NumPy array.
    y = from_foreign(y)
    X, y = validation.validate_data(
        estimator, X, y, dtype=floating, y_numeric=y_numeric
    )
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
        raise ValueError("X contains NaN or infinity; impute or drop those rows")
    validation.check_scale("X", X, reset)
    _check_n_features(estimator, X, reset=reset)
    if reset:
        validation.check_parameters(estimator)
        validation.check_gram_matrix(estimator, X)
    return X


def _target(y, n_rows, numeric):
    y = column_or_1d(as_numpy(y), warn=True)
    check_consistent_length(range(n_rows), y)
    y = np.asarray(y, dtype=np.float64) if numeric else y
    assert_all_finite(y, input_name="y")
    if numeric:
        validation.check_scale("y", y, fitting=True)
    return y

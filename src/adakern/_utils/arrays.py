"""From the arrays that users pass to NumPy and back, following scikit-learn."""

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from array_api_compat import device as device_of
from sklearn.utils._array_api import get_namespace

from adakern._utils.validation import validate_data

__all__ = [
    "answer_like",
    "as_index",
    "as_numpy",
    "asarray_like",
    "float_types",
    "validate_arrays",
]


def float_types(X):
    """The floating types that ``validate_data`` may leave X in, float64 preferred.

    Those of X's own library where scikit-learn's ``array_api_dispatch`` is on.
    """
    xp, dispatched = get_namespace(X)
    return [xp.float64, xp.float32] if dispatched else [np.float64, np.float32]


def as_numpy(array):
    """A NumPy copy or view of an array of any library, from any device."""
    if hasattr(array, "detach"):  # PyTorch, possibly on a GPU.
        array = array.detach().cpu()
    return np.asarray(array)


def as_index(index, like):
    """The NumPy index array in the library and on the device of ``like``."""
    xp = array_namespace(like)
    return xp.asarray(index, dtype=xp.int64, device=device_of(like))


def asarray_like(array, like):
    """The array in the library, of the type and on the device of ``like``."""
    xp = array_namespace(like)
    if is_array_api_obj(array) and array_namespace(array) is not xp:
        array = as_numpy(array)
    return xp.asarray(array, dtype=like.dtype, device=device_of(like))


def answer_like(answer, X):
    """What an estimator answers on X: in X's library where scikit-learn dispatches."""
    xp, dispatched = get_namespace(X)
    if not dispatched or is_numpy_array(X) or answer.dtype.kind in "OSU":
        return answer
    return xp.asarray(answer, device=X.device)


def validate_arrays(estimator, X, y="no_validation"):
    """Check X, and y when fitting, as scikit-learn does; other array kinds stay as is.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` is set when y is given and compared otherwise.
    X : array-like of shape (n, d)
    y : array-like of shape (n,), default="no_validation"
        Left out when predicting.

    Returns
    -------
    array or (array, array)
        Floating; y of the type of X.
    """
    if is_array_api_obj(X) and not is_numpy_array(X):
        return _validate_foreign(estimator, X, y)
    floating = [np.float64, np.float32]
    if isinstance(y, str):
        return validate_data(estimator, X, reset=False, dtype=floating)
    X, y = validate_data(estimator, X, y, dtype=floating, y_numeric=True)
    return X, np.asarray(y, dtype=np.float64)


def _validate_foreign(estimator, X, y):
    # scikit-learn's own array API support needs an environment variable set before
    # SciPy is imported; a tensor should just work.
    xp = array_namespace(X)
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions, expected 2: (rows, features)")
    if not xp.isdtype(X.dtype, "real floating"):
        X = xp.astype(X, xp.float64)
    _require_finite(X, "X", xp)
    if isinstance(y, str):
        if X.shape[1] != estimator.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(estimator).__name__} is "
                f"expecting {estimator.n_features_in_} features as input"
            )
        return X
    y = xp.asarray(y, dtype=xp.float64, device=device_of(X))
    if y.shape != (X.shape[0],):
        raise ValueError(
            f"y has the shape {tuple(y.shape)}, expected {(X.shape[0],)}, one target "
            "for each row of X"
        )
    _require_finite(y, "y", xp)
    estimator.n_features_in_ = X.shape[1]
    return X, y


def _require_finite(array, name, xp):
    if not bool(xp.all(xp.isfinite(array))):
        raise ValueError(f"{name} contains NaN or infinity; impute or drop those rows")

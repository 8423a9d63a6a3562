"""What comes in: NumPy arrays and everything like them, PyTorch tensors."""

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_array
from array_api_compat import device as device_of
from sklearn.utils.validation import validate_data

__all__ = ["like", "to_numpy", "validate_arrays"]


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


def to_numpy(array):
    """A NumPy copy of an array of any kind, on any device."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    return np.asarray(array)


def like(reference, array):
    """``array`` in the library, floating type and device of ``reference``."""
    xp = array_namespace(reference)
    if array_namespace(array) is not xp:
        array = to_numpy(array)
    return xp.asarray(array, dtype=reference.dtype, device=device_of(reference))

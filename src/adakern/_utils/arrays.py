"""From the arrays that users pass to NumPy and back, following scikit-learn."""

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from sklearn.utils._array_api import get_namespace

__all__ = ["answer_like", "as_index", "as_numpy", "asarray_like", "float_types"]


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
    return xp.asarray(index, dtype=xp.int64, device=getattr(like, "device", None))


def asarray_like(array, like):
    """The NumPy array in the library, the type and on the device of ``like``."""
    if is_numpy_array(like):
        return np.asarray(array, dtype=like.dtype)
    xp = array_namespace(like)
    return xp.asarray(array, dtype=like.dtype, device=like.device)


def answer_like(answer, X):
    """What an estimator answers on X: in X's library where scikit-learn dispatches."""
    xp, dispatched = get_namespace(X)
    if not dispatched or is_numpy_array(X) or answer.dtype.kind in "OSU":
        return answer
    return xp.asarray(answer, device=X.device)

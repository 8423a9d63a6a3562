"""Checks of the input and output of all estimators.

In addition to scikit-learn's checks, the scale of numbers is validated. Beyond it,
squares overflow or vanish, which would result in NaN, obscure internal errors or
infinite loops.
"""

import numpy as np
import sklearn.utils.validation
from array_api_compat import array_namespace
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets

#: Range of absolute values whose fourth powers, as in the papers' objectives, fit into
#: float64.
SMALLEST, LARGEST = 1e-75, 1e75
#: Largest absolute value of float32 input, of which sums of squares are computed.
LARGEST_SINGLE = 1e15


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
        check_parameters(estimator)
        check_gram_matrix(estimator, X)
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


def check_parameters(estimator):
    """Raise ValueError for parameters too large or too small to compute with."""
    for name, value in estimator.get_params(deep=False).items():
        number = isinstance(value, int | float | np.number)
        if number and value and not SMALLEST <= abs(value) <= LARGEST:
            raise ValueError(
                f"{name}={value:.3g} of {type(estimator).__name__} must be from "
                f"{SMALLEST:g} to {LARGEST:g} in absolute value, or 0 where allowed"
            )


def check_square(K):
    """Raise ValueError if a Gram matrix of training rows is not square."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            "a kernel of training rows must be a square matrix, got shape "
            f"{tuple(K.shape)}"
        )


def check_gram_matrix(estimator, X):
    """Raise ValueError if a precomputed Gram matrix is not square and symmetric."""
    if not get_tags(estimator).input_tags.pairwise:
        return
    check_square(X)
    if getattr(estimator, "_takes_asymmetric_kernels", False):
        return
    xp = array_namespace(X)
    difference = float(xp.max(xp.abs(X - X.T)))
    if difference > 1e-6 * float(xp.max(xp.abs(X))):
        raise ValueError(
            "the precomputed kernel matrix is not symmetric: entries (i, j) and (j, i) "
            f"differ by up to {difference:.3g}. Use (K + K.T) / 2, or "
            "AsymmetricKernelRidge for an asymmetric kernel"
        )


def encode_classes(estimator, y):
    """Return the sorted classes, and the index of each row's class."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({classes[0]}); {type(estimator).__name__} needs at "
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

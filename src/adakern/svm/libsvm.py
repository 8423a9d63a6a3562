"""LIBSVM through scikit-learn, with dual variables of all rows."""

import numpy as np
from sklearn import config_context
from sklearn.base import is_classifier
from sklearn.svm import SVC, SVR

from adakern._utils.arrays import as_numpy, asarray_like
from adakern.kernels import centre_of, gram_matrix

#: Smallest tolerance that LIBSVM's single-step updates reach in float64.
FINEST_TOL = 1e-12

#: Maximum number of iterations per row; a few dozen are usual.
STEPS_PER_ROW = 20_000


def fit_libsvm(model, X, y, sample_weight=None):
    """Fit an SVC or SVR with a limit on iterations and a fixed seed."""
    model.random_state = 0
    model.tol = max(model.tol, FINEST_TOL)
    if model.max_iter < 0:
        model.max_iter = max(1_000_000, STEPS_PER_ROW * len(y))
    # The calling estimators have validated these parameters.
    with config_context(skip_parameter_validation=True):
        return model.fit(X, y, sample_weight)


def svm_dual(K, y, C, tol=1e-4, epsilon=None, weights=None):
    """Solve the dual of SVC on the Gram matrix K, or of SVR if epsilon is given."""
    model = SVC() if epsilon is None else SVR(epsilon=epsilon)
    model.set_params(kernel="precomputed", C=C, tol=tol, cache_size=500)
    return _full_length(fit_libsvm(model, K, y, weights), len(y))


def fit_dual(rows, dual, tol, **params):
    """Coefficients of LIBSVM's model on rows or a Gram matrix, and whether it
    converged, which the callers handle.
    """
    model = SVR(epsilon=dual.epsilon) if dual.is_regression else SVC()
    model.set_params(C=dual.C, tol=tol, **params)
    model._warn_from_fit_status = lambda: None
    target = as_numpy(dual.target).astype(float)
    weights = None if dual.weights is None else as_numpy(dual.weights)
    model = fit_libsvm(model, as_numpy(rows), target, weights)
    return _full_length(model, len(target))[0], model.fit_status_ == 0


def dual_on_rows(X, dual, kernel, tol):
    """:func:`fit_dual` for rows of features, with few iterations.

    The coefficients are zero if there is only one class.
    """
    n = X.shape[0]
    if not dual.is_regression and np.ptp(as_numpy(dual.target)) == 0:
        return asarray_like(np.zeros(n), X), True
    named = kernel["kernel"] in ("rbf", "poly", "linear")
    params = {"shrinking": False, "max_iter": max(10_000, 100 * n)}
    params |= kernel if named else {"kernel": "precomputed"}
    if kernel["kernel"] == "rbf":  # LIBSVM expands |x - y|^2
        X = X - centre_of(X)
    rows = X if named else gram_matrix(X, **kernel)
    d, converged = fit_dual(rows, dual, tol, **params)
    return asarray_like(d, X), converged


def _full_length(model, n):
    d = np.zeros(n)
    d[model.support_] = model.dual_coef_[0]
    return d, float(model.intercept_[0])


def predict_from_gram(model, K):
    """Predictions of an SVC or SVR from kernel values, by one matrix product."""
    if is_classifier(model) and len(model.classes_) > 2:
        return type(model).predict(model, K)  # the search replaces the bound method
    d, b = _full_length(model, K.shape[1])
    predicted = K @ d + b
    return (
        model.classes_[(predicted >= 0).astype(int)]
        if is_classifier(model)
        else predicted
    )

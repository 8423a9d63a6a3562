"""Weights of members from what they predicted out of fold."""

import numpy as np

from adakern.linalg import project_onto_simplex

__all__ = [
    "drop_smallest",
    "mixture_weights",
    "squared_error_weights",
    "without_outlying",
]

#: Members of less weight than this are dropped.
SMALLEST_WEIGHT = 0.01

#: A row that every member misses by more than so many times the best member's median
#: error counts as if the nearest missed it by just that: one row decides nothing alone.
OUTLYING = 5.0


def drop_smallest(weights):
    """The weights, those near zero set to zero."""
    weights = np.where(weights < SMALLEST_WEIGHT, 0.0, weights)
    return weights / weights.sum()


def squared_error_weights(predictions, y, weights=None, *, prior=1.0, max_iter=1000):
    """Weights on the simplex of least squared error of the weighted mean.

    Accelerated projected gradient on
    ``sum_i w_i (y_i - sum_j b_j f_ij)^2 + ridge |b - b0|^2``, where b0 is
    proportional to the inverse square of the members' mean squared errors: among good
    members nearly equal, but not for one that is worse than the mean. Rows that all
    members miss are shrunk first, for all members alike.

    Parameters
    ----------
    predictions : ndarray of shape (m, n)
        One member a row.
    y : ndarray of shape (n,)
    weights : ndarray of shape (n,), default=None
    prior : float, default=1.0
        The ridge, in units of the best member's mean squared error: so many rows'
        worth of evidence for b0.
    max_iter : int, default=1000

    Returns
    -------
    ndarray of shape (m,)
        Non-negative, of sum 1.

    References
    ----------
    Breiman. Stacked regressions. Machine Learning 24 (1996).

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.weights import squared_error_weights
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> squared_error_weights(np.array([y - 1, y + 1]), y).round(3)
    array([0.5, 0.5])
    """
    root = np.sqrt(np.ones_like(y) if weights is None else weights)
    errors = without_outlying(root * (predictions - y))
    m = len(errors)
    H = errors @ errors.T
    least = np.diag(H).min()
    if not least > 0:  # some members are perfect
        perfect = np.diag(H) <= 0
        return perfect / perfect.sum()
    b0 = (least / np.diag(H)) ** 2
    b0 /= b0.sum()
    ridge = prior * least / (len(y) if weights is None else weights.sum())
    H += ridge * np.eye(m)
    largest = np.linalg.eigvalsh(H)[-1]
    b = previous = b0
    for t in range(1, max_iter + 1):
        ahead = b + (t - 1) / (t + 2) * (b - previous)
        previous, b = (
            b,
            project_onto_simplex(ahead - (H @ ahead - ridge * b0) / largest),
        )
        if t > 10 and np.abs(b - previous).max() < 1e-8:
            break
    return b


def without_outlying(errors):
    """Errors of rows that every member misses by far, shrunk for all members alike.

    Parameters
    ----------
    errors : ndarray of shape (m, n)
        One member a row.

    Returns
    -------
    ndarray of shape (m, n)

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.weights import without_outlying
    >>> without_outlying(np.array([[1.0, -1.0, 100.0], [1.0, 1.0, 200.0]]))
    array([[ 1., -1.,  5.],
           [ 1.,  1., 10.]])
    """
    nearest = np.abs(errors).min(axis=0)
    limit = OUTLYING * np.median(np.abs(errors), axis=1).min()
    return errors * (limit / np.maximum(nearest, limit)) if limit > 0 else errors


def mixture_weights(likelihoods, weights=None, *, prior=1.0, max_iter=1000):
    """Weights on the simplex of greatest likelihood of the mixture.

    Expectation-maximisation: each row shares itself out among the members in
    proportion to what they contribute to its probability.

    Parameters
    ----------
    likelihoods : ndarray of shape (m, n)
        What each member gave to the class that came true, positive.
    weights : ndarray of shape (n,), default=None
    prior : float, default=1.0
        Rows shared out evenly beforehand.
    max_iter : int, default=1000

    Returns
    -------
    ndarray of shape (m,)
        Non-negative, of sum 1.

    References
    ----------
    Dempster, Laird, Rubin. Maximum likelihood from incomplete data via the EM
    algorithm. JRSS B 39 (1977).

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.weights import mixture_weights
    >>> mixture_weights(np.array([[0.9, 0.9], [0.1, 0.1]]), prior=0.0).round(3)
    array([1., 0.])
    """
    m, n = likelihoods.shape
    row_weights = np.ones(n) if weights is None else weights
    b = np.full(m, 1 / m)
    for _ in range(max_iter):
        shares = b[:, None] * likelihoods
        shares /= shares.sum(axis=0)
        new = shares @ row_weights + prior / m
        new /= new.sum()
        moved, b = np.abs(new - b).max(), new
        if moved < 1e-7:
            break
    return b

"""Prediction intervals from what was predicted out of fold: CV+."""

import numpy as np

from adakern._utils.blocks import row_blocks

__all__ = ["cv_plus"]


def cv_plus(fold_predictions, residuals, fold, coverage):
    """Bounds that hold a new target with probability ``coverage``.

    With ``alpha = 1 - coverage`` the lower bound is the ``floor(alpha (n + 1))``-th
    smallest of ``mu_k(i)(x) - r_i`` over the training rows i, where ``mu_k(i)`` was
    learned without the fold of row i and ``r_i`` is that row's absolute residual; the
    upper bound mirrors it. Whatever the distribution, the coverage is at least
    ``1 - 2 alpha``, less a term that vanishes as folds grow; usually ``1 - alpha``.

    Parameters
    ----------
    fold_predictions : ndarray of shape (n_folds, n_new)
    residuals : ndarray of shape (n,)
        Absolute, out of fold.
    fold : ndarray of shape (n,)
        The fold of each training row.
    coverage : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (n_new, 2)
        Lower and upper bounds; infinite where n is too small for the coverage.

    References
    ----------
    Barber, Candès, Ramdas, Tibshirani. Predictive inference with the jackknife+.
    Annals of Statistics 49 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.adaptive.intervals import cv_plus
    >>> residuals = np.arange(1.0, 10.0)
    >>> cv_plus(np.zeros((1, 1)), residuals, np.zeros(9, dtype=int), coverage=0.8)
    array([[-8.,  8.]])
    """
    n = len(residuals)
    # Rounding up first: 0.1 * 10 is meant where (1 - 0.9) * 10 falls just short of 1.
    rank = int(np.floor(round((1 - coverage) * (n + 1), 9)))
    n_new = fold_predictions.shape[1]
    bounds = np.empty((n_new, 2))
    if rank < 1:
        bounds[:] = -np.inf, np.inf
        return bounds
    for rows in row_blocks(n_new, 16 * n):
        centres = fold_predictions[fold, rows].T
        bounds[rows, 0] = np.partition(centres - residuals, rank - 1, axis=1)[
            :, rank - 1
        ]
        bounds[rows, 1] = np.partition(centres + residuals, n - rank, axis=1)[
            :, n - rank
        ]
    return bounds

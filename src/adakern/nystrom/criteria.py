"""Kernel selection criteria: functions of a (factored) kernel matrix, to be minimised.

Each takes ``(kernel, Y, ridge)``: a factored kernel of ``adakern.nystrom.factors`` (or
anything with the same four methods), targets Y of shape (l, q) and the ridge mu, and
returns a number; several target columns are averaged. With ``A = K + mu l I``:
"""

import numpy as np

from adakern.linalg import left_out_residuals

__all__ = ["CRITERIA"]


def ridge_risk(kernel, Y, ridge):
    """``mu y' A^{-1} y``: the regularised empirical risk at its minimum.

    Ding et al. (2019), equation 1. Approximate values are never below exact ones
    for a Nyström approximation.
    """
    return ridge * np.sum(Y * kernel.solve(Y, ridge * len(Y))) / Y.shape[1]


def leave_one_out(kernel, Y, ridge):
    """Mean squared leave-one-out error of kernel ridge regression."""
    shift = ridge * len(Y)
    dual, diagonal = kernel.solve(Y, shift), kernel.inverse_diagonal(shift)
    return np.mean(left_out_residuals(dual, diagonal) ** 2)


def generalised_cross_validation(kernel, Y, ridge):
    """Golub, Heath and Wahba's GCV: ``l |A^{-1} y|^2 / (tr A^{-1})^2``."""
    shift = ridge * len(Y)
    residual = np.sum(kernel.solve(Y, shift) ** 2) / Y.shape[1]
    return len(Y) * residual / kernel.inverse_diagonal(shift).sum() ** 2


def alignment(kernel, Y, ridge):
    """One minus the centred kernel-target alignment (Cortes et al. 2012).

    ``<HKH, YY'> / (|HKH|_F |HYY'H|_F)``; the ridge plays no part. 1 for a kernel that
    is constant.
    """
    centred = Y - Y.mean(axis=0)
    scale = kernel.centred_norm() * np.linalg.norm(centred.T @ centred)
    if scale <= np.finfo(float).eps * len(Y):
        return 1.0
    return 1 - np.sum(centred * kernel.multiply(centred)) / scale


#: The criteria by the names that estimators take.
CRITERIA = {
    "ridge-risk": ridge_risk,
    "loo": leave_one_out,
    "gcv": generalised_cross_validation,
    "alignment": alignment,
}

"""Models for other values of C that need no fit.

Along C the dual variables of a classifier follow a path that is linear piece by piece
(Hastie, Rosset, Tibshirani and Zhu, The entire regularization path for the support
vector machine, JMLR 5, 2004). Its first and its last piece are known from any of their
points.
"""

from copy import copy

import numpy as np

#: Of C: what a variable at its bound may have lost to rounding.
ROUNDING = 1e-9


def is_constant_above(model):
    """Whether the model is the solution for every greater C too.

    No dual variable is at its bound, so that a greater one changes nothing.
    """
    return not _at_bound(model).any()


def saturated_classes(model, n_rows):
    """The class of each pair all rows of which are at their bound.

    The constraint ``sum(y alpha) = 0`` then leaves the sum of the variables of the
    other class no choice, so that the linear term of the dual is constant and a
    quadratic form remains. In a box that is smaller by a factor its minimum is smaller
    by that factor: where every pair has such a class, :func:`scaled_to` gives the
    models of all smaller C.
    """
    starts = np.cumsum(model.n_support_) - model.n_support_
    # Of each class (columns) in its pairs with the others (rows).
    n_bound = np.add.reduceat(_at_bound(model), starts, axis=1, dtype=int)
    first, second = np.triu_indices(len(n_rows), 1)
    all_first = n_bound[second - 1, first] == n_rows[first]
    all_second = n_bound[first, second] == n_rows[second]
    signs = all_first.astype(float) - all_second
    return np.where(all_first | all_second, signs, np.nan)


def scaled_to(model, C, saturated):
    """The model of a smaller C, from one with a saturated class in every pair.

    With f = g + b, g the kernel expansion, the margins of the other class stay on
    their side of one in r g + b', r the ratio of the two C and s the sign of the
    saturated class, for b' = r (b + s) - s; those of the saturated class stay below
    one. Where both are saturated b' = r b keeps LIBSVM's middle of what is allowed.
    """
    smaller, ratio = copy(model).set_params(C=C), C / model.C
    # In LIBSVM the first class of a pair is the positive one, whatever SVC tells.
    intercept = ratio * (model._intercept_ + saturated) - saturated
    smaller._intercept_ = intercept
    smaller.intercept_ = -intercept if len(saturated) == 1 else intercept
    smaller._dual_coef_ = ratio * model._dual_coef_
    smaller.dual_coef_ = ratio * model.dual_coef_
    return smaller


def _at_bound(model):
    return np.abs(model.dual_coef_) >= model.C * (1 - ROUNDING)

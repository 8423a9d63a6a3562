"""Predictions of a model of LIBSVM from kernel values, by products of matrices.

LIBSVM goes through the support vectors of each row one by one, and through those of
each pair of classes again.
"""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import gen_batches

#: Decisions and copied kernel values in memory at once, 32 MiB.
VALUES_AT_ONCE = 2**22


def predict_from_gram(model, K):
    """The classes or values that the model predicts."""
    if not is_classifier(model) or len(model.classes_) == 2:
        coef = np.zeros(K.shape[1])
        coef[model.support_] = model.dual_coef_[0]
        predicted = K @ coef + model.intercept_[0]
        if is_classifier(model):
            return model.classes_[(predicted >= 0).astype(int)]
        return predicted
    per_row = len(model.classes_) ** 2 + len(model.support_)
    size = max(1, VALUES_AT_ONCE // per_row)
    votes = [_votes(model, K[rows]) for rows in gen_batches(len(K), size)]
    return model.classes_[np.hstack(votes).argmax(axis=0)]


def _votes(model, K):
    """Pairs of classes that each class wins, (number of classes, m).

    The rows of ``dual_coef_`` are the other classes: for a support vector of class i
    row j - 1 has its coefficient in the pair (i, j), i < j, and row i that of a support
    vector of class j.
    """
    n_classes = len(model.classes_)
    K = K[:, model.support_].T
    parts, start = np.empty((n_classes, n_classes - 1, K.shape[1])), 0
    for part, n_support in zip(parts, model.n_support_, strict=True):
        rows = slice(start, start + n_support)
        np.matmul(model.dual_coef_[:, rows], K[rows], out=part)
        start += n_support
    votes = np.zeros((n_classes, K.shape[1]), dtype=np.int32)
    start = 0
    for first in range(n_classes - 1):
        intercepts = model.intercept_[start : start + n_classes - 1 - first, None]
        start += len(intercepts)
        won = parts[first, first:] + parts[first + 1 :, first] > -intercepts
        votes[first] += np.count_nonzero(won, axis=0)
        votes[first + 1 :] += ~won
    return votes

"""One-vs-one multi-class classification, with the shapes of scikit-learn's SVC."""

from itertools import combinations
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import (
    as_index,
    as_numpy,
    encode_classes,
    output_like,
    require_finite,
    validate_arrays,
)
from adakern._utils.base import ScoreClassifierMixin
from adakern.linalg import principal_submatrix
from adakern.svm.probability import fit_sigmoids


class OneVsOneMixin(ScoreClassifierMixin):
    """Decisions of classifiers made of one binary model for each pair of classes.

    ``models_`` are in the order of ``itertools.combinations``, ``pair_rows_`` are the
    training rows of each. A model has ``decision_function(X) -> (n,)``, positive for
    the second class of the pair, as in SVC; with a precomputed kernel X holds the
    kernel values between new rows and the rows of the pair.
    """

    def _pair_decisions(self, X):
        """Decision values of every pair, shape (n, n_pairs)."""
        check_is_fitted(self, "models_")
        X = validate_arrays(self, X)
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        decisions = [
            as_numpy(model.decision_function(as_numpy(X)[:, rows] if pairwise else X))
            for model, rows in zip(self.models_, self.pair_rows_, strict=True)
        ]
        return require_finite(self, np.column_stack(decisions))

    def decision_function(self, X: ArrayLike) -> Any:
        """Decision values for two classes, votes for more.

        The votes are those of scikit-learn's SVC: the number of pairs won, with ties
        broken by the sum of confidences.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) if the kernel is precomputed

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
        """
        decisions = self._pair_decisions(X)
        if len(self.classes_) == 2:
            return output_like(decisions[:, 0], X)
        # As in SVC, the second class of a pair wins if the decision value is positive.
        return output_like(
            _ovr_decision_function(decisions > 0, decisions, len(self.classes_)), X
        )


def one_or_list(models, name):
    """Attribute of the models, as a list if there are several."""
    values = [getattr(model, name) for model in models]
    return values[0] if len(values) == 1 else values


def fit_pairs(estimator, X, y, rows, weights, fit_model):
    """Fit ``models_`` to the pairs of classes, and sigmoids if ``probability`` is set.

    ``fit_model(estimator, X, labels, weights)`` returns the model of a pair, whose
    labels are 1.0 for the second class and -1.0 for the first.
    """
    estimator.classes_, codes = encode_classes(estimator, y[rows])
    used = rows_of(estimator, X, rows)
    estimator._resolve_kernel(used, weights)
    estimator.pair_rows_ = []
    estimator.models_ = []
    for first, second in combinations(range(len(estimator.classes_)), 2):
        pair = np.flatnonzero((codes == first) | (codes == second))
        labels = np.where(codes[pair] == second, 1.0, -1.0)
        of_pair = None if weights is None else weights[pair]
        part = rows_of(estimator, X, rows[pair])
        estimator.pair_rows_.append(rows[pair])
        estimator.models_.append(fit_model(estimator, part, labels, of_pair))
    if getattr(estimator, "probability", False):
        estimator.calibrators_ = fit_sigmoids(estimator, used, codes, weights)


def rows_of(estimator, X, rows):
    """Select rows of X; if the kernel is precomputed, also the same columns."""
    if estimator.__sklearn_tags__().input_tags.pairwise:
        return principal_submatrix(X, as_index(rows, X))
    if np.array_equal(rows, np.arange(X.shape[0])):
        return X  # With two classes the data are not copied.
    return array_namespace(X).take(X, as_index(rows, X), axis=0)


def support_rows(pair_rows, models):
    """Sorted indices of the support vectors of any model."""
    pairs = zip(pair_rows, models, strict=True)
    return np.unique(np.concatenate([rows[m.support] for rows, m in pairs]))

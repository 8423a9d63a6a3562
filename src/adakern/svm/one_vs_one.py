"""One-vs-one multi-class classification, with the shapes of scikit-learn's SVC."""

from itertools import combinations
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import as_index, as_numpy, output_like, validate_arrays
from adakern._utils.base import ScoreClassifierMixin
from adakern._utils.validation import encode_classes, require_finite
from adakern.linalg import principal_submatrix


class OneVsOneMixin(ScoreClassifierMixin):
    """Mixin for classifiers made of one binary model per pair of classes.

    A subclass defines ``_fit_model(X, y)`` with y in {-1.0, +1.0}, which returns an
    object with ``decision_function(X) -> (n,)`` that is positive for +1, the second
    class of the pair, as in SVC. With a precomputed kernel, X is the Gram matrix of the
    pair's rows; for predictions, the kernel values between new rows and those rows.

    Fitted attributes: ``classes_``, ``models_`` (one per pair, in the order of
    ``itertools.combinations``) and ``pair_rows_`` (the training rows of each).
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit one binary model for each pair of classes.

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, n) if the kernel is precomputed
        y : array-like of shape (n,)
            Labels of two or more classes.
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y)
        X = self._own_arrays(X)
        self.classes_, codes = encode_classes(self, y)
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        self._prepare(X)
        self.models_, self.pair_rows_ = [], []
        for first, second in combinations(range(len(self.classes_)), 2):
            rows = np.flatnonzero((codes == first) | (codes == second))
            signs = np.where(codes[rows] == second, 1.0, -1.0)
            self.models_.append(self._fit_model(_take(X, rows, pairwise), signs))
            self.pair_rows_.append(rows)
        self._collect()
        return self

    def _prepare(self, X):
        """Set what depends on all rows, such as gamma, before the models are fitted."""

    def _collect(self):
        """Set fitted attributes from ``models_``; called after they are fitted."""

    def _support_rows(self):
        """Sorted indices of the support vectors of any model."""
        pairs = zip(self.pair_rows_, self.models_, strict=True)
        return np.unique(np.concatenate([rows[m.support] for rows, m in pairs]))

    def _own_arrays(self, X):
        """X as a NumPy array; subclasses that support other array libraries keep X."""
        return as_numpy(X)

    def _pair_decisions(self, X):
        """Decision values of every pair, shape (n, n_pairs)."""
        check_is_fitted(self, "models_")
        X = self._own_arrays(validate_arrays(self, X))
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        decisions = [
            as_numpy(model.decision_function(X[:, rows] if pairwise else X))
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


def _take(X, rows, pairwise):
    if pairwise:
        return principal_submatrix(X, as_index(rows, X))
    if len(rows) == X.shape[0]:
        return X  # With two classes the data are not copied.
    return array_namespace(X).take(X, as_index(rows, X), axis=0)

"""Class probabilities from decision values, by sigmoids (Platt 1999)."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.calibration import _SigmoidCalibration
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils.metaestimators import _safe_split, available_if
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import as_numpy, output_like

#: Number of folds for the decision values to which the sigmoids are fitted. There are
#: fewer if a class has fewer rows.
FOLDS = 5


def fit_sigmoids(estimator, X, codes, weights=None):
    """Fit sigmoids to cross-validated decision values.

    There is one sigmoid for two classes; otherwise, there is one per class.
    """
    X = as_numpy(X)
    if weights is not None:
        # The only row of a class cannot be left out with all its copies.
        halved = (np.bincount(codes)[codes] == 1) & (weights >= 2)
        rows = np.append(np.arange(len(codes)), np.flatnonzero(halved))
        X, codes = _safe_split(estimator, X, codes, rows)
        weights = np.where(halved, weights / 2, weights)[rows]
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        raise ValueError(
            f"probability=True needs at least 2 rows per class, got {smallest}; use "
            "probability=False, or drop this class"
        )
    left_out = cross_val_predict(
        clone(estimator).set_params(probability=False),
        X,
        codes,
        cv=StratifiedKFold(min(FOLDS, smallest)),
        method="decision_function",
        params=None if weights is None else {"sample_weight": weights},
    )
    values = left_out.reshape(len(codes), -1)
    first = 1 if values.shape[1] == 1 else 0
    return [
        _SigmoidCalibration().fit(column, codes == label, weights)
        for label, column in enumerate(values.T, start=first)
    ]


class SigmoidProbabilityMixin:
    """``predict_proba`` by the sigmoids in ``calibrators_``."""

    @available_if(lambda self: self.probability)
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict class probabilities by sigmoids of the decision values.

        The sigmoids are fitted to cross-validated decision values (five stratified
        folds without shuffling), as in ``CalibratedClassifierCV(ensemble=False)``. The
        predicted class may differ from the most probable one.

        Parameters
        ----------
        X : array-like of shape (m, d), or (m, n) if the kernel is precomputed

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        check_is_fitted(self, "calibrators_")
        values = as_numpy(self.decision_function(X))
        columns = values.reshape(len(values), -1).T
        found = [
            sigmoid.predict(column)
            for sigmoid, column in zip(self.calibrators_, columns, strict=True)
        ]
        if len(found) == 1:
            return output_like(np.column_stack([1 - found[0], found[0]]), X)
        shares = np.column_stack(found)
        total = shares.sum(axis=1, keepdims=True)
        even = np.full_like(shares, 1 / len(found))
        return output_like(np.divide(shares, total, out=even, where=total > 0), X)

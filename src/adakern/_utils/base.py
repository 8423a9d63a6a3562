"""Base classes of classifiers, in addition to scikit-learn's."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from adakern._utils.arrays import as_numpy, output_like


class ScoreClassifierMixin(ClassifierMixin):
    """Mixin for classifiers that predict by the sign or maximum of decision values."""

    def predict(self, X: ArrayLike) -> Any:
        """Predict the class of each row of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, m) if the kernel is precomputed
        """
        scores = as_numpy(self.decision_function(X))
        codes = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return output_like(self.classes_[codes.astype(int)], X)

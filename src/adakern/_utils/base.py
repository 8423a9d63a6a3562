"""What classifiers share beside scikit-learn's base classes."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from adakern._utils.arrays import as_numpy, output_like


class ScoreClassifierMixin(ClassifierMixin):
    """A classifier whose ``decision_function`` decides: its sign, or the greatest
    score.
    """

    def predict(self, X: ArrayLike) -> Any:
        """The class of each row of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d), or (n, m) where the kernel is precomputed
        """
        scores = as_numpy(self.decision_function(X))
        codes = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return output_like(self.classes_[codes.astype(int)], X)

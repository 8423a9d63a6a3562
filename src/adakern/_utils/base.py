"""What classifiers share beside scikit-learn's base classes."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin


class ScoreClassifierMixin(ClassifierMixin):
    """A classifier whose ``decision_function`` decides: its sign, or the greatest score."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The class of each row of X, shape (n,).

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        scores = self.decision_function(X)
        codes = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes.astype(int)]

"""Classification by regressions on the indicators of the classes."""

import numpy as np
from numpy.typing import ArrayLike

from adakern._utils.base import ScoreClassifierMixin
from adakern._utils.validation import encode_classes


class IndicatorClassifierMixin(ScoreClassifierMixin):
    """A classifier whose ``_values(X)`` are regressions on ``_targets(y)``."""

    def _targets(self, y):
        """1 in the column of each row's class, 0 in the others."""
        self.classes_, codes = encode_classes(self, y)
        return np.eye(len(self.classes_))[codes]

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """The values of the regressions; for two classes the difference of theirs.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
        """
        values = self._values(X)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

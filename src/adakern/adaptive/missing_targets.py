"""Members for several targets with missing values."""

from copy import copy

import numpy as np

from adakern.adaptive.members.base import Member, copy_or_constant


class ByPattern(Member):
    """Copies of a member, one per group of targets that are known in the same rows.

    Each copy is fitted to the rows in which its group is known, as if there were no
    other targets. ``columns`` are the indices of the targets of each group. ``mean``
    (t,) is the prediction for targets that are missing in all rows of a fit. ``Y`` (n,
    t) are the targets, with NaN for missing values.
    """

    def __init__(self, like, Y):
        super().__init__(name=like.name, rank=like.rank, setting=like.setting)
        self.refit = like.refit
        self.slope = like.slope
        _, pattern = np.unique(np.isnan(Y), axis=1, return_inverse=True)
        self.columns = [np.flatnonzero(pattern == p) for p in range(pattern.max() + 1)]
        self.parts = [like] * len(self.columns)
        self.mean = np.nanmean(Y, axis=0)

    def in_fold(self, whole):
        """Return a copy whose parts are those to be fitted in folds."""
        wholes = [None] * len(self.parts) if whole is None else whole.parts
        fold = copy(self)
        fold.parts = [
            part.in_fold(model) if part.in_fold else part
            for part, model in zip(self.parts, wholes, strict=True)
        ]
        return fold

    def _groups(self, Y):
        """Yield each copy, its targets, and the rows in which they are known."""
        for part, columns in zip(self.parts, self.columns, strict=True):
            yield part, columns, ~np.isnan(Y[:, columns[0]])

    def fit(self, X, Y, weights):
        parts = []
        for part, columns, known in self._groups(Y):
            rows = X[known]
            targets = Y[known][:, columns]
            mass = weights[known]
            if not known.any():
                rows = X[:1]
                targets = self.mean[None, columns]
                mass = weights[:1]
            parts.append(copy_or_constant(part, rows, targets).fit(rows, targets, mass))
        self.parts = parts
        return self

    def predict(self, X):
        return self._concatenate(len(X), [part.predict(X) for part in self.parts])

    def _concatenate(self, n, values):
        """Join the values of all groups, shape (n, t)."""
        joined = np.empty((n, len(self.mean)))
        for columns, group_values in zip(self.columns, values, strict=True):
            joined[:, columns] = group_values
        return joined

    @property
    def predict_left_out(self):
        """Method for leave-one-out predictions, if all parts have one."""
        has_it = all(part.predict_left_out for part in self.parts)
        return self._left_out if has_it else None

    def _left_out(self, X, Y, weights):
        """Leave-one-out predictions, or ordinary ones where the target is missing."""
        values = []
        for part, columns, known in self._groups(Y):
            predicted = part.predict(X)
            given = X[known], Y[known][:, columns], weights[known]
            predicted[known] = part.predict_left_out(*given)
            values.append(predicted)
        return self._concatenate(len(X), values)

"""
Compare your own method
=======================

Any class with ``fit`` and ``predict`` can be compared with the library's estimators, on
the same splits and with a test that corrects for the overlap of training parts. For
many methods and data sets, the workflow does the same from a YAML file.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.model_selection import ShuffleSplit, cross_val_score

from adakern import AdaptiveKernelRegressor
from adakern.evaluation import compare_methods


class MeanOfNeighbours(RegressorMixin, BaseEstimator):
    """Mean target of the nearest rows, with features scaled by their deviations."""

    def __init__(self, n_neighbours=15):
        self.n_neighbours = n_neighbours

    def fit(self, X, y):
        """Store the rows."""
        self.scale_ = X.std(axis=0)
        self.X_, self.y_ = X / self.scale_, y
        return self

    def predict(self, X):
        """Predict the mean target over the neighbours of each row."""
        differences = (X / self.scale_)[:, None] - self.X_
        nearest = np.argsort((differences**2).sum(axis=2), axis=1)[
            :, : self.n_neighbours
        ]
        return self.y_[nearest].mean(axis=1)


X, y = load_diabetes(return_X_y=True)
splits = ShuffleSplit(n_splits=5, test_size=0.33, random_state=0)
methods = {
    "mine": MeanOfNeighbours(),
    "flagship": AdaptiveKernelRegressor(members=["linear", "rbf"], random_state=0),
}
scores = {
    name: cross_val_score(method, X, y, cv=splits, scoring="r2")
    for name, method in methods.items()
}
n_train, n_test = (len(rows) for rows in next(splits.split(X)))
(pair,) = compare_methods(scores, n_train=n_train, n_test=n_test)
print(f"corrected p = {pair.corrected_pvalue:.3g}; better: {pair.winner or 'neither'}")

# %%
# Each line is a split:
plt.plot(list(scores), np.array(list(scores.values())), "o-", color="0.4")
plt.ylabel("R² on the test part")

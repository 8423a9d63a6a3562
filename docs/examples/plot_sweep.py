"""
A sweep over a parameter
========================

What a sweep of the workflow does for one data set: the same splits for every value, the
mean over repeats. In an experiment's file it is ``sweep: {dank: {tau: [0.001, 0.1]}}``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from adakern import DANKClassifier

X, y = load_wine(return_X_y=True)
splits = StratifiedShuffleSplit(n_splits=3, test_size=0.5, random_state=0)
gammas = np.logspace(-1, 1, 3)
for eta in ("svm", 10.0):
    means = [
        cross_val_score(
            make_pipeline(MinMaxScaler(), DANKClassifier(C=4.0, gamma=g, eta=eta)),
            X,
            y,
            cv=splits,
        ).mean()
        for g in gammas
    ]
    plt.semilogx(gammas, means, "o-", label=f"eta = {eta}")
plt.xlabel("gamma")
plt.ylabel("accuracy")
plt.legend()

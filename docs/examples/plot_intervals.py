"""
Calibrated prediction intervals
===============================

The flagship predicts intervals. On new rows of the same distribution they should
contain the target as often as requested.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from adakern import AdaptiveKernelRegressor

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
model = AdaptiveKernelRegressor(n_folds=3, random_state=0).fit(X_train, y_train)
asked = np.array([0.5, 0.7, 0.9])
found = []
for coverage in asked:
    lower, upper = np.asarray(model.predict_interval(X_test, coverage=coverage)).T
    found.append(np.mean((lower <= y_test) & (y_test <= upper)))
plt.plot(asked, found, "o")
plt.plot([0.5, 1], [0.5, 1], "--", color="0.6")
plt.xlabel("requested coverage")
plt.ylabel("coverage on test rows")

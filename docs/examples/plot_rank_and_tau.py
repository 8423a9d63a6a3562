"""
Rank of F against tau
=====================

The weight tau of the nuclear norm reduces the rank of F, while the accuracy
hardly changes.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from adakern import DANKClassifier

X, y = load_breast_cancer(return_X_y=True)
X = MinMaxScaler().fit_transform(X)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=150, random_state=0
)

taus = [0.001, 0.01, 0.1, 1.0]
models = [
    DANKClassifier(C=8.0, gamma=0.5, tau=tau).fit(X_train, y_train) for tau in taus
]
figure, axis = plt.subplots(layout="constrained")
axis.semilogx(taus, [model.rank_ for model in models], "o-")
axis.set(xlabel="tau", ylabel="rank of F")
print([round(model.score(X_test, y_test), 3) for model in models])

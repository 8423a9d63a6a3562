"""
Decomposed DANK on 100,000 rows
===============================

Clustering divides the problem into small ones; a new row is predicted by the model of
its cluster.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification

from adakern import DANKClassifier

X, y = make_classification(n_samples=110_000, n_features=8, random_state=0)
sizes, seconds, scores = [10_000, 30_000, 100_000], [], []
for n in sizes:
    model = DANKClassifier(
        gamma=0.1, strategy="decomposed", tau=0.0, n_clusters=n // 500, random_state=0
    )
    start = time.perf_counter()
    model.fit(X[:n], y[:n])
    seconds.append(time.perf_counter() - start)
    scores.append(model.score(X[100_000:102_000], y[100_000:102_000]))
plt.loglog(sizes, seconds, "o-")
plt.xlabel("training rows")
plt.ylabel("time to fit (s)")
print([round(score, 3) for score in scores])

"""
Nyström samplers
================

The error of a low-rank approximation of the Gram matrix depends on the choice of its
columns.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from adakern import CriterionNystroem

X = StandardScaler().fit_transform(load_wine().data)
K = rbf_kernel(X, gamma=0.05)
sizes = [10, 20, 40, 80]
for selection in ("uniform", "column-norm", "rpcholesky"):
    errors = []
    for size in sizes:
        map_ = CriterionNystroem(
            gamma=0.05, n_components=size, selection=selection, random_state=0
        )
        features = map_.fit_transform(X)
        errors.append(np.linalg.norm(K - features @ features.T) / np.linalg.norm(K))
    plt.semilogy(sizes, errors, "o-", label=selection)
plt.xlabel("columns")
plt.ylabel("relative error")
plt.legend()

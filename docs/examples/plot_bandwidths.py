"""
Learned bandwidths of LAB RBF
=============================

The function sin(2 x^3) varies slowly on the left and fast on the right. Each support
point has its own bandwidth, which adapts to the local frequency.
"""

import matplotlib.pyplot as plt
import numpy as np

from adakern import LABRBFRegressor
from adakern.datasets import make_sin_2x3

X, y = make_sin_2x3(n=200, random_state=0)
model = LABRBFRegressor(max_support=20, random_state=0).fit(X, y)

figure, (above, below) = plt.subplots(2, 1, sharex=True, layout="constrained")
order = np.argsort(X[:, 0])
above.plot(X[order], y[order], color="0.6", label="function")
above.plot(X[order], model.predict(X)[order], "--", label="LAB RBF, 20 support points")
above.legend()
below.semilogy(X[model.support_, 0], model.bandwidths_[:, 0], "o")
below.set(xlabel="x", ylabel="bandwidth of the support point")

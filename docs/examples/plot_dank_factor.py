"""
The kernel correction F of DANK
===============================

F multiplies the Gram matrix entry by entry. It is shown with the rows sorted by class
and by their side of the boundary. The smaller eta, the further F may differ from one;
with the rule of Liu et al. it would stay within two per cent of one here.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import MinMaxScaler

from adakern import DANKClassifier
from adakern.datasets import make_clowns

X, y = make_clowns(n=120, random_state=0)
X = MinMaxScaler().fit_transform(X)
model = DANKClassifier(C=8.0, gamma=2.0, eta=0.1).fit(X, y)

factor = model.adaptive_factor_
F = factor @ factor.T
order = np.lexsort((model.decision_function(X), y))
image = plt.imshow(F[np.ix_(order, order)], cmap="RdBu_r", vmin=0.6, vmax=1.4)
plt.colorbar(image, label="entry of F")
plt.title(f"rank {model.rank_}, duality gap {model.duality_gap_:.0e}")

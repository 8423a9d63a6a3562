"""
What the model relies on: importances and partial dependence
============================================================

The model takes the original columns, categories included, and so do explanations of it:
the share of each column, and the mean prediction as one column varies.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.inspection import PartialDependenceDisplay

from adakern import AdaptiveKernelRegressor
from adakern.adaptive import plot_adaptive

rng = np.random.default_rng(0)
flats = pd.DataFrame(
    {
        "area": rng.uniform(20, 120, 300),
        "floor": rng.integers(0, 8, 300).astype(float),
        "district": rng.choice(["centre", "north", "south"], 300),
    }
)
in_centre = flats["district"] == "centre"
rent = 9 * flats["area"] ** 0.9 + 250 * in_centre + rng.normal(0, 40, 300)
model = AdaptiveKernelRegressor(preset="fast", random_state=0).fit(flats, rent)

# %%
# Importance: how much worse the predictions of left-out rows get when the column is
# permuted, as a share of all columns' sum. Beside it, the weights of the members.
plot_adaptive(model)

# %%
# Partial dependence, with scikit-learn:
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
PartialDependenceDisplay.from_estimator(
    model,
    flats,
    ["area", "floor", "district"],
    categorical_features=["district"],
    grid_resolution=20,
    ax=axes,
)

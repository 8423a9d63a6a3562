"""
Importances, partial dependence and Shapley values
==================================================

The model is fitted on the original columns, categories included, and so its
explanations are in terms of these: the importance of each column, the mean prediction
as a function of one column, and SHAP values.
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
# Importance: each column in turn is permuted among up to 500 rows, which are predicted
# out of fold. The increase of the loss (squared error, or log loss of a classifier),
# divided by the sum over the columns, is the importance of the column. The second panel
# has the weights of the members.
plot_adaptive(model)

# %%
# Partial dependence, with scikit-learn: the mean prediction if all rows had the same
# value in one column.
figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
columns = {
    "features": ["area", "floor", "district"],
    "categorical_features": ["district"],
}
PartialDependenceDisplay.from_estimator(
    model, flats, **columns, grid_resolution=20, ax=axes
)

# %%
# The contribution of each column to one prediction: Shapley values, which sum to the
# difference from the mean prediction. ``plot()`` draws all rows.
found = model.explain(flats[:5])
found.plot(0)

# %%
# The package `shap` computes such values for any model. adakern does not need it and
# this page does not run it. It predicts arrays, which first need names and types again.
# With shap 0.51:
#
# .. code-block:: python
#
#    import shap
#
#    def predict(rows):
#        frame = pd.DataFrame(rows, columns=flats.columns)
#        return model.predict(frame.astype(flats.dtypes))
#
#    shap.KernelExplainer(predict, flats[:50]).shap_values(flats[:5]).round()
#    # [[  61.   -0.  -90.]
#    #  [-137.   -5.  -83.]
#    #  ...
#
# Relative to the mean prediction of the fifty flats, the area of the first one adds 61
# to its rent, and its district subtracts 90. The explainers with maskers, such as
# ``shap.Explainer(predict, flats)``, subtract cells, which raises a ``TypeError`` for
# text. They accept a function instead of the data frame:
#
# .. code-block:: python
#
#    def masker(mask, row):
#        rows = flats[:50].to_numpy()
#        rows[:, mask] = row[mask]
#        return (rows,)
#
#    shap.explainers.Exact(predict, masker)(flats[:5].to_numpy())

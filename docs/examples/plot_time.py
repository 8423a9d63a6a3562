"""
Data ordered in time
====================

Prices in 12 shops over 96 weeks, with a common level that drifts. New rows will be
later, whereas a random split tests on weeks between the training weeks.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from adakern import AdaptiveKernelRegressor

rng = np.random.default_rng(7)
table = pd.DataFrame({"week": np.repeat(np.arange(96), 12)})
table["shop"] = np.tile([f"shop {k}" for k in range(12)], 96)
table["size"] = rng.uniform(0, 1, 1152).round(2)
level = 0.4 * np.cumsum(rng.standard_normal(96))
price = 20 + 5 * table["size"] + level[table["week"]] + 0.4 * rng.standard_normal(1152)
old, new = table["week"] < 80, table["week"] >= 80

# %%
# With ``time``, three blocks, each a fifth of the rows, are predicted from earlier
# rows. They determine the weights of the members and the widths of intervals; then all
# rows are used. Intervals are valid for about the length of a block: 16 weeks here.
models = {"folds at random": {}, "time=week": {"time": table["week"][old]}}
figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.5))
warnings.filterwarnings("ignore", "192 rows unlike")  # later weeks, as expected
for ax, (name, given) in zip(axes, models.items(), strict=True):
    model = AdaptiveKernelRegressor(preset="fast", random_state=0)
    model.fit(table[old], price[old], **given)
    low, high = model.predict_interval(table[new], coverage=0.9).T
    held = np.mean((low <= price[new]) & (price[new] <= high))
    bounds = pd.DataFrame({"low": low, "high": high, "true": price[new]})
    weekly = bounds.groupby(table["week"][new].to_numpy()).mean()
    ax.plot(price.groupby(table["week"]).mean(), color="0.6", label="true, mean")
    ax.fill_between(weekly.index, weekly["low"], weekly["high"], alpha=0.4)
    ax.set_title(f"{name}: R² {model.oof_score_:.2f}, coverage {held:.0%}")
    ax.set_xlabel("week")
axes[0].set_ylabel("price, mean of the shops")
figure.tight_layout()
plt.show()

# %%
# Coverage on a single series is not informative. Over 20 such series:
held = {name: [] for name in models}
for seed in range(20):
    rng = np.random.default_rng(seed)
    level = 0.4 * np.cumsum(rng.standard_normal(96))[table["week"]]
    price = 20 + 5 * table["size"] + level + 0.4 * rng.standard_normal(1152)
    for name, given in models.items():
        model = AdaptiveKernelRegressor(members=["linear"])
        model.fit(table[old], price[old], **given)
        low, high = model.predict_interval(table[new], coverage=0.9).T
        held[name].append(np.mean((low <= price[new]) & (price[new] <= high)))
for name, shares in held.items():
    print(f"{name}: {np.mean(shares):.0%} on average, {min(shares):.0%} at least")

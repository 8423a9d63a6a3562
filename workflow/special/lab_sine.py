"""Figure 1 of the LAB RBF paper: sin(2 x^3), with the learned bandwidths over x."""

import numpy as np
import pandas as pd
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score

from adakern.lab import LABRBFRegressor
from shared import axes_grid

#: Ridge of all three regressions, the authors' for LAB RBF.
ALPHA = 1e-3

#: The paper's method: interpolation, every support point trained on its own.
PAPER = {"alpha": ALPHA, "bandwidth": "global", "variant": "paper", "max_iter": 1500}


def compute(data, seed, *, support=40, wide=20.0, narrow=100.0):
    """Fits of one curve with global and with trained bandwidths."""
    X, y = data.X_train, data.y_train
    order = np.argsort(X[:, 0])
    centres = order[np.linspace(0, len(y) - 1, support).round().astype(int)]
    models = {
        f"global, gamma = {gamma:g}": KernelRidge(kernel="rbf", gamma=gamma, alpha=ALPHA).fit(
            X[centres], y[centres]
        )
        for gamma in (wide, narrow)
    }
    local = LABRBFRegressor(max_support=support, growth=5, random_state=seed, **PAPER)
    models["local"] = local.fit(X, y)
    frames = [_curve("truth", data.X_test, data.y_test, 1.0)]
    for name, model in models.items():
        fitted = model.predict(data.X_test)
        frames.append(_curve(name, data.X_test, fitted, r2_score(data.y_test, fitted)))
    bandwidths = local.bandwidths_[:, 0]
    frames.append(_curve("bandwidth", local.support_vectors_, bandwidths, np.nan))
    return pd.concat(frames, ignore_index=True)


def _curve(model, X, value, r2):
    frame = pd.DataFrame({"model": model, "x": X[:, 0], "value": value, "r2": r2})
    return frame.sort_values("x")


def plot(frame):
    """Three fits above each other over the truth, and the learned bandwidths."""
    curves = dict(tuple(frame.groupby("model", sort=False)))
    truth, bandwidths = curves.pop("truth"), curves.pop("bandwidth")
    figure, axes = axes_grid(len(curves) + 1, 1, width=7.0, height=2.0)
    for axis, (name, curve) in zip(axes, curves.items(), strict=False):
        axis.plot(truth["x"], truth["value"], color="0.7", lw=3, label="truth")
        axis.plot(curve["x"], curve["value"], lw=1, label=name)
        axis.set_title(f"{name}: R² = {curve['r2'].iloc[0]:.4f}", fontsize="medium")
        axis.set_ylim(-1.6, 1.6)
    axes[-1].plot(bandwidths["x"], bandwidths["value"], "o", ms=4)
    axes[-1].set_title("learned bandwidth of each support point", fontsize="medium")
    axes[-1].set(ylabel="θ", xlabel="x, as scaled for the fit")
    return figure


def table(frame):
    """R2 of the three fits on the test rows."""
    fits = frame[~frame["model"].isin(["truth", "bandwidth"])]
    return fits.groupby(["dataset", "model"], sort=False)["r2"].first().reset_index()

"""Figure 1 of the LAB RBF paper: sin(2 x^3), with the learned bandwidths over x."""

import numpy as np
import pandas as pd
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score

from adakern.lab import LABRBFRegressor
from adakern_bench.report.figures import grid

#: Regularisation of all three regressions, the authors' value for LAB RBF.
ALPHA = 1e-3

#: The paper's method: interpolation, with a bandwidth trained for every support point.
PAPER = {"alpha": ALPHA, "bandwidth": "global", "variant": "paper", "max_iter": 1500}


def compute(data, seed, *, support=40, wide=20.0, narrow=100.0):
    """Fit one curve with global and with learned bandwidths."""
    X = data.X_train
    y = data.y_train
    order = np.argsort(X[:, 0])
    centres = order[np.linspace(0, len(y) - 1, support).round().astype(int)]
    models = {}
    for gamma in (wide, narrow):
        ridge = KernelRidge(kernel="rbf", gamma=gamma, alpha=ALPHA)
        models[f"global, gamma = {gamma:g}"] = ridge.fit(X[centres], y[centres])
    local = LABRBFRegressor(max_support=support, growth=5, random_state=seed, **PAPER)
    models["local"] = local.fit(X, y)
    values = {name: model.predict(data.X_test) for name, model in models.items()}
    values = {"truth": data.y_test} | values
    r2 = {name: r2_score(data.y_test, value) for name, value in values.items()}
    curves = {name: (data.X_test, value) for name, value in values.items()}
    curves["bandwidth"] = (local.support_vectors_, local.bandwidths_[:, 0])
    frames = [
        pd.DataFrame({"model": name, "x": X[:, 0], "value": value}).sort_values("x")
        for name, (X, value) in curves.items()
    ]
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(r2=frame["model"].map(r2))


def plot(frame):
    """Plot three fits, one above the other, with the true function, and the
    bandwidths.
    """
    curves = dict(tuple(frame.groupby("model", sort=False)))
    truth = curves.pop("truth")
    bandwidths = curves.pop("bandwidth")
    figure, axes = grid(len(curves) + 1, 1, 7.0, 2.0)
    for axis, (name, curve) in zip(axes.flat, curves.items(), strict=False):
        axis.plot(truth["x"], truth["value"], color="0.7", lw=3)
        axis.plot(curve["x"], curve["value"], lw=1)
        axis.set(title=f"{name}: R² = {curve['r2'].iloc[0]:.4f}", ylim=(-1.6, 1.6))
    axes[-1, 0].plot(bandwidths["x"], bandwidths["value"], "o", ms=4)
    axes[-1, 0].set(title="learned bandwidth of each support point")
    axes[-1, 0].set(ylabel="θ", xlabel="x, as scaled for the fit")
    return figure


def table(frame):
    """R2 of the three fits on the test rows."""
    fits = frame[~frame["model"].isin(["truth", "bandwidth"])]
    return fits.groupby(["dataset", "model"], sort=False)["r2"].first().reset_index()

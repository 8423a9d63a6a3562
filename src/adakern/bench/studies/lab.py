"""Studies of LAB RBF: figure 1 of the paper, and accuracy against support data."""

import warnings

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.preprocessing import MinMaxScaler

from adakern.baselines import FalkonRegressor
from adakern.bench.studies.common import summarise
from adakern.datasets import make_sin_2x3
from adakern.lab import LABRBFRegressor

__all__ = [
    "plot_sine",
    "plot_support",
    "sine",
    "sine_table",
    "support",
    "support_table",
]

#: Ridge of the kernel ridge regressions, the authors' for LAB RBF.
ALPHA = 1e-3

#: The paper's method: interpolation of the support data, all other rows trained on.
PAPER = {
    "alpha": ALPHA,
    "bandwidth": "global",
    "refit": False,
    "standardize": False,
    "early_stopping": False,
    "growth_iter": 150,
    "max_iter": 1500,
}


def sine(table, seed, *, rows=600, support=40, high=3.0, wide=20.0, narrow=100.0):
    """Fits of sin(2 x^3) with global and with trained bandwidths.

    Parameters
    ----------
    table : None
        The data are generated.
    seed : int
        Of the training.
    rows : int
        Training rows, evenly spaced on [0, high] and scaled to [-1, 1].
    support : int
        Support data of all three models; evenly spaced for the two global ones.
    high : float
        Where x ends; the paper does not say.
    wide, narrow : float
        gamma of the two global Gaussian kernels; the paper's 20 and 100.

    Returns
    -------
    pandas.DataFrame
        Columns: model ("truth", "global, gamma = ...", "local", "bandwidth"), x (in
        [0, high]), value, and r2 of the model on a grid four times as fine.
    """
    X, y = make_sin_2x3(rows, high)
    X_grid, truth = make_sin_2x3(4 * rows, high)
    to_unit = MinMaxScaler((-1, 1)).fit(X)
    X, grid = to_unit.transform(X), to_unit.transform(X_grid)
    centres = np.linspace(0, rows - 1, support).round().astype(int)
    models = {
        f"global, gamma = {gamma:g}": KernelRidge(
            kernel="rbf", gamma=gamma, alpha=ALPHA
        ).fit(X[centres], y[centres])
        for gamma in (wide, narrow)
    }
    local = LABRBFRegressor(max_support=support, growth=5, random_state=seed, **PAPER)
    models["local"] = local.fit(X, y)
    x = X_grid[:, 0]
    frames = [_curve("truth", x, truth, 1.0)]
    for name, model in models.items():
        fitted = model.predict(grid)
        frames.append(_curve(name, x, fitted, r2_score(truth, fitted)))
    places = to_unit.inverse_transform(local.support_vectors_)[:, 0]
    frames.append(_curve("bandwidth", places, local.bandwidths_[:, 0], np.nan))
    return pd.concat(frames, ignore_index=True)


def _curve(model, x, value, r2):
    return pd.DataFrame({"model": model, "x": x, "value": value, "r2": r2})


def plot_sine(frame):
    """Three fits above each other over the truth, and the learned bandwidths."""
    from matplotlib.figure import Figure

    curves = dict(tuple(frame.groupby("model", sort=False)))
    truth, bandwidths = curves.pop("truth"), curves.pop("bandwidth")
    figure = Figure(figsize=(7, 2 * len(curves) + 2), layout="constrained")
    axes = figure.subplots(len(curves) + 1, 1, sharex=True)
    for axis, (name, curve) in zip(axes, curves.items(), strict=False):
        axis.plot(truth.x, truth.value, color="0.7", linewidth=3, label="sin(2 x³)")
        axis.plot(curve.x, curve.value, linewidth=1, label=name)
        axis.set_title(f"{name}: R² = {curve.r2.iloc[0]:.4f}", fontsize="medium")
        axis.set_ylim(-1.6, 1.6)
    axes[-1].plot(bandwidths.x, bandwidths.value, "o", markersize=4)
    axes[-1].set_title("learned bandwidth of each support datum", fontsize="medium")
    axes[-1].set_ylabel("θ, x scaled to [-1, 1]")
    axes[-1].set_xlabel("x")
    return figure


def sine_table(frame):
    """R2 of the three fits."""
    fits = frame[~frame["model"].isin(["truth", "bandwidth"])]
    return fits.groupby("model", sort=False)["r2"].first().reset_index()


def support_table(frame):
    """Mean R2 by method and number of support data."""
    return summarise(frame, ["dataset", "method", "n_support"], ["r2"])


def support(table, seed, *, sizes, repeats=3):
    """Test R2 of LAB RBF, ARD and Falkon for growing numbers of support data.

    Each model's parameters are chosen on a fifth of the training rows; kernel ridge
    regression on all training rows is the horizontal line.

    Parameters
    ----------
    table : adakern.datasets.Table
        With a regression target.
    seed : int
        Of the splits and the training.
    sizes : sequence of int
        Numbers of support data; those above the training rows are left out.
    repeats : int
        Random splits, a fifth of the rows for testing.

    Returns
    -------
    pandas.DataFrame
        Columns: method, n_support, repeat, r2.
    """
    records = []
    for repeat in range(repeats):
        X, X_test, y, y_test = train_test_split(
            table.X, table.y, test_size=0.2, random_state=seed + repeat
        )
        scaler = MinMaxScaler((-1, 1)).fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
        centre = y.mean()
        for method, (template, grid) in _candidates().items():
            for size in [len(y)] if method == "rbf-krr" else sizes:
                if size > len(y):
                    continue
                fixed = _sized(template, size, seed + repeat)
                model = _tuned(fixed, grid, X, y - centre, seed + repeat)
                score = r2_score(y_test, model.predict(X_test) + centre)
                records.append((method, size, repeat, score))
    return pd.DataFrame(records, columns=["method", "n_support", "repeat", "r2"])


def _candidates():
    """Method -> (estimator, its grid); Falkon and KRR search as in ``conf/method``."""
    bandwidths = {
        "profile": ["gaussian", "laplacian"],
        "bandwidth": ["global", 0.4],
    }
    kernels = {
        "kernel": ["rbf", "laplacian"],
        "gamma": 4.0 ** np.arange(-4, 2),
        "alpha": [1e-8, 1e-6, 1e-4],
    }
    ridges = {
        "gamma": 4.0 ** np.arange(-3, 3),
        "alpha": 10.0 ** np.arange(-6, 0),
    }
    return {
        "lab-rbf": (LABRBFRegressor(**PAPER), bandwidths),
        "lab-ard": (LABRBFRegressor(locality="shared", **PAPER), bandwidths),
        "falkon": (FalkonRegressor(tol=1e-4), kernels),
        "rbf-krr": (KernelRidge(kernel="rbf"), ridges),
    }


def _sized(template, size, seed):
    known = template.get_params()
    wanted = {"max_support": size, "n_centers": size, "random_state": seed}
    fixed = {name: value for name, value in wanted.items() if name in known}
    return type(template)(**{**known, **fixed})


def _tuned(template, grid, X, y, seed):
    """The best of the grid on a fifth of the rows, fitted to all of them."""
    X_fit, X_check, y_fit, y_check = train_test_split(
        X, y, test_size=0.2, random_state=seed
    )
    best, best_error = None, np.inf
    with warnings.catch_warnings():
        # A point that did not converge competes with what it reached.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for point in ParameterGrid(grid):
            model = type(template)(**{**template.get_params(), **point})
            fitted = model.fit(X_fit, y_fit)
            error = mean_squared_error(y_check, fitted.predict(X_check))
            if error < best_error:
                best, best_error = model, error
        return best.fit(X, y)


def plot_support(frame):
    """R2 over the number of support data, one panel a data set."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(frame.dataset))
    figure = Figure(figsize=(4 * len(names), 3.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(names), squeeze=True))
    for axis, name in zip(axes, names, strict=True):
        part = frame[frame.dataset == name]
        for method, rows in part.groupby("method", sort=False):
            summary = rows.groupby("n_support").r2.agg(["mean", "std"])
            if method == "rbf-krr":
                label = f"rbf-krr, all {summary.index[0]} rows"
                error = 1 - summary["mean"].iloc[0]
                axis.axhline(error, color="0.5", linestyle="--", label=label)
            else:
                axis.plot(summary.index, 1 - summary["mean"], "o-", label=method)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.invert_yaxis()
        axis.set_title(name)
        axis.set_xlabel("number of support data")
        axis.legend(fontsize="small")
    axes[0].set_ylabel("1 - R² on the test rows (better is higher)")
    return figure

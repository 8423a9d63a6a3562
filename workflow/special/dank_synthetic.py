"""Figure 6 of Liu et al. (JMLR 2020): test functions recovered by SVR and by DANK."""

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.svm import SVR

from adakern.dank import DANKRegressor
from shared import axes_grid, fit_quietly, tuned


def compute(data, seed, *, multiples=(None,), epsilon=0.01):
    """Predictions of all rows after training on some; C and gamma are the SVR's."""
    svr = tuned(SVR(epsilon=epsilon), data.X_train, data.y_fit)
    models = {"svr": svr}
    for multiple in multiples:
        eta = "svm" if multiple is None else multiple * svr.C**2
        name = "dank" if multiple is None else f"dank, eta = {multiple:g} C²"
        model = DANKRegressor(
            C=svr.C, gamma=svr.gamma, epsilon=epsilon, eta=eta, extension="reciprocal"
        )
        models[name] = fit_quietly(model, data.X_train, data.y_fit)
    X, y = np.vstack([data.X_train, data.X_test]), np.r_[data.y_train, data.y_test]
    train = np.arange(len(y)) < len(data.y_train)
    places = {f"x{k}": column for k, column in enumerate(X.T)}
    frames = []
    for name, model in models.items():
        prediction = data.restore(model.predict(X))
        frames.append(
            pd.DataFrame(places).assign(
                y=y,
                method=name,
                prediction=prediction,
                train=train,
                relative_mse=1 - r2_score(y[~train], prediction[~train]),
                rank=getattr(model, "rank_", np.nan),
            )
        )
    return pd.concat(frames, ignore_index=True)


def plot(frame):
    """The function and its reconstructions; over a plane, as coloured points."""
    datasets = frame["dataset"].unique()
    methods = frame["method"].unique()
    figure, axes = axes_grid(len(datasets), len(methods), width=4.2)
    axes = np.asarray(axes).reshape(len(datasets), len(methods))
    for row, dataset in zip(axes, datasets, strict=True):
        for ax, method in zip(row, methods, strict=True):
            part = frame[(frame["dataset"] == dataset) & (frame["method"] == method)]
            if "x1" in part and part["x1"].notna().all():
                points = ax.scatter(part["x0"], part["x1"], c=part["prediction"], s=14)
                figure.colorbar(points, ax=ax)
            else:
                part = part.sort_values("x0")
                ax.plot(part["x0"], part["y"], "k:", lw=1)
                ax.plot(part["x0"], part["prediction"], "C3-", lw=1.2)
            error = part["relative_mse"].iloc[0]
            ax.set_title(f"{dataset}, {method}: {error:.4f}", fontsize=9)
    return figure


def table(frame, published):
    """Relative squared error of each method, beside the paper's."""
    errors = frame.groupby(["dataset", "method"], sort=False)
    errors = errors[["relative_mse", "rank"]].first().reset_index()
    published = published.replace({"method": {"svr-cv": "svr"}})
    published = published.rename(columns={"mean": "published"})
    keys = ["dataset", "method"]
    return errors.merge(published[[*keys, "published"]], on=keys, how="left")

"""Figure 6 of Liu et al. (JMLR 2020): test functions recovered by SVR and by DANK."""

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score
from sklearn.svm import SVR

from adakern.dank import DANKRegressor
from adakern_bench.report.figures import grid
from shared import fit_quietly, tuned


def compute(data, seed, *, multiples=(None,), epsilon=0.01):
    """Predict training and test rows with SVR and DANK; C and gamma are those of the
    tuned SVR.
    """
    svr = tuned(SVR(epsilon=epsilon), data.X_train, data.y_fit)
    models = {"svr": svr}
    for multiple in multiples:
        eta = "svm" if multiple is None else multiple * svr.C**2
        name = "dank" if multiple is None else f"dank, eta = {multiple:g} C²"
        given = {"C": svr.C, "gamma": svr.gamma, "epsilon": epsilon, "eta": eta}
        model = DANKRegressor(**given, extension="reciprocal")
        models[name] = fit_quietly(model, data.X_train, data.y_fit)
    X = np.vstack([data.X_train, data.X_test])
    y = np.r_[data.y_train, data.y_test]
    train = np.arange(len(y)) < len(data.y_train)
    rows = pd.DataFrame({f"x{k}": column for k, column in enumerate(X.T)} | {"y": y})
    frames = []
    for name, model in models.items():
        prediction = data.restore(model.predict(X))
        error = 1 - r2_score(y[~train], prediction[~train])
        facts = {"relative_mse": error, "rank": getattr(model, "rank_", np.nan)}
        frames.append(
            rows.assign(method=name, prediction=prediction, train=train, **facts)
        )
    return pd.concat(frames, ignore_index=True)


def plot(frame):
    """Plot the function and its reconstructions, in 2-D the latter as coloured
    points.
    """
    cells = frame.groupby(["dataset", "method"], sort=False)
    figure, axes = grid(frame["dataset"].nunique(), frame["method"].nunique(), 4.2, 3.8)
    for axis, ((dataset, method), part) in zip(axes.flat, cells, strict=True):
        if "x1" in part and part["x1"].notna().all():
            points = axis.scatter(part["x0"], part["x1"], c=part["prediction"], s=14)
            figure.colorbar(points, ax=axis)
        else:
            part = part.sort_values("x0")
            axis.plot(part["x0"], part["y"], "k:", lw=1)
            axis.plot(part["x0"], part["prediction"], lw=1.2)
        axis.set_title(f"{dataset}, {method}: {part['relative_mse'].iloc[0]:.4f}")
    return figure


def table(frame, published):
    """Relative squared error of each method, with that of the paper."""
    errors = frame.groupby(["dataset", "method"], sort=False)
    errors = errors[["relative_mse", "rank"]].first().reset_index()
    published = published.replace({"method": {"svr-cv": "svr"}})
    published = published.rename(columns={"mean": "published"})
    keys = ["dataset", "method"]
    return errors.merge(published[[*keys, "published"]], on=keys, how="left")

"""The best method of one table, looked into: errors, calibration, what it relies on.

It is fitted again on the first split. Columns are those of the table: each is changed
there, and the preparation of the method does the rest.
"""

from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from adakern.datasets.encoding import takes_raw_columns
from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC, score
from adakern_bench.records.estimators import make_estimator
from adakern_bench.records.prepare import prepare
from adakern_bench.report.figures import STYLE, colour
from adakern_bench.report.tables import heading, scaled

__all__ = ["explain"]

#: Test rows and columns that are looked at, permutations of each, points of a dependence.
MOST_ROWS, MOST_COLUMNS, N_PERMUTED, N_POINTS = 2000, 50, 3, 20
#: Share of what there is to know that a column alone tells if it gives the target away.
GIVEN_AWAY = 0.9


def explain(method, table, train, test, settings, best_params, repeat):
    """A figure of the fit of one split, and a table of the columns, the first ones first."""
    test = test[:MOST_ROWS]
    free = {k: v for k, v in best_params.items() if k not in settings["fixed"]}
    seed = settings["seed"] + repeat
    model = make_estimator(settings["estimator"], free, seed=seed, threads=settings["threads"])
    preparation = settings["preparation"] | {"raw": takes_raw_columns(model)}
    data = prepare(table, train, test, **preparation)
    model.fit(data.X_train, data.y_fit)
    alone = pd.Series(_alone(table, train), table.feature_names)
    names = list(alone.nlargest(MOST_COLUMNS).index)
    drops = _importances(model, table, train, test, preparation, names, seed)
    columns = pd.DataFrame({"worse if permuted": drops.mean(), "std": drops.std(ddof=1)})
    columns["known from it alone"] = alone[names]
    away = alone[names] > GIVEN_AWAY
    columns["hint"] = away.map({True: "nearly gives the target away", False: ""})
    columns = columns.sort_values("worse if permuted", ascending=False).rename_axis("column")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10.5, 6.4), layout="constrained")
        figure.suptitle(f"{method} on {len(test):,} test rows of one split", fontsize=9)
        errors, calibration, bars, *dependences = figure.subplots(2, 3).ravel()
        _draw_errors(errors, calibration, model, data)
        metric, first = MAIN_METRIC[table.task], columns.head(10)[::-1]
        worse = scaled(metric, first["worse if permuted"])
        bars.barh(first.index, worse, color=colour(0))
        bars.set_xlabel(f"{heading(metric)}: worse by, if permuted")
        for axis, name in zip(dependences, columns.index, strict=False):
            _draw_dependence(axis, model, table, train, test, preparation, name)
        for axis in figure.axes:
            axis.set_visible(axis.has_data() or bool(axis.images))
    return figure, columns.reset_index()


def _alone(table, train):
    """What a small tree of each column alone knows of the target, 0: nothing, 1: all."""
    y = table.y[train]
    classify = table.task == "classification"
    tree = (DecisionTreeClassifier if classify else DecisionTreeRegressor)(max_leaf_nodes=32)
    base = pd.Series(y).value_counts(normalize=True).max() if classify else 0.0
    for column in table.X[train].T:
        found = cross_val_score(tree, column[:, None], y, cv=3).mean()
        yield max((found - base) / max(1 - base, 1e-9), 0.0)


def _with_column(table, name, rows, values):
    """The table with other values in a column of some rows."""
    X = table.X.copy()
    X[rows, table.feature_names.index(name)] = values
    return replace(table, X=X)


def _importances(model, table, train, test, preparation, names, seed):
    """How much worse the main metric gets if a column of the test rows is permuted."""
    metric, rng = MAIN_METRIC[table.task], np.random.default_rng(seed)
    sign = 1 if GREATER_IS_BETTER[metric] else -1

    def measured(changed):
        data = prepare(changed, train, test, **preparation)
        predicted = data.restore(model.predict(data.X_test))
        return sign * score(table.task, data.y_test, predicted)[metric]

    whole = measured(table)
    columns = {name: table.X[test, table.feature_names.index(name)] for name in names}
    return pd.DataFrame(
        {
            name: [
                whole - measured(_with_column(table, name, test, rng.permutation(values)))
                for _ in range(N_PERMUTED)
            ]
            for name, values in columns.items()
        }
    )


def _draw_errors(errors, calibration, model, data):
    predicted = data.restore(model.predict(data.X_test))
    if not hasattr(model, "classes_"):
        PredictionErrorDisplay.from_predictions(data.y_test, predicted, ax=errors)
        errors.set_title("Residuals")
        if hasattr(model, "predict_interval"):
            levels = np.arange(0.1, 1.0, 0.1)
            held = []
            for level in levels:
                low, high = np.asarray(model.predict_interval(data.X_test, level)).T
                inside = (data.restore(low) <= data.y_test) & (data.y_test <= data.restore(high))
                held.append(inside.mean())
            calibration.plot(levels, held, "o")
            calibration.axline((0, 0), slope=1, color="0.6", ls="--")
            calibration.set(title="Intervals", xlabel="requested coverage", ylabel="coverage")
        return
    ConfusionMatrixDisplay.from_predictions(
        data.y_test, predicted, ax=errors, colorbar=False, cmap="Blues"
    )
    errors.set_title("Confusion matrix")
    errors.grid(visible=False)
    if hasattr(model, "predict_proba"):
        pairs = zip(model.classes_, model.predict_proba(data.X_test).T, strict=True)
        for label, probability in list(pairs)[-3:]:
            CalibrationDisplay.from_predictions(
                data.y_test == label, probability, n_bins=10, name=str(label), ax=calibration
            )
        calibration.set_title("Calibration")


def _draw_dependence(axis, model, table, train, test, preparation, name):
    """The mean prediction as one column varies."""
    values = table.X[train, table.feature_names.index(name)]
    labels = table.categories.get(name)
    grid = np.unique(values[np.isfinite(values)])
    if labels is None and len(grid) > N_POINTS:
        grid = np.unique(np.quantile(grid, np.linspace(0.02, 0.98, N_POINTS)))
    means = []
    grid = grid[:N_POINTS]
    for value in grid:
        data = prepare(_with_column(table, name, test, value), train, test, **preparation)
        if hasattr(model, "predict_proba"):
            means.append(model.predict_proba(data.X_test)[:, -1].mean())
        elif hasattr(model, "classes_"):
            means.append(np.mean(model.predict(data.X_test) == model.classes_[-1]))
        else:
            means.append(data.restore(model.predict(data.X_test)).mean())
    places = grid if labels is None else [labels[int(k)] for k in grid]
    axis.plot(places, means, "o-" if labels is None else "o", ms=3, color=colour(0))
    target = f"share of {model.classes_[-1]}" if hasattr(model, "classes_") else "mean prediction"
    axis.set(xlabel=name, ylabel=target)

"""The best method of a table: errors, calibration and permutation importances.

It is refitted on the first split. Columns are those of the file.
"""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.calibration import CalibrationDisplay
from sklearn.inspection import PartialDependenceDisplay
from sklearn.metrics import ConfusionMatrixDisplay, PredictionErrorDisplay
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from adakern._utils.files import atomic_path
from adakern.evaluation import GREATER_IS_BETTER, METRICS, QUANTITIES, score
from adakern.evaluation.quantities import main_metric
from adakern_bench.config.estimators import make_estimator
from adakern_bench.data import Table
from adakern_bench.records.models import table_model
from adakern_bench.records.prepare import prepare
from adakern_bench.records.split import load_split
from adakern_bench.report.figures import COLOURS, STYLE, save_svg
from adakern_bench.report.tables import heading, scaled

#: Maximum number of test rows, and number of values of partial dependence.
MOST_ROWS, MOST_VALUES = 1000, 20
#: Maximum number of classes with a calibration curve.
MOST_CLASSES = 3
#: Maximum number of columns to permute, and of training rows to select them.
MOST_COLUMNS, TRAINING_ROWS = 100, 5000
#: Share explained by a single column above which it nearly gives the target away.
GIVEN_AWAY = 0.9


def explain_files(
    method, table, split, figure, columns, settings, best_params, repeat, metric=None
):
    """Write the figure and table of :func:`explain` for a repeat."""
    with threadpool_limits(settings["threads"]):
        train, test = load_split(split, repeat)
        of = Table.load(table)
        drawn, found = explain(
            method, of, train, test, settings, best_params, repeat, metric
        )
    save_svg(drawn, figure)
    with atomic_path(columns) as path:
        found.to_csv(path, index=False, float_format="%.4g")


def explain(method, table, train, test, settings, best_params, repeat, metric=None):
    """A figure of the fit of one split, and a table of the columns, the first ones
    first.
    """
    free = {k: v for k, v in best_params.items() if k not in settings["fixed"]}
    seed = settings["seed"] + repeat
    # Random rows: the first rows of a sorted table are of one class, or early.
    test = np.sort(np.random.default_rng(seed).permutation(test)[:MOST_ROWS])
    model = make_estimator(
        settings["estimator"],
        free,
        seed=seed,
        threads=settings["threads"],
        is_planned=True,
    )
    data = prepare(table, train, test, **settings["preparation"])
    pipeline = table_model(model.fit(data.X_train, data.y_fit), data, table)
    X, y = table.as_written(test), table.y[test]
    metrics = (main_metric(table.task, metric), *METRICS[table.task])
    metric = next(
        name for name in metrics if not QUANTITIES[name].optional
    )  # of predictions
    sign = 1 if GREATER_IS_BETTER[metric] else -1

    def goodness(X):
        return sign * score(table.task, y, pipeline.predict(X))[metric]

    alone = pd.Series(list(_alone(table, train)), index=X.columns).nlargest(
        MOST_COLUMNS
    )
    permuted = _permuted(goodness, X, alone.index, seed)
    columns = pd.DataFrame(
        {
            "column": alone.index,
            "worse if permuted": permuted.mean(axis=1),
            "std": permuted.std(axis=1),
            "known from it alone": alone.to_numpy(),
        }
    ).sort_values("worse if permuted", ascending=False)
    away = columns["known from it alone"] > GIVEN_AWAY
    columns["hint"] = away.map({True: "nearly gives the target away", False: ""})
    with matplotlib.rc_context(
        STYLE | {"text.parse_math": False}
    ):  # names can contain a $
        figure = Figure(figsize=(10.5, 6.4), layout="constrained")
        figure.suptitle(f"{method} on {len(test):,} test rows of one split", fontsize=9)
        errors, calibration, bars, *dependences = figure.subplots(2, 3).ravel()
        _draw_errors(errors, calibration, model, data)
        first = columns[::-1].tail(10)
        bars.barh(
            first["column"],
            scaled(metric, first["worse if permuted"]),
            color=COLOURS[0],
        )
        bars.set_xlabel(f"{heading(metric)}: worse by, if permuted")
        for axis, name in zip(dependences, columns["column"], strict=False):
            _draw_dependence(axis, pipeline, X.dropna(subset=name), name)
        for axis in figure.axes:
            axis.set_visible(axis.has_data() or bool(axis.images))
    return figure, columns


def _permuted(goodness, X, names, seed, n_repeats=3):
    """Permutation importances: the loss added by permuting each column."""
    rng, whole, worse = np.random.default_rng(seed), goodness(X), []
    for name in np.repeat(names, n_repeats):
        permuted = X[name].sample(frac=1, random_state=rng).set_axis(X.index)
        worse.append(whole - goodness(X.assign(**{name: permuted})))
    return np.reshape(worse, (len(names), n_repeats))


def _alone(table, train):
    """What a small tree of each column alone knows of the target, 0:
    nothing, 1: all."""
    train = train[:: -(-len(train) // TRAINING_ROWS)]
    y, base, tree = table.y[train], 0.0, DecisionTreeRegressor(max_leaf_nodes=32)
    if table.task == "classification":
        base = pd.Series(y).value_counts(normalize=True).max()
        tree = DecisionTreeClassifier(max_leaf_nodes=32)
    for column in table.X[train].T:
        found = cross_val_score(tree, column[:, None], y, cv=3).mean()
        yield max((found - base) / max(1 - base, 1e-9), 0.0)


def _draw_errors(errors, calibration, model, data):
    predicted = data.restore(model.predict(data.X_test))
    if hasattr(model, "classes_"):
        show = {"colorbar": False, "cmap": "Blues"}
        ConfusionMatrixDisplay.from_predictions(
            data.y_test, predicted, ax=errors, **show
        )
        errors.set_title("Confusion matrix")
        errors.grid(visible=False)
    else:
        PredictionErrorDisplay.from_predictions(data.y_test, predicted, ax=errors)
        errors.set_title("Residuals")
        calibration.hist(data.y_test - predicted, bins=20, color=COLOURS[0])
    if hasattr(model, "predict_proba"):
        probabilities = dict(
            zip(model.classes_, model.predict_proba(data.X_test).T, strict=True)
        )
        for label in pd.Series(data.y_test).value_counts().index[:MOST_CLASSES]:
            CalibrationDisplay.from_predictions(
                *(data.y_test == label, probabilities[label]),
                **{"n_bins": 10, "name": str(label), "ax": calibration},
            )
        of = f" of the {MOST_CLASSES} most frequent classes"
        calibration.set_title("Calibration" + of * (len(probabilities) > MOST_CLASSES))
    if hasattr(model, "predict_interval"):
        levels, held = np.arange(0.1, 1.0, 0.1), []
        for level in levels:
            low, high = np.asarray(model.predict_interval(data.X_test, level)).T
            inside = (data.restore(low) <= data.y_test) & (
                data.y_test <= data.restore(high)
            )
            held.append(inside.mean())
        calibration.clear()
        calibration.plot(levels, held, "o")
        calibration.axline((0, 0), slope=1, color="0.6", ls="--")
        calibration.set(
            title="Intervals", xlabel="requested coverage", ylabel="coverage"
        )


def _draw_dependence(axis, pipeline, X, name):
    """Plot the mean prediction as one column varies."""
    categorical = not pd.api.types.is_numeric_dtype(X[name])
    if X[name].nunique() < 2 or (categorical and X[name].nunique() > MOST_VALUES):
        return
    options = {"categorical_features": [name] if categorical else None}
    if len(classes := getattr(pipeline, "classes_", [])) > 2:
        options["target"] = classes[-1]
    shown = PartialDependenceDisplay.from_estimator(
        pipeline, X, [name], grid_resolution=MOST_VALUES, ax=axis, **options
    )
    target = f"share of {classes[-1]}" if len(classes) else "mean prediction"
    shown.axes_[0, 0].set_ylabel(target)

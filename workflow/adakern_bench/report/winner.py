"""The best method of a table: errors, calibration and permutation importances.

The method is fitted again on one split. Columns are those of the table's file.
"""

from dataclasses import dataclass, replace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from adakern._utils.files import write_csv, write_json
from adakern._utils.printable import without_formula
from adakern.evaluation import (
    GREATER_IS_BETTER,
    QUANTITIES,
    area_under_curve,
    probability_scores,
    score,
)
from adakern.evaluation.quantities import main_metric
from adakern_bench.config.estimators import planned_estimator
from adakern_bench.data.table import Table, has_rare_class
from adakern_bench.records.models import table_model
from adakern_bench.records.prepare import Prepared, prepare
from adakern_bench.records.solve import fit
from adakern_bench.records.split import load_split
from adakern_bench.report.figures import save_svg
from adakern_bench.report.tables import scaled
from adakern_bench.report.winner_figures import PLAIN_TEXT, draw_all, worse_by

#: Maximum number of test rows to evaluate.
MOST_ROWS = 1000
#: Maximum number of columns to permute, those that are most predictive on their own,
#: and of training rows to select them.
MOST_COLUMNS, TRAINING_ROWS = 100, 5000
#: Predictive power of a single column above which it nearly determines the target.
NEARLY_DETERMINED = 0.9


@dataclass
class Best:
    """A method fitted to the training part of a split, and test rows to evaluate."""

    method: str
    task: str
    #: Metric of the permutation importances.
    metric: str
    model: Any
    data: Prepared
    #: Maps typed columns to predictions in the target's units.
    pipeline: Any
    X: pd.DataFrame
    y: np.ndarray
    #: The class of interest, which is the rarest; None for regression.
    event: Any = None
    #: Times of the test rows, the last time of the training rows, and whether they are
    #: dates.
    times: np.ndarray | None = None
    learned_until: float = np.nan
    times_are_dates: bool = False
    #: The group of each test row.
    groups: np.ndarray | None = None

    def expected(self, X):
        """Predict the probability of the event (0 or 1 if there are only labels), or
        the target.
        """
        if self.event is None:
            return self.pipeline.predict(X)
        if not hasattr(self.pipeline, "predict_proba"):
            return (self.pipeline.predict(X) == self.event).astype(float)
        is_event = self.pipeline.classes_ == self.event
        return self.pipeline.predict_proba(X)[:, is_event].sum(axis=1)

    def observed(self):
        """Observed values that correspond to `expected`."""
        return self.y if self.event is None else (self.y == self.event).astype(float)

    def signed_score(self, X):
        """The metric on these rows, negated if smaller is better."""
        sign = 1 if GREATER_IS_BETTER[self.metric] else -1
        if not QUANTITIES[self.metric].optional:
            return (
                sign * score(self.task, self.y, self.pipeline.predict(X))[self.metric]
            )
        classes = self.pipeline.classes_
        if hasattr(self.pipeline, "predict_proba"):
            values = self.pipeline.predict_proba(X)
            return sign * probability_scores(self.y, values, classes)[self.metric]
        return area_under_curve(self.y, self.pipeline.decision_function(X), classes)


class FirstTarget:
    """A model of several targets, seen as a model of the first one."""

    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        """Return a method that returns the results of the first target alone."""
        method = getattr(self.model, name)
        return lambda *given: method(*given)[:, 0]


def explain_files(
    method, table, split, figures, columns, settings, best_params, repeat, metric=None
):
    """Write the figures and the table of :func:`explain` of a repeat."""
    with threadpool_limits(settings["threads"]):
        train, test = load_split(split, repeat)
        drawn, importances = explain(
            method,
            Table.load(table),
            train,
            test,
            settings,
            best_params,
            repeat,
            metric,
        )
    figures.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(PLAIN_TEXT):  # some labels are made only now
        for name, (figure, _) in drawn.items():
            save_svg(figure, figures / f"{name}.svg")
    captions = {name: caption for name, (_, caption) in drawn.items()}
    write_json(figures / "captions.json", captions)
    write_csv(columns, importances.map(without_formula), float_format="%.4g")


def explain(method, table, train, test, settings, best_params, repeat, metric=None):
    """Name -> (figure, caption) of the fit of one split, and a table of the columns."""
    seed = settings["seed"] + repeat
    # Random rows, since the first rows of a sorted table may all be of one class.
    test = np.sort(np.random.default_rng(seed).permutation(test)[:MOST_ROWS])
    best = fitted(method, table, train, test, settings, best_params, seed, metric)
    name, *others = table.targets or [None]
    if others:
        table = replace(table, y=table.y[:, 0])
    columns = _columns(best, table, train, seed)
    drawn = draw_all(best, columns)
    if others:
        prefix = f"Target {name!r}, the first of {1 + len(others)}"
        drawn = {
            key: (figure, f"{prefix}: {text}") for key, (figure, text) in drawn.items()
        }
    return drawn, columns


def fitted(method, table, train, test, settings, best_params, seed, metric):
    """Fit the best method to the training rows."""
    model = planned_estimator(settings, best_params, seed)
    data = prepare(table, train, test, **settings["preparation"])
    model = fit(model, data, settings["validates_from"])
    pipeline = table_model(model, data, table)
    X = pipeline[0].transform(table.as_written(test))
    metric = importance_metric(table, metric, pipeline)
    pipeline = pipeline[1:]
    if table.targets:
        model, pipeline, data = (
            FirstTarget(model),
            FirstTarget(pipeline),
            data.of_target(0),
        )
    best = Best(method, table.task, metric, model, data, pipeline, X, data.y_test)
    if table.task == "classification":
        best.event = min(table.class_counts, key=table.class_counts.get)
    if table.groups is not None:
        best.groups = table.groups[test]
    if table.times is not None:
        best.times = table.times[test]
        best.learned_until = table.times[train].max()
        best.times_are_dates = table.times_are_dates
    return best


def importance_metric(table, metric, model):
    """Metric of the importances: the ranking metric, if the predictions allow it.

    If a class is rare, a model that never predicts it is accurate, and no column would
    seem important: then the log loss replaces the accuracy.
    """
    metric = main_metric(table.task, metric)
    if table.task == "regression":
        return "rmse" if QUANTITIES[metric].optional else metric
    is_rare = has_rare_class(table)
    has_probabilities = hasattr(model, "predict_proba")
    if metric.startswith("calibration_error") or (metric == "accuracy" and is_rare):
        metric = "log_loss"
    known = has_probabilities or not QUANTITIES[metric].optional
    if known or (metric == "auc" and hasattr(model, "decision_function")):
        return metric
    return "balanced_accuracy" if is_rare else "accuracy"


def _columns(best, table, train, seed):
    """Table of the columns' importances, the most important column first."""
    known = list(_predictive_power(table, train, best.metric))
    alone = pd.Series(known, index=best.X.columns).nlargest(MOST_COLUMNS)
    permuted = scaled(best.metric, _permuted(best, alone.index, seed))
    columns = pd.DataFrame(
        {
            "column": alone.index,
            worse_by(best.metric): permuted.mean(axis=1),
            "std": permuted.std(axis=1),
            "predicted by it alone (%)": 100 * alone.to_numpy(),
        }
    ).sort_values(worse_by(best.metric), ascending=False)
    away = columns["predicted by it alone (%)"] > 100 * NEARLY_DETERMINED
    columns["hint"] = away.map({True: "nearly determines the target", False: ""})
    return columns


def _permuted(best, names, seed, n_repeats=3):
    """Loss of the metric if a column is permuted: a row per column, a column per
    repetition.
    """
    rng = np.random.default_rng(seed)
    whole = best.signed_score(best.X)
    worse = []
    for name in np.repeat(names, n_repeats):
        permuted = best.X[name].sample(frac=1, random_state=rng).set_axis(best.X.index)
        worse.append(whole - best.signed_score(best.X.assign(**{name: permuted})))
    return np.reshape(worse, (len(names), n_repeats))


def _predictive_power(table, train, metric):
    """Yield how well a small tree predicts the target from each column alone.

    By the metric, 0 is as good as a constant prediction and 1 is perfect; for
    regression it is the fraction of explained variance.
    """
    train = train[:: -(-len(train) // TRAINING_ROWS)]
    y = table.y[train]
    if table.task == "regression":
        tree = DecisionTreeRegressor(max_leaf_nodes=32)
        for column in table.X[train].T:
            predicted = cross_val_predict(tree, column[:, None], y, cv=3)
            yield max(score("regression", y, predicted)["r2"], 0.0)
        return
    classes, codes = np.unique(y, return_inverse=True)
    shares = np.bincount(codes) / len(y)
    base = _of_probabilities(y, np.tile(shares, (len(y), 1)), classes, metric)
    perfect = float(GREATER_IS_BETTER[metric])
    # Probabilities of leaves with few rows would be overconfident.
    least = max(1, min(len(y) // 50, np.bincount(codes).min() // 2))
    tree = DecisionTreeClassifier(max_leaf_nodes=32, min_samples_leaf=least)
    for column in table.X[train].T:
        p = cross_val_predict(tree, column[:, None], y, cv=3, method="predict_proba")
        value = _of_probabilities(y, p, classes, metric)
        gap = perfect - base
        yield max((value - base) / gap, 0.0) if abs(gap) > 1e-9 else 0.0


def _of_probabilities(y, p, classes, metric):
    """A metric of probabilities, or of the most probable labels.

    Probabilities are at least that of one row, since a leaf without rows of a class
    does not show that the class is impossible.
    """
    if not QUANTITIES[metric].optional:
        return score("classification", y, classes[p.argmax(axis=1)], classes)[metric]
    p = np.maximum(p, 1 / len(y))
    p /= p.sum(axis=1, keepdims=True)
    return probability_scores(y, p, classes)[metric]

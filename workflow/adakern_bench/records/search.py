"""Hyperparameter search by cross-validation on the training part."""

import warnings
from dataclasses import replace

import numpy as np
from sklearn.model_selection import RandomizedSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils import resample
from threadpoolctl import threadpool_limits

from adakern._utils.files import plain, read_json
from adakern.model_selection import KernelSearchCV
from adakern_bench.config.estimators import (
    expand_grid,
    free_parameters,
    planned_estimator,
)
from adakern_bench.data.table import Table
from adakern_bench.records.prepare import prepare, rows_of, takes_one
from adakern_bench.records.split import inner_folds, load_split, strata

#: Result for a method without a grid.
NOT_SEARCHED = {"status": "ok", "best_params": {}}

SCORING = {"classification": "accuracy", "regression": "neg_mean_squared_error"}


#: Ranking metric -> scikit-learn's scorer of searches; others use that of the task.
SCORER_OF = {
    "balanced_accuracy": "balanced_accuracy",
    "f1": "f1_macro",
    "log_loss": "neg_log_loss",
    "brier": "neg_log_loss",
    "calibration_error": "neg_log_loss",
    "auc": "roc_auc",
    "mae": "neg_mean_absolute_error",
}


def scoring(metric, task, y, estimator):
    """Return the scorer of a search, so that methods are tuned as they are ranked."""
    found = SCORER_OF.get(metric, SCORING[task])
    if found == "roc_auc" and len(np.unique(y)) > 2:
        found = "roc_auc_ovr"
    needs_probabilities = found in ("neg_log_loss", "roc_auc_ovr")
    if needs_probabilities and not hasattr(estimator, "predict_proba"):
        return "balanced_accuracy"
    return found


def by_repeat(paths):
    """Repeat -> result of its search, from the files of a batch."""
    return {found["repeat"]: found for path in paths for found in read_json(path)}


def search_grid(prepared, task, params, handed_over, seed, cv=None):
    """Return the best parameters of one repeat, and the score of each candidate."""
    estimator = planned_estimator(params, handed_over, seed)
    grid = expand_grid(params["grid"], estimator.get_params(), params["step"])
    prepared = _some_rows(prepared, task, params["max_rows"], seed)
    X = prepared.X_train
    y = prepared.y_fit
    if cv is None:
        cv = inner_folds(prepared, task, params["folds"], seed)
    scorer = scoring(params.get("metric"), task, y, estimator)
    inner = "estimator__" if takes_one(estimator, prepared) else ""
    if inner:
        estimator = MultiOutputRegressor(estimator)
        grid = {f"{inner}{name}": values for name, values in grid.items()}
    settings = {"scoring": scorer, "cv": cv, "refit": False}
    if params["random"]:
        settings |= {"n_iter": params["random"], "random_state": seed}
        search = RandomizedSearchCV(estimator, grid, **settings)
    else:
        search = KernelSearchCV(estimator, grid, **settings)
    with warnings.catch_warnings():
        # Failed candidates have the score NaN, and a search in which all fail raises.
        # Candidates that did not converge compete with the score that they reached.
        warnings.simplefilter("ignore")
        search.fit(X, y)
    columns = ("params", "mean_test_score", "std_test_score")
    points = zip(*(search.cv_results_[column] for column in columns), strict=True)
    rows = [
        _outer(point, inner) | {"mean_score": float(mean), "std_score": float(std)}
        for point, mean, std in points
    ]
    best = _outer(search.best_params_, inner)
    return free_parameters(params, handed_over) | best, rows


def _outer(point, inner):
    """Return parameters without the prefix of scikit-learn's wrapper."""
    return {name.removeprefix(inner): value for name, value in point.items()}


def _some_rows(prepared, task, most, seed):
    """Draw at most `most` training rows, stratified by class, in order of time."""
    n = len(prepared.y_train)
    if most is None or n <= most:
        return prepared
    rows = resample(
        np.arange(n),
        replace=False,
        n_samples=most,
        stratify=strata(prepared.y_fit, task),
        random_state=seed,
    )
    marks = prepared.marks
    if prepared.apart == "time":
        rows = np.sort(rows)
    return replace(
        prepared,
        X_train=rows_of(prepared.X_train, rows),
        y_train=prepared.y_train[rows],
        marks=None if marks is None else marks[rows],
    )


def search_repeat(table_path, split_path, params, handed_over, repeat):
    """Return the best parameters of one repeat, and the score of each candidate."""
    table = Table.load(table_path)
    cv = None
    if params["tuning"] == "published":
        prepared, cv = _published_tuning(table, params["preparation"])
    else:
        train, test = load_split(split_path, repeat)
        prepared = prepare(table, train, test, **params["preparation"])
    n_rows = params["train_rows"] or len(table.y)
    if params["holdout_rows"] and n_rows > params["holdout_rows"]:
        params = params | {"folds": 1}
    seed = params["seed"] + repeat
    with threadpool_limits(params["threads"]):
        best, rows = search_grid(prepared, table.task, params, handed_over, seed, cv)
    return {key: plain(value) for key, value in best.items()}, rows


def _published_tuning(table, preparation):
    """Rows and split of the tuning protocol of 2014: one half of all rows for fitting,
    the other for validation.
    """
    fit = np.flatnonzero(~table.tuning_rows)
    validation = table.tuning_rows.nonzero()[0]
    prepared = prepare(table, fit, validation, **preparation)
    prepared.X_train = np.vstack([prepared.X_train, prepared.X_test])
    prepared.y_train = np.concatenate([prepared.y_train, prepared.y_test])
    rows = np.arange(len(table.y))
    return prepared, [(rows[: len(fit)], rows[len(fit) :])]

"""Hyper-parameters by cross-validation on the training part alone."""

import warnings

import numpy as np
from sklearn.model_selection import RandomizedSearchCV
from sklearn.utils import resample
from threadpoolctl import threadpool_limits

from adakern._utils.files import plain, read_json
from adakern.model_selection import KernelSearchCV
from adakern_bench.config.estimators import expand_grid, make_estimator
from adakern_bench.data import Table
from adakern_bench.records.prepare import prepare
from adakern_bench.records.split import folds, load_split

#: Of a method without a grid.
NOT_SEARCHED = {"status": "ok", "best_params": {}}

SCORING = {"classification": "accuracy", "regression": "neg_mean_squared_error"}


def by_repeat(paths):
    """Repeat -> what its search found, of the files of a batch."""
    return {found["repeat"]: found for path in paths for found in read_json(path)}


def search_grid(prepared, task, params, handed_over, seed, cv=None):
    """Best parameters of one repeat, and the table of the cross-validation."""
    fixed = {k: v for k, v in handed_over.items() if k not in params["fixed"]}
    estimator = make_estimator(
        params["estimator"],
        fixed,
        seed=seed,
        threads=params["threads"],
        is_planned=True,
    )
    grid = expand_grid(params["grid"], estimator.get_params(), params["step"])
    X, y = _some_rows(prepared, task, params["max_rows"], seed)
    if cv is None:
        cv = list(folds(task, params["folds"], seed).split(X, _strata(y, task)))
    settings = {"scoring": SCORING[task], "cv": cv, "refit": False}
    if params["random"]:
        settings |= {"n_iter": params["random"], "random_state": seed}
        search = RandomizedSearchCV(estimator, grid, **settings)
    else:
        search = KernelSearchCV(estimator, grid, **settings)
    with warnings.catch_warnings():
        # The table keeps the failed points as NaN; a search without any point left
        # raises. Points that did not converge compete with the score they reached.
        warnings.simplefilter("ignore")
        search.fit(X, y)
    columns = ("params", "mean_test_score", "std_test_score")
    points = zip(*(search.cv_results_[column] for column in columns), strict=True)
    rows = [
        point | {"mean_score": float(mean), "std_score": float(std)}
        for point, mean, std in points
    ]
    return fixed | search.best_params_, rows


def _some_rows(prepared, task, most, seed):
    """At most `most` of the training rows, classes in proportion."""
    X, y = prepared.X_train, prepared.y_fit
    if most is None or len(y) <= most:
        return X, y
    strata = _strata(y, task)
    return resample(
        X, y, replace=False, n_samples=most, stratify=strata, random_state=seed
    )


def _strata(y, task):
    """The classes to stratify by, those of one row as the largest; None for numbers."""
    if task != "classification":
        return None
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.where(counts[codes] > 1, codes, counts.argmax())


def search_repeat(table_path, split_path, params, handed_over, repeat):
    """(best parameters, table of the cross-validation) of one repeat."""
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
    """The protocol of 2014: all rows, and one fold that fits on one half and tests on
    the other.
    """
    fit, validation = np.flatnonzero(~table.tuning_rows), table.tuning_rows.nonzero()[0]
    prepared = prepare(table, fit, validation, **preparation)
    prepared.X_train = np.vstack([prepared.X_train, prepared.X_test])
    prepared.y_train = np.concatenate([prepared.y_train, prepared.y_test])
    rows = np.arange(len(table.y))
    return prepared, [(rows[: len(fit)], rows[len(fit) :])]

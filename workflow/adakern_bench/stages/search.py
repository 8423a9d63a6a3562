"""Stage ``search``: hyper-parameters by cross-validation on the training part alone."""

import csv
import time
import warnings

import numpy as np
from sklearn.model_selection import RandomizedSearchCV
from sklearn.utils import resample
from threadpoolctl import threadpool_limits

from adakern._utils.files import atomic_path, plain, read_json, write_json
from adakern.model_selection import KernelSearchCV
from adakern_bench.data import Table
from adakern_bench.runtime.attempts import each_repeat, repeats_of
from adakern_bench.runtime.isolate import isolated
from adakern_bench.stages.estimators import expand_grid, make_estimator
from adakern_bench.stages.prepare import Prepared, prepare
from adakern_bench.stages.split import folds, load_split

__all__ = ["run", "search_grid"]

SCORING = {"classification": "accuracy", "regression": "neg_mean_squared_error"}


def search_grid(prepared, task, params, handed_over, seed, cv=None):
    """Best parameters of one repeat, and the table of the cross-validation.

    Parameters
    ----------
    prepared : adakern_bench.stages.prepare.Prepared
        Only its training part is used.
    task : {"classification", "regression"}
    params : dict
        As ``adakern_bench.config.settings.search`` gives them.
    handed_over : dict
        Parameters found for another method; fixed before the grid is searched.
    seed : int
        Of the folds, of the points of a random search and of the estimator.
    cv : list of (ndarray, ndarray), default=None
        The folds; drawn where None.

    Returns
    -------
    best : dict
        ``handed_over`` and the grid's best point.
    cv_table : list of dict
        One row for each point: parameters, mean and standard deviation of the score.
    """
    fixed = {k: v for k, v in handed_over.items() if k not in params["fixed"]}
    estimator = make_estimator(
        params["estimator"], fixed, seed=seed, threads=params["threads"]
    )
    grid = expand_grid(params["grid"], estimator.get_params(), params["step"])
    X, y = _some_rows(prepared, task, params["max_rows"], seed)
    if cv is None:
        cv = list(folds(task, params["folds"], seed).split(X, _strata(y, task)))
    settings = {"scoring": SCORING[task], "cv": cv, "refit": False}
    if params["random"]:
        search = RandomizedSearchCV(
            estimator, grid, n_iter=params["random"], random_state=seed, **settings
        )
    else:
        search = KernelSearchCV(estimator, grid, **settings)
    with warnings.catch_warnings():
        # The table keeps the failed points as NaN; a search without any point left
        # raises. Points that did not converge compete with the score they reached.
        warnings.simplefilter("ignore")
        search.fit(X, y)
    rows = [
        point | {"mean_score": float(mean), "std_score": float(std)}
        for point, mean, std in zip(
            search.cv_results_["params"],
            search.cv_results_["mean_test_score"],
            search.cv_results_["std_test_score"],
            strict=True,
        )
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
    """What rows are drawn in proportion to: classes; None for numbers.

    A class of a single row, which cannot be on both sides, counts as the largest.
    """
    if task != "classification":
        return None
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.where(counts[codes] > 1, codes, counts.argmax())


def run(inputs, outputs, params):
    """Search every repeat of a batch; failures are kept as such, with their reason.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    handed_over = _handed_over(inputs)
    first = {}

    def work(repeat):
        if first and params["tuning"] == "published" and not handed_over:
            # One tuning split for all: nothing is searched twice.
            again = {"repeat": repeat, "search_seconds": 0.0}
            return {"found": first | again, "points": []}
        before = handed_over.get(repeat, {"status": "ok", "best_params": {}})
        if before["status"] != "ok":
            return {"found": {**before, "repeat": repeat}, "points": []}
        start = time.perf_counter()
        outcome = isolated(
            _search_repeat,
            inputs,
            params,
            before["best_params"],
            repeat,
            time_limit=params["time_limit"],
        )
        best, rows = outcome.value or (None, [])
        found = {
            "repeat": repeat,
            "status": outcome.status,
            "reason": outcome.reason,
            "best_params": best,
            "search_seconds": time.perf_counter() - start,
        }
        first.update(found)
        return {"found": found, "points": [{"repeat": repeat} | row for row in rows]}

    def give_up(repeat, reason):
        ending = {"status": "failed", "reason": reason, "best_params": None}
        return {"found": {"repeat": repeat} | ending, "points": []}

    searched = each_repeat(
        repeats_of(outputs["search"]),
        params["attempt"],
        params["journal"],
        work,
        give_up,
        reason_of=lambda one: one["found"].get("reason"),
    )
    points = [point for one in searched for point in one["points"]]
    with atomic_path(outputs["cv_table"]) as path, open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(k for p in points for k in p)))
        writer.writeheader()
        writer.writerows(points)
    write_json(outputs["search"], [one["found"] for one in searched])


def _handed_over(inputs):
    return {
        entry["repeat"]: entry
        for path in inputs["handed_over"]
        for entry in read_json(path)
    }


def _search_repeat(inputs, params, handed_over, repeat):
    table = Table.load(inputs["table"])
    cv = None
    if params["tuning"] == "published":
        prepared, cv = _published_tuning(table, params["preparation"])
    else:
        train, test = load_split(inputs["split"], repeat)
        prepared = prepare(table, train, test, **params["preparation"])
    n_rows = params["train_rows"] or len(table.y)
    if params["holdout_rows"] and n_rows > params["holdout_rows"]:
        params = params | {"folds": 1}
    with threadpool_limits(params["threads"]):
        best, rows = search_grid(
            prepared, table.task, params, handed_over, params["seed"] + repeat, cv
        )
    return {key: plain(value) for key, value in best.items()}, rows


def _published_tuning(table, preparation):
    """All rows, and the one fold that fits on one half of them and tests on the other.

    The protocol of the comparison of 2014: the halves hold test rows of every split.
    """
    fit, validation = np.flatnonzero(~table.tuning_rows), table.tuning_rows.nonzero()[0]
    halves = prepare(table, fit, validation, **preparation)
    together = Prepared(
        np.vstack([halves.X_train, halves.X_test]),
        np.concatenate([halves.y_train, halves.y_test]),
        halves.X_test,
        halves.y_test,
        halves.centre,
        halves.spread,
    )
    rows = np.arange(len(table.y))
    return together, [(rows[: len(fit)], rows[len(fit) :])]

"""Fit an estimator and record its scores and times."""

import inspect
import pickle
import shutil
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from adakern._utils.files import plain
from adakern._utils.printable import one_line
from adakern._utils.wording import count
from adakern.evaluation import OPTIONAL_METRICS, RECORDED, quantile_crps, score
from adakern.evaluation.metrics import (
    area_under_curve,
    interval_scores,
    probability_scores,
)
from adakern_bench.config.estimators import planned_estimator
from adakern_bench.data.table import Table
from adakern_bench.records.machine import commit, machine, package_versions
from adakern_bench.records.prepare import prepare, rows_of, takes_one
from adakern_bench.records.split import load_split, validation_split

#: Coverage of the prediction intervals of regressors.
COVERAGE = 0.9
#: Maximum number of warnings in a record.
MOST_WARNINGS = 20
#: Fact of a fitted estimator -> how the values of its binary models are combined.
COMBINED = {"rank": max, "n_iter": max, "objective": sum, "duality_gap": max}
#: Levels of the predicted quantiles of regressors.
LEVELS = np.linspace(0.01, 0.99, 99)


def record_of(settings, told, repeat, found, outcome):
    """Return the record of a repeat, finished or failed.

    `settings` are those of the fit and `found` is the result of its search; `told`
    identifies the record and describes its split and search.
    """
    known = {
        "repeat": repeat,
        "seed": settings["seed"] + repeat,
        "threads": settings["threads"],
        "best_params": found["best_params"],
        "search_seconds": found.get("search_seconds"),
        "code_version": settings["code"],
        "commit": commit(),
        "versions": package_versions(),
        "machine": machine(),
        "started_at": outcome.started_at,
        "estimator": settings["estimator"]["_target_"],
        "preparation": settings["preparation"],
    }
    ended = {
        "status": outcome.status,
        "reason": outcome.reason,
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "run_seconds": outcome.seconds,
    }
    return EMPTY | told | known | (outcome.value or {}) | ended


#: Values in the record of a run that did not finish.
EMPTY = dict.fromkeys(
    (*RECORDED, "params", "converged", "n_train", "n_test", "n_features")
)
EMPTY |= dict.fromkeys(("data_fingerprint", "data_sha256", "validates_at_random"))
EMPTY |= {"metrics": {"train": {}, "test": {}}, "warnings": [], "extra": {}}


def solve_one(table_path, split_path, params, best_params, repeat, keep=None):
    """Fit and evaluate an estimator on a split; save the model in the folder `keep`."""
    table = Table.load(table_path)
    train, test = load_split(split_path, repeat)
    seed = params["seed"] + repeat
    planned = planned_estimator(params, best_params, seed)
    data = prepare(table, train, test, **params["preparation"])
    with (
        threadpool_limits(params["threads"]),
        warnings.catch_warnings(record=True) as w,
    ):
        warnings.simplefilter("always")
        start = time.perf_counter()
        estimator = fit(planned, data, params["validates_from"])
        fitted = time.perf_counter()
        on_test = data.restore(estimator.predict(data.X_test))
        predicted = time.perf_counter()
        on_train = data.restore(estimator.predict(data.X_train))
        size = _model_bytes(estimator)
        beyond = _optional_scores(estimator, data)
        if keep is not None:
            _keep(estimator, data, table, test[:5], keep)
    # Labels of the whole table, so that F1 does not depend on the classes of a part.
    labels = np.unique(table.y) if table.task == "classification" else None
    return {
        "params": {k: plain(v) for k, v in planned.get_params().items()},
        "metrics": {
            "train": score(table.task, data.y_train, on_train, labels),
            "test": score(table.task, data.y_test, on_test, labels) | beyond,
        },
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "predictions_per_second": len(test) / max(predicted - fitted, 1e-9),
        "model_bytes": size,
        "converged": not any(issubclass(x.category, ConvergenceWarning) for x in w),
        "warnings": _sentences(w),
        "n_train": len(train),
        "n_test": len(test),
        "n_features": table.X.shape[1],
        "validates_at_random": validates_at_random(
            planned, data, params["validates_from"]
        ),
        "data_fingerprint": table.provenance.get("fingerprint"),
        **fitted_facts(estimator),
        **_elsewhere(estimator),
        **_of_targets(table, data.y_test, on_test),
    }


def _elsewhere(estimator):
    """Package versions of the estimator's Python, if it is not this one."""
    first = getattr(estimator, "estimators_", [estimator])[0]
    versions = getattr(first, "versions_", None)
    return {"versions": versions} if versions else {}


def _of_targets(table, y, predicted):
    """Scores of each of several targets, in its own units."""
    if not table.targets:
        return {}
    each = zip(table.targets, y.T, predicted.T, strict=True)
    return {"targets": {name: score(table.task, *values) for name, *values in each}}


def _sentences(caught):
    """Distinct warnings, as text; at most the first MOST_WARNINGS."""
    here = f"{Path.cwd()}/"  # removed, since it names folders of this computer
    found = (f"{x.category.__name__}: {x.message}".replace(here, "") for x in caught)
    told = sorted(set(map(one_line, found)))
    if more := len(told[MOST_WARNINGS:]):
        return [*told[:MOST_WARNINGS], f"... and {count(more, 'more warning')}"]
    return told


def fit(estimator, data, validates_from=None):
    """Fit an estimator; if it validates during `fit`, it does so as it will be tested.

    Its `fit` gets the groups or times if it has such a parameter, or else, from
    `validates_from` rows on, a validation part of unseen groups or later rows. A
    single-target estimator is fitted to each of several targets.
    """
    if takes_one(estimator, data):
        together = MultiOutputRegressor(estimator)
        together.estimators_ = [
            fit(clone(estimator), data.of_target(number), validates_from)
            for number in range(data.n_targets)
        ]
        return together
    X = data.X_train
    y = data.y_fit
    how = _fit_parameter(estimator, data)
    told = {}
    if how == "X_val" and _validates(data, validates_from):
        train, validation = validation_split(data)
        told = {"X_val": rows_of(X, validation), "y_val": y[validation]}
        X, y = rows_of(X, train), y[train]
    elif how == data.apart and how:
        told = {how: data.marks}
    estimator.fit(X, y, **told)  # may return nothing
    return estimator


def validates_at_random(estimator, data, validates_from):
    """Whether a fit validates on random rows although it is tested on unseen groups or
    later rows.
    """
    is_told = _fit_parameter(estimator, data) is not None
    return bool(data.apart) and not is_told and _validates(data, validates_from)


def _fit_parameter(estimator, data):
    """Name of the parameter of `fit` for groups, times or a validation part, if any."""
    ways = [data.apart, "X_val"] if data.apart else []
    known = inspect.signature(estimator.fit).parameters
    return next((way for way in ways if way in known), None)


def _validates(data, validates_from):
    return validates_from is not None and len(data.y_train) >= validates_from


def _keep(estimator, data, table, rows, folder):
    """Save the model; warn if skops cannot write it."""
    from adakern_bench.records.models import save_model

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MLflow's warnings do not concern the fit
            save_model(estimator, data, table, rows, folder)
    except Exception as error:  # whatever a third-party model raises
        shutil.rmtree(folder, ignore_errors=True)
        warnings.warn(f"the model could not be saved: {error}", stacklevel=1)


def _model_bytes(estimator):
    """Size of the pickled model; None if it cannot be pickled."""
    try:
        return len(pickle.dumps(estimator))
    except Exception:  # whatever a third-party model raises
        return None


def _optional_scores(estimator, data):
    """Test scores of probabilities, intervals and quantiles; None if undefined."""
    X = data.X_test
    y = data.y_test
    found = {}
    if hasattr(estimator, "predict_proba"):
        found = probability_scores(y, estimator.predict_proba(X), estimator.classes_)
    elif hasattr(estimator, "decision_function"):
        found = {
            "auc": area_under_curve(
                y, estimator.decision_function(X), estimator.classes_
            )
        }
    elif hasattr(estimator, "predict_interval"):
        ends = np.moveaxis(np.asarray(estimator.predict_interval(X, COVERAGE)), -1, 0)
        low, high = map(data.restore, ends)
        found = interval_scores(y, low, high, COVERAGE)
    if hasattr(estimator, "predict_quantiles"):
        found["crps"] = quantile_crps(y, _quantiles(estimator, data), LEVELS)
    finite = {k: v for k, v in found.items() if v is not None and np.isfinite(v)}
    task = "classification" if is_classifier(estimator) else "regression"
    return dict.fromkeys(OPTIONAL_METRICS[task]) | finite


def _quantiles(estimator, data):
    """Predicted quantiles in the targets' own units."""
    found = np.asarray(estimator.predict_quantiles(data.X_test, LEVELS))
    each = np.moveaxis(found, -1, 0)
    return np.moveaxis(data.restore(each), 0, -1)


def fitted_facts(estimator):
    """Rank, support, iterations, objective and duality gap of a fitted estimator; None
    if it has none.
    """
    if isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    support = getattr(estimator, "support_", None)
    if support is not None:  # one array per binary model; each row counts once
        parts = support if isinstance(support, list | tuple) else [support]
        support = len(np.unique(np.concatenate([np.ravel(part) for part in parts])))
    extra = {k: plain(v) for k, v in getattr(estimator, "record_", {}).items()}
    return {"n_support": support, "extra": extra} | {
        name: _total(getattr(estimator, f"{name}_", None), combine)
        for name, combine in COMBINED.items()
    }


def _total(value, combine):
    """Combine a scalar or one value per binary model; None if not numeric."""
    values = np.ravel(value)
    if not values.size or not np.issubdtype(values.dtype, np.number):
        return None
    return plain(combine(values))

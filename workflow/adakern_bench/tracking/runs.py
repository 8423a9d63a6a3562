"""From records of solves to the runs that MLflow ought to hold."""

import hashlib
import json
import math
from statistics import fmean, stdev
from typing import NamedTuple

from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC
from adakern_bench.config.sweeps import base_name
from adakern_bench.report.origin import git
from adakern_bench.report.palette import families_of

__all__ = ["Run", "cell_key", "cells_of", "key_of", "run_of", "sha256"]

_MAX_VALUE = 5000  # characters of a parameter or tag; MLflow takes 6000 and 5000
#: Field of a record -> its section among the metrics.
_QUANTITIES = {
    "fit_seconds": "cost",
    "predict_seconds": "cost",
    "search_seconds": "cost",
    "peak_memory_bytes": "cost",
    "rank": "solver",
    "n_support": "solver",
    "n_iter": "solver",
    "objective": "solver",
    "duality_gap": "solver",
}
#: What is the same in every run that can be compared: parameters, no metrics.
_CONSTANTS = ("n_train", "n_test", "n_features", "seed", "estimator")


class Run(NamedTuple):
    """One run as it ought to stand in MLflow."""

    key: str
    name: str
    tags: dict
    params: dict
    metrics: dict
    start: float | None  # seconds since 1970; None: now
    seconds: float
    failed: bool
    artifacts: dict  # name -> text, or Path of a file
    digest: str  # of what the run says; another digest makes it out of date
    parent: str | None = None  # its key
    steps: dict = {}  # metric -> values at step 0, 1, ...
    inputs: tuple = ()  # (name, digest, source) of data sets


def key_of(record):
    """The solve that a run is of, among all of its experiment.

    Parameters
    ----------
    record : dict
        Of a solve.
    """
    return f"{cell_key(record)}/{record['repeat']}"


def cell_key(record):
    """The data set and method that a run is of.

    Parameters
    ----------
    record : dict
        Of a solve.
    """
    return f"{record['dataset']}/{record['method']}"


def _tags(record, *names):
    return {name: str(record.get(name)) for name in ("experiment", "dataset", *names)}


def cells_of(records, entries, curves):
    """A run for each data set and method: what its repeats have in common.

    Parameters
    ----------
    records : list of dict
        Of all solves.
    entries : mapping
        The configuration: data sets and methods are described from it.
    curves : mapping of (str, str) to mapping
        Data set and method -> parameter -> scores of the search along its values.

    Yields
    ------
    Run
    """
    cells = {}
    for record in sorted(records, key=lambda record: record["repeat"]):
        cells.setdefault(cell_key(record), []).append(record)
    ranks = _ranks(cells)
    families = families_of(entries.get("method", {}))
    for key, batch in cells.items():
        first = batch[0]
        dataset, method = first["dataset"], first["method"]
        entry = entries.get("method", {}).get(base_name(method), {})
        about = ". ".join(filter(None, map(entry.get, ("description", "reference"))))
        started = [r["started_at"] for r in batch if r.get("started_at")]
        metrics = _means(batch) | {"test/n": sum(r["status"] == "ok" for r in batch)}
        if key in ranks:
            metrics["test/rank"] = ranks[key]
        steps = {
            f"search/{name}": list(map(float, values))
            for name, values in curves.get((dataset, method), {}).items()
        }
        content = [batch, about, metrics, steps]
        yield Run(
            key=key,
            name=f"{dataset} / {method}",
            tags=_tags(first, "method", "task")
            | {"kind": "method", "family": families.get(base_name(method), "unknown")}
            | {"mlflow.note.content": about, **_source(entries)},
            params=_common_params(batch),
            metrics=metrics,
            start=min(started, default=None),
            seconds=sum(map(_seconds, batch)),
            failed=all(record["status"] != "ok" for record in batch),
            artifacts={},
            digest=sha256(json.dumps(content, sort_keys=True).encode()),
            steps=steps,
            inputs=_inputs(first, entries),
        )


def _means(batch):
    """Mean and standard deviation over the repeats of all metrics but the solver's."""
    values = {}
    for record in batch:
        if record["status"] == "ok":
            for name, value in _metrics(record).items():
                values.setdefault(name, []).append(value)
    metrics = {f"{name}_mean": fmean(found) for name, found in values.items()}
    return metrics | {
        f"{name}_std": stdev(found) for name, found in values.items() if len(found) > 1
    }


def _ranks(cells):
    """Key of a cell -> its rank among the methods on its data set, ties in the mean."""
    means = {}
    for key, batch in cells.items():
        metric = MAIN_METRIC[batch[0]["task"]]
        mean = _means(batch).get(f"test/{metric}_mean")
        if mean is not None:
            signed = -mean if GREATER_IS_BETTER[metric] else mean
            means.setdefault(batch[0]["dataset"], {})[key] = signed
    ranks = {}
    for scores in means.values():
        for key, score in scores.items():
            better = sum(other < score for other in scores.values())
            equal = sum(other == score for other in scores.values())
            ranks[key] = better + (equal + 1) / 2
    return ranks


def _common_params(batch):
    """Parameters that no repeat differs in."""
    first, *others = ({**_params(record)} for record in batch)
    return {
        name: value
        for name, value in first.items()
        if name != "seed" and all(other.get(name) == value for other in others)
    }


def _inputs(record, entries):
    """The data set with its fingerprint, as `mlflow.log_input` would write it."""
    fingerprint = record.get("data_fingerprint") or record.get("data_sha256")
    if not fingerprint:
        return ()
    entry = entries.get("dataset", {}).get(base_name(record["dataset"]), {})
    source = {key: entry[key] for key in ("title", "homepage") if entry.get(key)}
    return ((record["dataset"], str(fingerprint)[:36], json.dumps(source)),)


def _source(entries):
    """Where the code came from, under the names that MLflow shows."""
    commit = git("rev-parse", "HEAD") if entries else None
    named = {"mlflow.source.name": "adakern", "mlflow.source.type": "PROJECT"}
    return named | ({"mlflow.source.git.commit": commit} if commit else {})


def _params(record):
    params = {
        name: _text(value) for name, value in (record.get("params") or {}).items()
    }
    return params | {
        name: _text(record[name])
        for name in _CONSTANTS
        if record.get(name) is not None and name not in params
    }


def _metrics(record):
    metrics = {
        f"{split}/{metric}": value
        for split, scores in (record.get("metrics") or {}).items()
        for metric, value in (scores or {}).items()
    }
    metrics |= {
        f"{part}/{name}": record.get(name) for name, part in _QUANTITIES.items()
    }
    return {k: float(v) for k, v in metrics.items() if _is_number(v)}


def _seconds(record):
    return sum(record.get(f"{stage}_seconds") or 0 for stage in ("fit", "predict"))


def run_of(record, config, model):
    """The run of one solve.

    Parameters
    ----------
    record : dict
        Of a solve.
    config : str or None
        The resolved configuration, an artifact.
    model : dict of str to Path
        Files of the fitted model, if it was kept.
    """
    tags = _tags(record, "method", "task", "repeat", "status")
    tags |= {"kind": "solve", "code_version": str(record.get("code_version"))}
    if record.get("reason"):
        tags["reason"] = str(record["reason"])[:_MAX_VALUE]
    text = json.dumps(record, indent=1, sort_keys=True)
    artifacts = {"record.json": text}
    if config is not None:
        artifacts["config.yaml"] = config
    artifacts |= {f"model/{name}": path for name, path in model.items()}
    # MLmodel holds a number of the model's own.
    made = model["MLmodel"].read_text(encoding="utf-8") if "MLmodel" in model else ""
    return Run(
        key=key_of(record),
        name=f"repeat {record['repeat']}",
        tags=tags,
        params=_params(record),
        metrics=_metrics(record),
        start=record.get("started_at"),
        seconds=_seconds(record),
        failed=record["status"] != "ok",
        artifacts=artifacts,
        digest=sha256((text + made).encode()),
        parent=cell_key(record),
        inputs=_inputs(record, {}),
    )


def _text(value):
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 1] + "…"


def _is_number(value):
    return isinstance(value, (int, float)) and math.isfinite(value)


def sha256(content):
    """Hexadecimal digest.

    Parameters
    ----------
    content : bytes
        What is to be told from others.
    """
    return hashlib.sha256(content).hexdigest()

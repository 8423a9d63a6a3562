"""Records of fits as MLflow runs: a view of the files that can be made again.

One process at a time writes (a file lock), a run is found again by the tag of its fit,
and a tag that hashes the whole record tells whether it is up to date; so logging twice,
from two processes or after a crash adds nothing twice. By hand, from the files and at
will: ``python -m adakern_bench.tracking.track results``.

MLflow is imported when something is logged, not before.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import logging
import math
import os
import re
import socket
import tempfile
import time
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import pandas as pd
import yaml

from adakern._utils.files import atomic_path
from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC, RECORDED
from adakern.evaluation import ranks_by_dataset as ranks
from adakern_bench.config.sweeps import base_name
from adakern_bench.paths import kept_models
from adakern_bench.records.machine import git
from adakern_bench.records.read import find_records, read_file
from adakern_bench.report.curves import read_search, search_curves
from adakern_bench.report.palette import families_of

__all__ = ["DEFAULT_URI", "Logged", "experiment_id", "lock", "log_records", "log_runs"]
__all__ += ["main", "opened", "rebuild", "summary_run", "track"]

DEFAULT_URI = "sqlite:///mlflow.db"

#: Tags that say which fit a run is of, and what was written of it.
KEY, DIGEST, PARENT = "adakern.key", "adakern.digest", "mlflow.parentRunId"

#: What an experiment's summary run holds, if it is there.
SUMMARY = ("report.html", "*.csv", "config.yaml", "tables/*.csv", "figures/*.svg")

_MAX_VALUE = 5000  # characters of a parameter or tag; MLflow takes 6000 and 5000
#: What is the same in every run that can be compared: parameters, no metrics.
_CONSTANTS = ("n_train", "n_test", "n_features", "seed", "estimator")


class Logged(NamedTuple):
    """How many runs were written, were up to date, and were replaced or removed."""

    written: int
    unchanged: int
    removed: int

    def __add__(self, other):
        return Logged(*(a + b for a, b in zip(self, other, strict=True)))


class Run(NamedTuple):
    """One run as it ought to stand in MLflow."""

    key: str
    name: str
    tags: dict
    content: object  # what the run says; its hash makes another run out of date
    params: dict = {}
    metrics: dict = {}
    start: float | None = None  # seconds since 1970; None: now
    seconds: float = 0.0
    failed: bool = False
    artifacts: dict = {}  # name -> text, or Path of a file
    parent: str | None = None  # its key
    steps: dict = {}  # metric -> values at step 0, 1, ...
    record: dict = {}  # of the data set that went in

    @property
    def digest(self):
        return sha256(json.dumps(self.content, sort_keys=True).encode())


def sha256(content):
    """Hexadecimal digest."""
    return hashlib.sha256(content).hexdigest()


# From files to runs.


def track(results, records, *, tracking_uri=None):
    """Log the records of some files of one folder; what is up to date is left alone."""
    return _log_files(Path(results), records, tracking_uri)


def rebuild(results, *, tracking_uri=None):
    """Make MLflow say what the files of one experiment say, no more and no less.

    Logs every record below `results`, with the tables, figures and report as one
    summary run, and removes the runs of fits that have no record any more. An
    experiment of special computations alone goes by the name of its folder.
    """
    results = Path(results)
    found = (sorted(results.glob(pattern)) for pattern in SUMMARY)
    summary = {path.relative_to(results).as_posix(): path for f in found for path in f}
    return _log_files(results, find_records(results), tracking_uri, summary)


def _log_files(results, files, tracking_uri, summary=None):
    """The records of some files; with a summary, they are all that there is."""
    path = results / "config.yaml"
    config = path.read_text(encoding="utf-8") if path.exists() else None
    records = [record for file in files for record in read_file(file)]
    records.sort(key=lambda record: record["experiment"])
    parts = groupby(records, key=lambda record: record["experiment"])
    batches = {name: list(batch) for name, batch in parts}
    if summary is not None and not batches:
        batches = {results.name: []}
    total = Logged(0, 0, 0)
    for name, batch in batches.items():
        total += log_records(
            batch,
            experiment=name,
            tracking_uri=tracking_uri,
            config=config,
            entries=yaml.safe_load(config) if config else None,
            curves=_curves(results, batch),
            models=partial(kept_models, results),
            summary=summary and summary_run(name, summary, _mean_ranks(results)),
            prune=summary is not None,
        )
    return total


def _curves(results, records):
    """What the searches of the records' methods saw."""
    cells = {(r["dataset"], r["method"]) for r in records}
    tables = {cell: read_search(results, *cell) for cell in cells}
    return {c: search_curves(table) for c, table in tables.items() if table is not None}


def _mean_ranks(results):
    """Mean rank of each method, in a section behind those that all runs have."""
    if not (results / "ranks.csv").exists():
        return {}
    rows = pd.read_csv(results / "ranks.csv").dropna(subset=["average_rank"])
    names = "whole/" + rows["task"] + " rank of " + rows["method"]
    return dict(zip(names, rows["average_rank"], strict=True))


def log_records(
    records,
    *,
    experiment,
    tracking_uri=None,
    config=None,
    entries=None,
    curves=None,
    models=None,
    summary=None,
    prune=False,
):
    """Log records of fits; what is up to date is left alone.

    A run for each data set and method, with means over the repeats, and below it one
    for each repeat. `config` (the resolved configuration as YAML) is an artifact of
    every run and `entries` the same as a mapping, which describes them; `curves` maps
    data set and method to what their search saw; `models` maps a record to the files of
    its fitted model. A run is out of date when its record changed (which holds every
    parameter of the fit), not when something else in the configuration did. With
    `prune`, runs of other fits are removed; a `summary` run stands beside them.
    """
    strangers = {r["experiment"] for r in records} - {experiment}
    if strangers:
        raise ValueError(
            f"experiment={experiment!r}, but there are records of {sorted(strangers)}; "
            "log each experiment under its own name."
        )
    runs = [*_cells(records, entries or {}, curves or {})]
    runs += [_fit(r, config, models(r) if models else {}) for r in records]
    return log_runs(runs + [summary] * bool(summary), experiment, tracking_uri, prune)


def summary_run(experiment, artifacts, metrics=None):
    """One run that stands for the whole experiment, with its tables and figures."""
    contents = {name: sha256(path.read_bytes()) for name, path in artifacts.items()}
    return Run(
        key="summary",
        name=f"{experiment}: summary",
        tags={"kind": "summary", "experiment": experiment},
        content=[contents, metrics],
        metrics=metrics or {},
        artifacts=artifacts,
    )


def _cell_key(record):
    return f"{record['dataset']}/{record['method']}"


def _key(record):
    return f"{_cell_key(record)}/{record['repeat']}"


def _tags(record, *names):
    return {name: str(record.get(name)) for name in ("experiment", "dataset", *names)}


def _cells(records, entries, curves):
    """A run for each data set and method: what its repeats have in common."""
    cells = {}
    for record in sorted(records, key=lambda record: record["repeat"]):
        cells.setdefault(_cell_key(record), []).append(record)
    means = {key: _means(batch) for key, batch in cells.items()}
    placed = _ranks(cells, means)
    families = families_of(entries.get("method", {}))
    for key, batch in cells.items():
        dataset, method = batch[0]["dataset"], batch[0]["method"]
        entry = entries.get("method", {}).get(base_name(method), {})
        about = ". ".join(filter(None, map(entry.get, ("description", "reference"))))
        started = [r["started_at"] for r in batch if r.get("started_at")]
        metrics = means[key] | {"test/n": sum(r["status"] == "ok" for r in batch)}
        steps = {
            f"tuning/{name}": list(map(float, values))
            for name, values in curves.get((dataset, method), {}).items()
        }
        yield Run(
            key=key,
            name=f"{dataset} / {method}",
            tags=_tags(batch[0], "method", "task")
            | {"kind": "method", "family": families.get(base_name(method), "unknown")}
            | {"mlflow.note.content": about, **_source(entries)},
            content=[batch, about, metrics, placed[key], steps],
            params=_common_params(batch),
            metrics=metrics | {"test/rank": placed[key]},
            start=min(started, default=None),
            seconds=sum(map(_seconds, batch)),
            failed=all(record["status"] != "ok" for record in batch),
            steps=steps,
            record=batch[0],
        )


def _fit(record, config, model):
    """The run of one repeat."""
    tags = _tags(record, "method", "task", "repeat", "status")
    tags |= {"kind": "solve", "code_version": str(record.get("code_version"))}
    if record.get("reason"):
        tags["reason"] = str(record["reason"])[:_MAX_VALUE]
    artifacts = {"record.json": json.dumps(record, indent=1, sort_keys=True)}
    if config is not None:
        artifacts["config.yaml"] = config
    # MLmodel holds a number of the model's own.
    made = model["MLmodel"].read_text(encoding="utf-8") if "MLmodel" in model else ""
    return Run(
        key=_key(record),
        name=f"repeat {record['repeat']}",
        tags=tags,
        content=[record, made],
        params=_params(record),
        metrics=_metrics(record),
        start=record.get("started_at"),
        seconds=_seconds(record),
        failed=record["status"] != "ok",
        artifacts=artifacts | {f"model/{name}": path for name, path in model.items()},
        parent=_cell_key(record),
        record=record,
    )


def _means(batch):
    """Mean and standard deviation over the repeats that finished."""
    values = {}
    for record in batch:
        for name, value in _metrics(record).items() if record["status"] == "ok" else ():
            values.setdefault(name, []).append(value)
    metrics = {f"{name}_mean": fmean(found) for name, found in values.items()}
    return metrics | {
        f"{name}_std": stdev(found) for name, found in values.items() if len(found) > 1
    }


def _ranks(cells, means):
    """Key of a cell -> its rank among the methods on its data set."""
    found = {}
    by_dataset = sorted(cells, key=lambda key: cells[key][0]["dataset"])
    for _, group in groupby(by_dataset, key=lambda key: cells[key][0]["dataset"]):
        keys = list(group)
        metric = MAIN_METRIC[cells[keys[0]][0]["task"]]
        scores = [means[key].get(f"test/{metric}_mean", math.nan) for key in keys]
        (row,) = ranks([scores], greater_is_better=GREATER_IS_BETTER[metric])
        found |= dict(zip(keys, map(float, row), strict=True))
    return found


def _common_params(batch):
    """Parameters that no repeat differs in."""
    first, *others = map(_params, batch)
    return {
        name: value
        for name, value in first.items()
        if name != "seed" and all(other.get(name) == value for other in others)
    }


def _params(record):
    constants = {n: record[n] for n in _CONSTANTS if record.get(n) is not None}
    params = constants | (record.get("params") or {})
    return {name: _text(value) for name, value in params.items()}


def _text(value):
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 1] + "…"


def _metrics(record):
    """Scores and costs; MLflow sorts sections by the alphabet: "test" comes first."""
    metrics = {
        f"{split}/{metric}": value
        for split, scores in (record.get("metrics") or {}).items()
        for metric, value in (scores or {}).items()
    }
    for name in RECORDED:
        section = "time" if name.endswith("_seconds") else "work"
        metrics[f"{section}/{name}"] = record.get(name)
    return {
        name: float(f"{value:.6g}")  # MLflow shows all digits
        for name, value in metrics.items()
        if isinstance(value, (int, float)) and math.isfinite(value)
    }


def _seconds(record):
    stages = ("search", "fit", "predict")
    return sum(record.get(f"{stage}_seconds") or 0 for stage in stages)


def _source(entries):
    """Where the code came from, under the names that MLflow shows."""
    commit = git("rev-parse", "HEAD") if entries else None
    named = {"mlflow.source.name": "adakern", "mlflow.source.type": "PROJECT"}
    return named | ({"mlflow.source.git.commit": commit} if commit else {})


# From runs to MLflow.


@contextlib.contextmanager
def opened(experiment, tracking_uri):
    """The client and the experiment's id, while no other process here writes."""
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    _check_server(uri)
    from mlflow import MlflowClient

    with lock(uri), _in_words(uri):
        # The forty lines that Alembic writes when it makes the tables.
        for name in ("alembic", "mlflow.store.db.utils"):
            logging.getLogger(name).setLevel(logging.WARNING)
        _make_database(uri)
        client = MlflowClient(tracking_uri=uri)
        yield client, _experiment(client, experiment, _database(uri))


def experiment_id(experiment, tracking_uri=None):
    """MLflow's own number of an experiment, made if it does not exist."""
    with opened(experiment, tracking_uri) as (_, number):
        return number


def _check_server(uri):
    """Fail at once where no server answers: MLflow's client tries for minutes."""
    address = urlsplit(uri)
    if address.scheme not in ("http", "https"):
        return
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        socket.create_connection((address.hostname, port), timeout=10).close()
    except OSError as error:
        raise ConnectionError(
            f"No MLflow server answers at {uri} ({error}). The results are safe in "
            "their files: start the server or change MLFLOW_TRACKING_URI, then "
            "run again, or fill it later with "
            "`python -m adakern_bench.tracking.track results --tracking-uri ...`."
        ) from error


@contextlib.contextmanager
def _in_words(uri):
    """Say why a database cannot be written, without the SQL."""
    reasons = {
        "database is locked": "another program holds it: end that",
        "disk is full": "its disk is full: free some space",
        "disk I/O error": "its disk or quota is full, or broken: free some space",
        "readonly database": "it may not be written: change its permissions",
    }
    try:
        yield
    except Exception as error:  # MLflow's or SQLAlchemy's
        for sign, reason in reasons.items():
            if sign in str(error):
                raise OSError(
                    f"The tracker's database {uri} cannot be written, {reason} and run "
                    "the same command again. The results are safe in their files"
                ) from error
        raise


@contextlib.contextmanager
def lock(uri):
    """One writer at a time: several on a cold SQLite file lose every run."""
    database = _database(uri)
    if database:
        database.parent.mkdir(parents=True, exist_ok=True)
        path = Path(f"{database}.lock")
    else:
        # Of this user: a file in the shared temporary folder belongs to its first one.
        mine = f"adakern-{os.getuid()}-{sha256(uri.encode())[:16]}.lock"
        path = Path(tempfile.gettempdir()) / mine
    try:
        handle = path.open("a")
    except OSError as error:
        raise PermissionError(
            f"The tracker's lock {path} cannot be written ({error.strerror}). The "
            "results are safe in their files: make the folder writable, or name "
            "another place with tracking.uri"
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _database(uri):
    """Path of an SQLite file, or None for anything else."""
    prefix = "sqlite:///"
    return Path(uri.removeprefix(prefix)).absolute() if uri.startswith(prefix) else None


def _make_database(uri):
    """A new SQLite file with all tables, there whole or not at all.

    MLflow makes the tables in some forty steps, and refuses for ever a file in which
    they were broken off.
    """
    database = _database(uri)
    if database is None or database.exists():
        return
    from mlflow import MlflowClient

    with atomic_path(database) as path:  # the first question makes the tables
        MlflowClient(tracking_uri=f"sqlite:///{path}").get_experiment_by_name("Default")


def _experiment(client, name, database):
    """The experiment's id, resolved once: `set_experiment` may fall back to Default.

    Artifacts of a local database lie beside it, where notebooks and the server find
    them. A folder that was moved has runs whose artifacts are where it was: they go,
    and are written anew from the files.
    """
    from mlflow.exceptions import MlflowException

    home = database and (database.parent / "mlartifacts" / quote(name, "")).as_uri()
    found = client.get_experiment_by_name(name)
    if found and home and found.artifact_location != home:
        client.rename_experiment(found.experiment_id, f"{name} {found.experiment_id}")
        client.delete_experiment(found.experiment_id)
        found = None
    if found is None:
        tags = {"mlflow.experimentKind": "custom_model_development"}
        try:
            return client.create_experiment(name, home, tags)
        except MlflowException:  # another machine was faster
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return found.experiment_id


def _existing(client, experiment_id, dataset=None):
    """Runs of adakern that are not deleted, the oldest first."""
    runs, token = [], None
    while True:
        page = client.search_runs(
            [experiment_id],
            filter_string=f"tags.dataset = '{dataset}'" if dataset else "",
            max_results=1000,
            order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
            page_token=token,
        )
        runs += [run for run in page if KEY in run.data.tags]
        token = page.token
        if not token:
            return runs


def _up_to_date(run, wanted):
    """Whether a run was written to its end, and says what it should."""
    tags = run.data.tags
    return run.info.status != "RUNNING" and tags.get(DIGEST) == wanted.get(tags[KEY], "")


def log_runs(runs, experiment, tracking_uri=None, prune=False):
    """Write the runs that are missing, remove those that they replace, and nest them.

    With `prune`, runs that are not among them go too, but for a summary.
    """
    datasets = {run.tags.get("dataset") for run in runs}
    dataset = datasets.pop() if len(datasets) == 1 and not prune else None
    wanted = {run.key: run.digest for run in runs}
    with opened(experiment, tracking_uri) as (client, number):
        existing = _existing(client, number, dataset)
        whole = {run.data.tags[KEY] for run in existing if _up_to_date(run, wanted)}
        missing = [run for run in runs if run.key not in whole]
        for run in missing:
            _write(client, number, run)
        if missing:
            # Looked at again: another machine may have written the same runs to the
            # server meanwhile, and both then keep the same one.
            existing = _existing(client, number, dataset)
        kept, gone = {}, []
        for run in existing:
            key = run.data.tags[KEY]
            if key not in kept and _up_to_date(run, wanted):
                kept[key] = run
            elif key in wanted or (prune and key != "summary"):
                gone.append(run.info.run_id)
        for run_id in gone:
            client.delete_run(run_id)
        for run in runs:
            parent = run.parent and kept[run.parent].info.run_id
            if parent and kept[run.key].data.tags.get(PARENT) != parent:
                client.set_tag(kept[run.key].info.run_id, PARENT, parent)
    return Logged(len(missing), len(runs) - len(missing), len(gone))


def _write(client, experiment_id, run):
    from mlflow.entities import Metric, Param

    end = int(((run.start or time.time() - run.seconds) + run.seconds) * 1000)
    made = client.create_run(
        experiment_id,
        start_time=end - int(run.seconds * 1000),
        run_name=run.name,
        tags=run.tags | {KEY: run.key, DIGEST: run.digest},
    )
    run_id = made.info.run_id
    points = [(name, value, 0) for name, value in run.metrics.items()]
    points += [(n, v, k) for n, values in run.steps.items() for k, v in enumerate(values)]
    client.log_batch(
        run_id,
        metrics=[Metric(_allowed(n), v, end, k) for n, v, k in points if math.isfinite(v)],
        params=[Param(_allowed(name), value) for name, value in run.params.items()],
    )
    _log_data(client, run_id, run.record)
    for name, source in run.artifacts.items():
        if isinstance(source, Path):
            folder = Path(name).parent.as_posix()
            client.log_artifact(run_id, source, None if folder == "." else folder)
        else:
            client.log_text(run_id, source, name)
    status = "FAILED" if run.failed else "FINISHED"
    client.set_terminated(run_id, status=status, end_time=end)


def _allowed(name):
    """A blank for what MLflow's names may not hold, such as in `dank@eta=0.1`."""
    return re.sub(r"[^\w/.\- :]", " ", name)


def _log_data(client, run_id, record):
    """The data set that went in, with its fingerprint and size."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    fingerprint = record.get("data_fingerprint") or record.get("data_sha256")
    if not fingerprint:
        return
    rows = sum(record.get(part) or 0 for part in ("n_train", "n_test"))
    size = json.dumps({"num_rows": rows, "num_features": record.get("n_features")})
    dataset = Dataset(record["dataset"], fingerprint[:36], "local", "{}", profile=size)
    tag = InputTag("mlflow.data.context", "training and test")
    client.log_inputs(run_id, [DatasetInput(dataset, [tag])])


def main(argv=None):
    """Command line: rebuild the tracker from result files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    told = f"default: the variable MLFLOW_TRACKING_URI, or else {DEFAULT_URI}"
    where = "folder of one experiment, or of several"
    parser.add_argument("results", type=Path, help=where)
    parser.add_argument("--tracking-uri", help=told)
    options = parser.parse_args(argv)
    found = [options.results, *sorted(options.results.glob("*/"))]
    folders = [folder for folder in found if (folder / "records").is_dir()]
    if not folders:
        parser.error(f"{options.results} holds no records/ of an experiment")
    for folder in folders:
        try:
            n = rebuild(folder, tracking_uri=options.tracking_uri)
        except ValueError as error:
            parser.error(str(error))
        counts = f"{n.unchanged} up to date, {n.removed} removed"
        print(f"{folder.name}: {n.written} runs written, {counts}")


if __name__ == "__main__":
    main()

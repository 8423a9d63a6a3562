"""Records of solves as MLflow runs: a view of the files that can be made again.

MLflow is imported when something is logged, not before. One process at a time writes
(a file lock), a run is found again by the tags of its solve, and a tag that hashes the
whole record tells whether it is up to date; so logging twice, from two processes or
after a crash adds nothing twice.
"""

import contextlib
import hashlib
import json
import math
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from adakern.bench.config.sweeps import base_name
from adakern.bench.report.origin import git
from adakern.bench.report.palette import families_of
from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC

__all__ = [
    "DEFAULT_URI",
    "Logged",
    "experiment_id",
    "log_records",
    "log_summary",
    "prune",
]

DEFAULT_URI = "sqlite:///mlflow.db"

#: Artifacts that the server hands out itself, wherever its folder lies.
_PROXY = "mlflow-artifacts:/"
_KEY, _DIGEST = "adakern.key", "adakern.digest"
_PARAMS_PER_BATCH, _METRICS_PER_BATCH = 100, 1000  # MLflow's limits of one call
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
_PARENT = "mlflow.parentRunId"


class Logged(NamedTuple):
    """How many runs were written, were up to date, and were replaced or removed."""

    written: int
    unchanged: int
    removed: int

    def __add__(self, other):
        return Logged(*(a + b for a, b in zip(self, other, strict=True)))


class _Run(NamedTuple):
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


def log_records(
    records,
    *,
    experiment,
    tracking_uri=None,
    config=None,
    entries=None,
    curves=None,
    models=None,
):
    """Log records of solves; what is up to date is left alone.

    A run for each data set and method, with means over the repeats, and below it one
    for each repeat.

    Parameters
    ----------
    records : list of dict
        Records of solves of one experiment.
    experiment : str
        Name of the experiment, made if it does not exist. It must be the one that the
        records name.
    tracking_uri : str, default=None
        ``sqlite:///file.db`` or the address of a server. None takes the environment
        variable MLFLOW_TRACKING_URI, or else `DEFAULT_URI`.
    config : str, default=None
        The resolved configuration (YAML), an artifact of every run. A run is out of
        date when its record changed (which holds every parameter of the solve), not
        when something else in the configuration did.
    entries : mapping, default=None
        The configuration as a mapping: data sets and methods are described from it.
    curves : mapping of (str, str) to mapping, default=None
        Data set and method -> parameter -> scores of the search along its values;
        logged as metrics of as many steps.
    models : callable, default=None
        From a record to the files of its fitted model, path in the model's folder ->
        file; they become the artifact ``model`` of its run.

    Returns
    -------
    Logged

    Raises
    ------
    ValueError
        If a record is of another experiment.
    ConnectionError
        If no server answers at the address.
    """
    strangers = {r["experiment"] for r in records} - {experiment}
    if strangers:
        raise ValueError(
            f"experiment={experiment!r}, but there are records of {sorted(strangers)}; "
            "log each experiment under its own name."
        )
    cells = _cells_of(records, entries or {}, curves or {})
    solves = [
        _run_of(record, config, models(record) if models else {}) for record in records
    ]
    return _log([*cells, *solves], experiment, tracking_uri)


def log_summary(artifacts, *, experiment, tracking_uri=None, metrics=None, note=""):
    """Log one run that stands for the whole experiment, with its tables and figures.

    Parameters
    ----------
    artifacts : mapping of str to Path
        Name in MLflow (may hold folders) -> file.
    experiment, tracking_uri
        As in :func:`log_records`.
    metrics : mapping of str to float, default=None
        Logged with the run, e.g. its wall time.
    note : str, default=""
        Markdown shown as the run's description.

    Returns
    -------
    Logged
    """
    contents = {name: _sha256(Path(p).read_bytes()) for name, p in artifacts.items()}
    run = _Run(
        key="summary",
        name=f"{experiment}: summary",
        tags={"kind": "summary", "experiment": experiment, "mlflow.note.content": note},
        params={},
        metrics=dict(metrics or {}),
        start=None,
        seconds=0.0,
        failed=False,
        artifacts={name: Path(path) for name, path in artifacts.items()},
        digest=_sha256(json.dumps([contents, note, metrics], sort_keys=True).encode()),
    )
    return _log([run], experiment, tracking_uri)


def prune(records, *, experiment, tracking_uri=None):
    """Remove the runs of solves that are not among `records`; the summary run stays.

    Parameters
    ----------
    records : DataFrame or list of dict
        Of the solves.
    experiment : str
        Its name.
    tracking_uri : str, default=None
        Of MLflow.

    Returns
    -------
    Logged
    """
    with _open(experiment, tracking_uri) as (client, experiment_id):
        keep = {"summary", *map(_key, records), *map(_cell_key, records)}
        gone = [
            run
            for run in _existing(client, experiment_id)
            if run.data.tags[_KEY] not in keep
        ]
        for run in gone:
            client.delete_run(run.info.run_id)
    return Logged(0, 0, len(gone))


def _log(runs, experiment, tracking_uri):
    datasets = {run.tags.get("dataset") for run in runs}
    dataset = datasets.pop() if len(datasets) == 1 else None
    with _open(experiment, tracking_uri) as (client, experiment_id):
        existing = _existing(client, experiment_id, dataset)
        whole = {
            (run.data.tags[_KEY], run.data.tags.get(_DIGEST))
            for run in existing
            if _is_whole(run)
        }
        missing = [run for run in runs if (run.key, run.digest) not in whole]
        for run in missing:
            _write(client, experiment_id, run)
        if missing:
            # Looked at again: another machine may have written the same runs to the
            # server meanwhile, and both then keep the same one.
            existing = _existing(client, experiment_id, dataset)
        wanted = {run.key: run.digest for run in runs}
        kept, removed = _remove_stale(client, existing, wanted)
        _nest(client, kept, {run.key: run.parent for run in runs})
    return Logged(len(missing), len(runs) - len(missing), removed)


def _remove_stale(client, existing, wanted):
    """Delete the runs of wanted keys but the one, the oldest, that is up to date."""
    kept, removed = {}, 0
    for run in existing:
        key = run.data.tags[_KEY]
        if key not in wanted:
            continue
        up_to_date = _is_whole(run) and run.data.tags.get(_DIGEST) == wanted[key]
        if key not in kept and up_to_date:
            kept[key] = run
        else:
            client.delete_run(run.info.run_id)
            removed += 1
    return kept, removed


def _nest(client, runs, parents):
    """Put every run below that of its parent."""
    for key, run in runs.items():
        parent = parents[key] and runs[parents[key]].info.run_id
        if parent and run.data.tags.get(_PARENT) != parent:
            client.set_tag(run.info.run_id, _PARENT, parent)


def _is_whole(run):
    """Whether the run was written to its end."""
    return run.info.status != "RUNNING"


def experiment_id(experiment, tracking_uri=None):
    """MLflow's own number of an experiment, made if it does not exist.

    Parameters
    ----------
    experiment : str
        Its name.
    tracking_uri : str, default=None
        Of MLflow.
    """
    with _open(experiment, tracking_uri) as (_, number):
        return number


# From a record to a run ---------------------------------------------------------------


def _key(record):
    return f"{_cell_key(record)}/{record['repeat']}"


def _cell_key(record):
    return f"{record['dataset']}/{record['method']}"


def _tags(record, *names):
    return {name: str(record.get(name)) for name in ("experiment", "dataset", *names)}


def _cells_of(records, entries, curves):
    """A run for each data set and method: what its repeats have in common."""
    cells = {}
    for record in sorted(records, key=lambda record: record["repeat"]):
        cells.setdefault(_cell_key(record), []).append(record)
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
        yield _Run(
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
            digest=_sha256(json.dumps(content, sort_keys=True).encode()),
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


def _run_of(record, config, model):
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
    return _Run(
        key=_key(record),
        name=f"repeat {record['repeat']}",
        tags=tags,
        params=_params(record),
        metrics=_metrics(record),
        start=record.get("started_at"),
        seconds=_seconds(record),
        failed=record["status"] != "ok",
        artifacts=artifacts,
        digest=_sha256((text + made).encode()),
        parent=_cell_key(record),
        inputs=_inputs(record, {}),
    )


def _text(value):
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= _MAX_VALUE else text[: _MAX_VALUE - 1] + "…"


def _is_number(value):
    return isinstance(value, (int, float)) and math.isfinite(value)


def _sha256(content):
    return hashlib.sha256(content).hexdigest()


# MLflow -------------------------------------------------------------------------------


@contextlib.contextmanager
def _open(experiment, tracking_uri):
    """The client and the experiment's id, while no other process here writes."""
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    _check_server(uri)
    from mlflow import MlflowClient

    with _lock(uri):  # the first client makes the tables
        with _quiet_migrations():
            client = MlflowClient(tracking_uri=uri)
            number = _experiment_id(client, experiment, uri)
        yield client, number


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
            "`python -m adakern.bench.stages.track results --tracking-uri ...`."
        ) from error


@contextlib.contextmanager
def _lock(uri):
    """One writer at a time: several on a cold SQLite file lose every run."""
    import fcntl

    database = _database(uri)
    if database:
        database.parent.mkdir(parents=True, exist_ok=True)
        path = Path(f"{database}.lock")
    else:
        # Of this user: a file in the shared temporary folder belongs to its first one.
        mine = f"adakern-{os.getuid()}-{_sha256(uri.encode())[:16]}.lock"
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


@contextlib.contextmanager
def _quiet_migrations():
    """Hide the forty lines that Alembic writes when it makes the tables."""
    import logging

    loggers = [logging.getLogger(name) for name in ("alembic", "mlflow.store.db.utils")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _experiment_id(client, name, uri):
    """The experiment's id, resolved once: `set_experiment` may fall back to Default."""
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        # Behind the server's own address: a path would not survive moving the folder.
        location = f"{_PROXY}{quote(name)}" if _database(uri) else None
        tags = {"mlflow.experimentKind": "custom_model_development"}
        try:
            return client.create_experiment(name, location, tags)
        except MlflowException:  # another machine was faster
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return found.experiment_id


def _existing(client, experiment_id, dataset=None):
    """Runs of adakern, of one data set or all, not deleted, the oldest first."""
    runs, token = [], None
    while True:
        page = client.search_runs(
            [experiment_id],
            filter_string=f"tags.dataset = '{dataset}'" if dataset else "",
            max_results=1000,
            order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
            page_token=token,
        )
        runs += [run for run in page if _KEY in run.data.tags]
        token = page.token
        if not token:
            return runs


def _write(client, experiment_id, run):
    """Write one run; it counts only once it is terminated, the last step."""
    from mlflow.entities import Metric, Param

    end = int(((run.start or time.time() - run.seconds) + run.seconds) * 1000)
    start = end - int(run.seconds * 1000)
    tags = run.tags | {_KEY: run.key, _DIGEST: run.digest}
    made = client.create_run(
        experiment_id, start_time=start, run_name=run.name, tags=tags
    )
    run_id = made.info.run_id
    params = [Param(name, value) for name, value in run.params.items()]
    metrics = [Metric(name, value, end, 0) for name, value in run.metrics.items()]
    metrics += [
        Metric(name, value, end, step)
        for name, values in run.steps.items()
        for step, value in enumerate(values)
        if math.isfinite(value)
    ]
    client.log_batch(
        run_id,
        metrics=metrics[:_METRICS_PER_BATCH],
        params=params[:_PARAMS_PER_BATCH],
    )
    for i in range(_PARAMS_PER_BATCH, len(params), _PARAMS_PER_BATCH):
        client.log_batch(run_id, params=params[i : i + _PARAMS_PER_BATCH])
    _log_inputs(client, run_id, run.inputs)
    _write_artifacts(client, made.info, run.artifacts)
    status = "FAILED" if run.failed else "FINISHED"
    client.set_terminated(run_id, status=status, end_time=end)


def _log_inputs(client, run_id, inputs):
    from mlflow.entities import Dataset, DatasetInput, InputTag

    tag = InputTag("mlflow.data.context", "training and test")
    datasets = [
        DatasetInput(Dataset(name, digest, "local", source), [tag])
        for name, digest, source in inputs
    ]
    if datasets:
        client.log_inputs(run_id, datasets)


def _write_artifacts(client, info, artifacts):
    """Files of a run; where a server will serve them from beside its database."""
    if not artifacts:
        return
    database = _database(client.tracking_uri)
    if database and info.artifact_uri.startswith(_PROXY):
        path = unquote(info.artifact_uri.removeprefix(_PROXY))
        _fill(database.parent / "mlartifacts" / path, artifacts)
        return
    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder), artifacts)
        client.log_artifacts(info.run_id, folder)


def _fill(folder, artifacts):
    for name, source in artifacts.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(source, Path):
            shutil.copyfile(source, target)
        else:
            target.write_text(source, encoding="utf-8")

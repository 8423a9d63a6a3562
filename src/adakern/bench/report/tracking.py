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
from typing import NamedTuple
from urllib.parse import urlsplit

__all__ = ["DEFAULT_URI", "Logged", "log_records", "log_summary", "prune"]

DEFAULT_URI = "sqlite:///mlflow.db"

_KEY, _DIGEST = "adakern.key", "adakern.digest"
_PARAMS_PER_BATCH, _METRICS_PER_BATCH = 100, 1000  # MLflow's limits of one call
_MAX_VALUE = 5000  # characters of a parameter or tag; MLflow takes 6000 and 5000
_QUANTITIES = (
    "fit_seconds",
    "predict_seconds",
    "peak_memory_bytes",
    "rank",
    "n_support",
    "n_iter",
    "objective",
    "duality_gap",
    "n_train",
    "n_test",
    "n_features",
)


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
    seconds: float
    failed: bool
    artifacts: dict  # name -> text, or Path of a file
    digest: str  # of what the run says; another digest makes it out of date


def log_records(records, *, experiment, tracking_uri=None, config=None):
    """Log records of solves, one flat run each; what is up to date is left alone.

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
    return _log(
        [_run_of(record, config) for record in records], experiment, tracking_uri
    )


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
        seconds=0.0,
        failed=False,
        artifacts={name: Path(path) for name, path in artifacts.items()},
        digest=_sha256(json.dumps([contents, note, metrics], sort_keys=True).encode()),
    )
    return _log([run], experiment, tracking_uri)


def prune(records, *, experiment, tracking_uri=None):
    """Remove the runs of solves that are not among `records`; the summary run stays.

    Returns
    -------
    Logged
    """
    with _open(experiment, tracking_uri) as (client, experiment_id):
        keep = {"summary", *(_key(record) for record in records)}
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
        removed = _remove_stale(client, existing, {run.key: run.digest for run in runs})
    return Logged(len(missing), len(runs) - len(missing), removed)


def _remove_stale(client, existing, wanted):
    """Delete the runs of wanted keys but the one, the oldest, that is up to date."""
    kept, removed = set(), 0
    for run in existing:
        key = run.data.tags[_KEY]
        if key not in wanted:
            continue
        up_to_date = _is_whole(run) and run.data.tags.get(_DIGEST) == wanted[key]
        if key not in kept and up_to_date:
            kept.add(key)
        else:
            client.delete_run(run.info.run_id)
            removed += 1
    return removed


def _is_whole(run):
    """Whether the run was written to its end."""
    return run.info.status != "RUNNING"


# From a record to a run ---------------------------------------------------------------


def _key(record):
    return f"{record['dataset']}/{record['method']}/{record['repeat']}"


def _run_of(record, config):
    tags = {
        name: str(record.get(name))
        for name in (
            "experiment",
            "dataset",
            "method",
            "task",
            "repeat",
            "seed",
            "status",
        )
    }
    tags |= {"kind": "solve", "code_version": str(record.get("code_version"))}
    if record.get("reason"):
        tags["reason"] = str(record["reason"])[:_MAX_VALUE]
    metrics = {
        f"{split}_{metric}": value
        for split, scores in (record.get("metrics") or {}).items()
        for metric, value in (scores or {}).items()
    }
    metrics |= {name: record.get(name) for name in _QUANTITIES}
    params = {
        name: _text(value) for name, value in (record.get("params") or {}).items()
    }
    params |= {
        f"best.{name}": _text(value)
        for name, value in (record.get("best_params") or {}).items()
    }
    text = json.dumps(record, indent=1, sort_keys=True)
    artifacts = {"record.json": text}
    if config is not None:
        artifacts["config.yaml"] = config
    return _Run(
        key=_key(record),
        name=f"{record['dataset']} / {record['method']} / {record['repeat']}",
        tags=tags,
        params=params,
        metrics={k: float(v) for k, v in metrics.items() if _is_number(v)},
        seconds=sum(
            record.get(f"{stage}_seconds") or 0 for stage in ("fit", "predict")
        ),
        failed=record["status"] != "ok",
        artifacts=artifacts,
        digest=_sha256(text.encode()),
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
            experiment_id = _experiment_id(client, experiment, uri)
        yield client, experiment_id


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
        database = _database(uri)
        # Beside the database: the default would be a folder in the working directory.
        location = database and (database.parent / "mlartifacts" / name).as_uri()
        try:
            return client.create_experiment(name, artifact_location=location)
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

    # MLflow shows end - start as the duration: that of the solve, not of the logging.
    now = int(time.time() * 1000)
    start = now - int(run.seconds * 1000)
    tags = run.tags | {_KEY: run.key, _DIGEST: run.digest}
    run_id = client.create_run(
        experiment_id, start_time=start, run_name=run.name, tags=tags
    ).info.run_id
    params = [Param(name, value) for name, value in run.params.items()]
    metrics = [Metric(name, value, now, 0) for name, value in run.metrics.items()]
    client.log_batch(
        run_id,
        metrics=metrics[:_METRICS_PER_BATCH],
        params=params[:_PARAMS_PER_BATCH],
    )
    for i in range(_PARAMS_PER_BATCH, len(params), _PARAMS_PER_BATCH):
        client.log_batch(run_id, params=params[i : i + _PARAMS_PER_BATCH])
    _write_artifacts(client, run_id, run.artifacts)
    status = "FAILED" if run.failed else "FINISHED"
    client.set_terminated(run_id, status=status, end_time=now)


def _write_artifacts(client, run_id, artifacts):
    with tempfile.TemporaryDirectory() as folder:
        for name, source in artifacts.items():
            target = Path(folder) / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(source, Path):
                shutil.copyfile(source, target)
            else:
                target.write_text(source, encoding="utf-8")
        client.log_artifacts(run_id, folder)

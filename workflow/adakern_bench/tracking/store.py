"""Where MLflow keeps runs: opened by one writer at a time, read and written.

MLflow is imported when something is logged, not before.
"""

import contextlib
import math
import os
import re
import shutil
import socket
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from adakern._utils.files import atomic_path
from adakern_bench.tracking.runs import sha256

__all__ = [
    "DEFAULT_URI",
    "DIGEST",
    "KEY",
    "PARENT",
    "existing_runs",
    "lock",
    "opened",
    "write",
]

DEFAULT_URI = "sqlite:///mlflow.db"

#: Tags that say which solve a run is of, and what was written of it.
KEY, DIGEST = "adakern.key", "adakern.digest"
PARENT = "mlflow.parentRunId"
#: Artifacts that the server hands out itself, wherever its folder lies.
_PROXY = "mlflow-artifacts:/"
_PARAMS_PER_BATCH, _METRICS_PER_BATCH = 100, 1000  # MLflow's limits of one call


@contextlib.contextmanager
def opened(experiment, tracking_uri):
    """The client and the experiment's id, while no other process here writes.

    Parameters
    ----------
    experiment : str
        Its name; it is made where there is none.
    tracking_uri : str or None
        As of :func:`adakern_bench.tracking.log.log_records`.

    Yields
    ------
    client : MlflowClient
    experiment_id : str
    """
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    _check_server(uri)
    from mlflow import MlflowClient

    with lock(uri), _in_words(uri):
        with _quiet_migrations():
            _make_database(uri)
            client = MlflowClient(tracking_uri=uri)
            number = _experiment_id(client, experiment, uri)
        yield client, number


@contextlib.contextmanager
def _in_words(uri):
    """Say what is the matter with a database that cannot be written, without its SQL."""
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
def lock(uri):
    """One writer at a time: several on a cold SQLite file lose every run.

    Parameters
    ----------
    uri : str
        Of the database or server.
    """
    import fcntl

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


def existing_runs(client, experiment_id, dataset=None):
    """Runs of adakern that are not deleted, the oldest first.

    Parameters
    ----------
    client : MlflowClient
    experiment_id : str
    dataset : str, default=None
        Those of one data set alone.
    """
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


def write(client, experiment_id, run):
    """Write one run; it counts only once it is terminated, the last step.

    Parameters
    ----------
    client : MlflowClient
    experiment_id : str
    run : Run
        As it ought to stand.
    """
    from mlflow.entities import Metric, Param

    end = int(((run.start or time.time() - run.seconds) + run.seconds) * 1000)
    start = end - int(run.seconds * 1000)
    tags = run.tags | {KEY: run.key, DIGEST: run.digest}
    made = client.create_run(
        experiment_id, start_time=start, run_name=run.name, tags=tags
    )
    run_id = made.info.run_id
    params = [Param(_allowed(name), value) for name, value in run.params.items()]
    metrics = [Metric(_allowed(k), value, end, 0) for k, value in run.metrics.items()]
    metrics += [
        Metric(_allowed(name), value, end, step)
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


def _allowed(name):
    """A blank for what MLflow's names may not hold, such as in `dank@eta=0.1`."""
    return re.sub(r"[^\w/.\- :]", " ", name)


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

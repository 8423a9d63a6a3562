"""MLflow's database, to which one process at a time writes runs.

A tag identifies the fit of a run; another one, a hash of the whole record, shows
whether the run is up to date. MLflow is imported only when something is logged.
"""

import contextlib
import fcntl
import json
import logging
import os
import re
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from adakern._utils.files import atomic_path, read_json
from adakern._utils.wording import count
from adakern_bench.report.show import RUNS, VIEW
from adakern_bench.report.tables import read_csv
from adakern_bench.tracking.runs import sha256

DEFAULT_URI = "sqlite:///mlflow.db"

#: Tags that identify the fit of a run, and the content that was written.
KEY = "adakern.key"
DIGEST = "adakern.digest"
PARENT = "mlflow.parentRunId"

#: The description of an experiment.
NOTE = "mlflow.note.content"

_MOST_RUNS = 50_000  # MLflow's maximum number of results per request
_MOST_OF_PARAM = 500  # maximum length of a parameter of a model in MLflow
_STAGES = ("search_seconds", "fit_seconds", "predict_seconds")
#: Part of an error message -> explanation and remedy.
_REASONS = {
    "database is locked": "is locked by another program: end that program",
    "disk is full": "cannot be written, since its disk is full: free some space",
    "disk I/O error": (
        "cannot be written, since its disk or quota is full, or the disk is defective: "
        "free some space"
    ),
    "readonly database": "is not writable: change its permissions",
    "Permission denied": "is not writable: change the permissions of its folder",
    "Max retries exceeded": "does not answer: start it, or change MLFLOW_TRACKING_URI",
    "file is not a database": "is not an MLflow database: move the file away",
    "malformed": "is damaged: move it away",
    **dict.fromkeys(
        ("unable to open database file", "File exists", "Not a directory"),
        "cannot be opened: name a file in a writable folder",
    ),
    "out-of-date database schema": (
        "belongs to another version of MLflow: install the newer version and run "
        "`mlflow db upgrade` with its address, or move it away"
    ),
}
#: Packages whose errors concern the store.
_STORES = ("mlflow", "sqlalchemy", "sqlite3", "requests", "alembic")


class Logged(NamedTuple):
    """Number of runs written, up to date, and replaced or removed."""

    written: int
    unchanged: int
    removed: int


@contextlib.contextmanager
def opened(experiment, tracking_uri):
    """Yield a client and the id of the experiment, with the lock for writing held."""
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    # Otherwise MLflow retries for minutes if a server does not answer.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    from mlflow import MlflowClient
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    with _explained(uri), lock(uri):
        # Silence Alembic, which prints forty lines when it makes the tables, and
        # tracebacks of errors that are raised again.
        for name in ("alembic", "mlflow.store.db.utils"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        database = _database(uri)
        if database and database.exists():
            # Raises SQLite's error at once; MLflow would retry for minutes.
            with contextlib.closing(sqlite3.connect(database)) as file:
                file.execute("pragma schema_version")
        elif database:
            # Atomically: on the first request MLflow makes the tables in about forty
            # steps, and it refuses a file in which these were interrupted. A relative
            # path keeps characters of the folder's name (? and :) out of the URI.
            home = (database.parent / "mlartifacts").as_uri()
            with atomic_path(database) as path:
                SqlAlchemyStore(f"sqlite:///{os.path.relpath(path)}", home)
        client = MlflowClient(uri)
        yield client, _experiment(client, experiment, database)


def register(results, name, tracking_uri=None):
    """Register the model of the best method's first repeat under a name."""
    import mlflow

    method = read_csv(Path(results) / "ranks.csv")["method"][0]
    with opened(Path(results).name, tracking_uri) as (client, number):
        wanted = (
            f"tags.kind = 'solve' and tags.method = '{method}' and tags.status = 'ok'"
        )
        run, *_ = client.search_runs([number], wanted, order_by=["tags.repeat"])
        known = client.search_model_versions(f"name = '{name}'")
        if run.info.run_id not in {version.run_id for version in known}:
            mlflow.set_tracking_uri(tracking_uri)
            (model,) = _models(client, number, run.info.run_id)
            version = mlflow.register_model(f"models:/{model.model_id}", name)
            _describe(client, version, run, results)


def _describe(client, version, run, results):
    """Describe a registered model with its scores, and make it the "champion"."""
    name = version.name
    number = version.version
    told = run.data.tags
    what = f"{told['method']}, the best method of the experiment {Path(results).name}"
    about = f"Predicts {told['dataset']}. Its champion: {what}."
    client.update_registered_model(name, about)
    client.update_model_version(
        name, number, f"{what}: its first repeat, fitted on the training part"
    )
    for metric, value in sorted(run.data.metrics.items()):
        if metric.startswith("test/"):
            client.set_model_version_tag(name, number, metric, f"{value:g}")
    client.set_registered_model_alias(name, "champion", number)


def experiment_id(experiment, tracking_uri=None):
    """Id of an experiment in MLflow, which is created if it does not exist."""
    with opened(experiment, tracking_uri) as (_, number):
        return number


def forget_lost(results):
    """Remove the mark that results are logged if MLflow no longer has them."""
    mark = Path(results) / "track.json"
    if not mark.is_file():
        return
    logged = read_json(mark)
    found = None
    if (database := _database(logged["tracking_uri"])) is None:
        return
    asked = "select lifecycle_stage from experiments where experiment_id = ?"
    with contextlib.suppress(sqlite3.Error):
        store = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
        with contextlib.closing(store):
            found = store.execute(asked, [logged["experiment_id"]]).fetchone()
    if found != ("active",):
        mark.unlink()


@contextlib.contextmanager
def _explained(uri):
    """Raise an OSError that explains why writing failed, without SQL or URLs."""
    try:
        yield
    except Exception as error:
        said = str(error)
        reasons = [reason for sign, reason in _REASONS.items() if sign in said]
        if type(error).__module__.partition(".")[0] in _STORES:
            reasons.append(
                f"cannot be used ({said.splitlines()[0][:200]}): solve this problem"
            )
        if not reasons:
            raise
        raise OSError(
            f"The tracker {uri} {reasons[0]}, and run the same command again. The "
            "results are saved in their files: `adakern track results` logs them later"
        ) from error


@contextlib.contextmanager
def lock(uri):
    """Hold the lock for writing, since concurrent writers to a new SQLite file lose
    runs.
    """
    database = _database(uri)
    # The lock for a server is per user, since a shared file would belong to its
    # creator.
    mine = f"adakern-{os.getuid()}-{sha256(uri.encode())[:16]}"
    path = Path(f"{database or Path(tempfile.gettempdir()) / mine}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _database(uri):
    """Path of an SQLite database; None for any other store."""
    prefix = "sqlite:///"
    return Path(uri.removeprefix(prefix)).absolute() if uri.startswith(prefix) else None


def _experiment(client, name, database):
    """Return the id of the experiment, which is created if necessary.

    MLflow's `set_experiment` could silently fall back to Default. Artifacts of a local
    database are stored next to it, where notebooks and the server find them. If the
    folder was moved, the experiment with artifacts in the old place is deleted, and its
    runs are written again from the files.
    """
    home = database and (database.parent / "mlartifacts" / quote(name, "")).as_uri()
    found = client.get_experiment_by_name(name)
    if found and home and found.artifact_location != home:
        client.rename_experiment(found.experiment_id, f"{name} {found.experiment_id}")
        client.delete_experiment(found.experiment_id)
        found = None
    if found is None:
        tags = {"mlflow.experimentKind": "custom_model_development"}
        return client.create_experiment(name, home, tags)
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return found.experiment_id


def log_runs(runs, experiment, tracking_uri, prune, view):
    """Write missing and changed runs, delete those that they replace, and nest them.

    With `prune`, all other runs except the summary are deleted as well. `view` is the
    layout of the table of runs in MLflow.
    """
    wanted = {run.key: run.digest for run in runs}
    with opened(experiment, tracking_uri) as (client, number):
        client.set_experiment_tag(
            number, f"mlflow.sharedViewState.{VIEW}", json.dumps(view)
        )
        if NOTE not in client.get_experiment(number).tags:  # keep a user's own note
            link = RUNS.format(number)
            note = f"[The runs with their scores, best first]({link})"
            client.set_experiment_tag(number, NOTE, note)
        whole = {}
        gone = []
        ids = {}
        for made in client.search_runs([number], max_results=_MOST_RUNS):
            key = made.data.tags.get(KEY)
            tags = made.data.tags
            if key in wanted:
                is_whole = made.info.status != "RUNNING" and tags[DIGEST] == wanted[key]
                if is_whole and key not in whole:
                    whole[key] = made
                else:
                    gone.append(made)
            elif prune and key not in (None, "summary"):
                gone.append(made)
        for run in runs:  # parents precede their children
            parent = {PARENT: ids[run.parent]} if run.parent else {}
            if made := whole.get(run.key):
                ids[run.key] = made.info.run_id
                if parent and made.data.tags.get(PARENT) != parent[PARENT]:
                    client.set_tag(made.info.run_id, PARENT, parent[PARENT])
            else:
                ids[run.key] = _write(client, number, run, parent)
        for made in gone:
            _delete(client, number, made.info.run_id)
    return Logged(len(runs) - len(whole), len(whole), len(gone))


def _write(client, experiment_id, run, tags):
    """Create a run and return its id."""
    from mlflow.entities import Metric, Param

    seconds = sum(record.get(stage) or 0 for record in run.records for stage in _STAGES)
    started = [record.get("started_at") or 0 for record in run.records]
    times = [at for at in started if 0 < at < time.time()]
    start = min(times, default=time.time() - seconds)
    end = int(1000 * (start + seconds))
    made = client.create_run(
        experiment_id,
        start_time=int(1000 * start),
        run_name=run.name,
        tags=run.tags | tags | {KEY: run.key, DIGEST: run.digest},
    )
    run_id = made.info.run_id
    model = None
    if run.model:
        model = _write_model(client, experiment_id, run_id, tags[PARENT], run)
    metrics = [
        Metric(_allowed(name), value, end, 0, model_id=model)
        for name, value in run.metrics.items()
    ]
    params = [Param(_allowed(name), value) for name, value in run.params.items()]
    client.log_batch(run_id, metrics=metrics, params=params)
    for record in run.records[:1]:
        _log_data(client, run_id, record)
    for name, source in run.artifacts.items():
        if isinstance(source, Path):
            folder = str(Path(name).parent)
            client.log_artifact(run_id, source, None if folder == "." else folder)
        else:
            client.log_text(run_id, source() if callable(source) else source, name)
    failed = run.records and all(record["status"] != "ok" for record in run.records)
    client.set_terminated(
        run_id, status="FAILED" if failed else "FINISHED", end_time=end
    )
    return run_id


def _write_model(client, experiment_id, run_id, parent, run):
    """Log the fitted model of a run, and link it to the run of its method as well."""
    from mlflow.entities import LoggedModelOutput

    made = client.create_logged_model(
        experiment_id,
        re.sub(r"[^\w@=,-]+", " ", f"{run.parent} {run.name}"),
        source_run_id=run_id,
        tags=run.tags,
        params={name: value[:_MOST_OF_PARAM] for name, value in run.params.items()},
    )
    client.log_model_artifacts(made.model_id, str(run.model))
    client.finalize_logged_model(made.model_id, "READY")
    for number in (run_id, parent):
        client.log_outputs(number, [LoggedModelOutput(made.model_id, 0)])
    return made.model_id


def _models(client, experiment_id, run_id):
    """Fitted models that a run has logged."""
    return client.search_logged_models([experiment_id], f"source_run_id = '{run_id}'")


def _delete(client, experiment_id, run_id):
    """Delete a run and its fitted models."""
    for model in _models(client, experiment_id, run_id):
        client.delete_logged_model(model.model_id)
    client.delete_run(run_id)


def _allowed(name):
    """Replace characters that MLflow does not allow in names, as in `dank@eta=0.1`."""
    return re.sub(r"[^\w/.\- :]", " ", name)


def _log_data(client, run_id, record):
    """Log the data set with its fingerprint and size."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    fingerprint = record.get("data_fingerprint") or record.get("data_sha256")
    if not fingerprint:
        return
    rows = sum(record.get(part) or 0 for part in ("n_train", "n_test"))
    size = {"num_rows": rows, "num_features": record.get("n_features")}
    sizes = f"{count(rows, 'row')}, {count(size['num_features'] or 0, 'feature')}"
    dataset = Dataset(
        f"{record['dataset']}: {sizes}",
        fingerprint[:8],
        "local",
        "{}",
        profile=json.dumps(size),
    )
    tag = InputTag("mlflow.data.context", "training and test")
    client.log_inputs(run_id, [DatasetInput(dataset, [tag])])

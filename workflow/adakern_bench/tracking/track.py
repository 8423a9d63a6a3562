"""Records of fits as MLflow runs: a view of the files that can be made again.

One process at a time writes (a file lock), a run is found again by the tag of its fit,
and a tag that hashes the whole record tells whether it is up to date; so logging twice,
from two processes or after a crash adds nothing twice. By hand, from the files and at
will: ``adakern track results``.

MLflow is imported when something is logged, not before.
"""

import contextlib
import fcntl
import hashlib
import json
import logging
import math
import os
import re
import tempfile
import time
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import pandas as pd
import yaml

from adakern._utils.files import atomic_path
from adakern.evaluation import (
    GREATER_IS_BETTER,
    RECORDED,
    ranks_by_dataset,
)
from adakern.evaluation.quantities import MAIN_METRIC, main_metric
from adakern_bench.config.sweeps import base_name
from adakern_bench.paths import kept_models
from adakern_bench.records.machine import git
from adakern_bench.records.read import find_records, read_records, to_frame
from adakern_bench.report.compare import shared
from adakern_bench.report.figures import method_styles, plot_repeats, to_svg
from adakern_bench.report.leaderboard import by_dataset
from adakern_bench.report.tables import read_csv
from adakern_bench.report.wording import count

DEFAULT_URI = "sqlite:///mlflow.db"

#: Tags that say which fit a run is of, and what was written of it.
KEY, DIGEST, PARENT = "adakern.key", "adakern.digest", "mlflow.parentRunId"

#: Name of the view of an experiment's runs that links lead to: the main score in sight.
VIEW = "adakern"

#: What an experiment's summary run holds, if it is there.
SUMMARY = [
    "report.html",
    "*.csv",
    "config.yaml",
    "tables/*.csv",
    "figures/*.svg",
    "winner/*",
]

_MAX_VALUE = 5000  # characters that MLflow takes of a tag
_MOST_RUNS = 50_000  # that MLflow gives in one answer
#: What is the same in every run that can be compared: parameters, no metrics.
_CONSTANTS = ("n_train", "n_test", "n_features", "seed", "estimator")
_STAGES = ("search_seconds", "fit_seconds", "predict_seconds")
#: What an error holds, and what that means.
_REASONS = {
    "database is locked": "cannot be written, another program holds it: end that",
    "disk is full": "cannot be written, its disk is full: free some space",
    ("disk I/O error"): (
        "cannot be written, its disk or quota is full, or broken: free some space"
    ),
    "readonly database": "may not be written: change its permissions",
    "Permission denied": "may not be written: change the permissions of its folder",
    "Max retries exceeded": "does not answer: start it, or change MLFLOW_TRACKING_URI",
}


class Logged(NamedTuple):
    """How many runs were written, were up to date, and were replaced or removed."""

    written: int
    unchanged: int
    removed: int


class Run(NamedTuple):
    """One run as it ought to stand in MLflow."""

    key: str
    name: str
    tags: dict
    content: object  # what the run says; its hash makes another run out of date
    records: list = []  # of the fits that it is about
    params: dict = {}
    metrics: dict = {}
    artifacts: dict = {}  # name -> text, what makes it, or Path of a file
    parent: str | None = None  # its key

    @property
    def digest(self):
        return sha256(json.dumps(self.content, sort_keys=True).encode())


def sha256(content):
    """Hexadecimal digest."""
    return hashlib.sha256(content).hexdigest()


# From files to runs.


def track(results, *, tracking_uri=None):
    """Make MLflow say what a folder of results says, no more and no less.

    That is every record below it, the tables, figures and report as one summary run,
    and no run of a fit that has no record any more; what is up to date is left alone.
    """
    results = Path(results)
    found = (path for pattern in SUMMARY for path in sorted(results.glob(pattern)))
    path = results / "config.yaml"
    config = path.read_text(encoding="utf-8") if path.exists() else None
    paths = find_records(results)
    records = read_records(paths, _metric(config)) if paths else []
    return log_records(
        records,
        # Not of the records, which a copy of the folder has too.
        experiment=Path(os.path.abspath(results)).name,
        tracking_uri=tracking_uri,
        config=config,
        models=partial(kept_models, results),
        summary={path.relative_to(results).as_posix(): path for path in found},
        prune=True,
    )


def log_records(
    records,
    *,
    experiment,
    tracking_uri=None,
    config=None,
    models=None,
    summary=None,
    prune=False,
):
    """Log records of fits; what is up to date is left alone.

    A run for each data set and method, with means over the repeats, and below it one
    for each repeat. `config` (the resolved configuration as YAML) is an artifact of
    every run, and describes them; `models` maps a record to the files of its fitted
    model. A run is out of date when its record changed (which holds every parameter of
    the fit), not when something else in the configuration did. With `prune`, runs of
    other fits are removed; a `summary` (files by name) is a run beside them.
    """
    runs = [*_cells(records, yaml.safe_load(config) if config else {}, _metric(config))]
    runs += [_fit(r, config, models(r) if models else {}) for r in records]
    if summary:
        contents = {name: sha256(path.read_bytes()) for name, path in summary.items()}
        tags = {"kind": "summary", "experiment": experiment}
        name = f"{experiment}: summary"
        runs.append(Run("summary", name, tags, contents, artifacts=summary))
    return _log_runs(runs, experiment, tracking_uri, prune, _view(_metric(config)))


def _metric(config):
    """The metric that an experiment ranks by, where it names one."""
    return (yaml.safe_load(config or "{}") or {}).get("metric")


def _tags(record, kind, *names):
    names = ("experiment", "dataset", "method", "task", *names)
    told = {name: record.get(name) for name in names}
    return {"kind": kind} | {
        name: str(v)[:_MAX_VALUE] for name, v in told.items() if v is not None
    }


def _cells(records, config, metric):
    """A run for each data set and method: what its repeats have in common."""
    methods = config.get("method", {})
    source = {"mlflow.source.name": "adakern", "mlflow.source.type": "PROJECT"}
    source |= {"mlflow.source.git.commit": git("rev-parse", "HEAD") or "unknown"}
    key = itemgetter("dataset", "method", "repeat")
    for dataset, of_dataset in groupby(sorted(records, key=key), itemgetter("dataset")):
        runs = list(of_dataset)
        frame = to_frame(runs)
        by = main_metric(runs[0]["task"], metric)
        places = _places(frame, by)
        scores = frame.filter(regex="^(method|repeat|test_.*)$").to_csv()
        figure = {}
        if (frame["status"] == "ok").any():
            figure["scores.svg"] = cache(partial(_figure, frame, places, by))
        for method, of_method in groupby(runs, itemgetter("method")):
            batch = list(of_method)
            finished = {r["repeat"]: _metrics(r) for r in batch if r["status"] == "ok"}
            table = pd.DataFrame.from_dict(finished, orient="index").rename_axis(
                "repeat"
            )
            entry = methods.get(base_name(method), {})
            about = ". ".join(
                filter(None, map(entry.get, ("description", "reference")))
            )
            tags = {"mlflow.note.content": about} | source
            statistics = pd.concat({"mean": table.mean(), "std": table.std()}).dropna()
            metrics = {
                f"{name}_{what}": _digits(v) for (what, name), v in statistics.items()
            }
            metrics |= {"test/n": len(table), "test/rank": places[method]}
            params = set.intersection(
                *(set(_params(record).items()) for record in batch)
            )
            yield Run(
                key=f"{dataset}/{method}",
                name=f"{dataset} / {method}",
                tags=_tags(batch[0], "method") | tags,
                content=[batch, about, metrics, scores],
                records=batch,
                # MLflow's comparison opens on the first ones, by the alphabet.
                params={"Method": method} | dict(params),
                metrics=metrics,
                artifacts={"repeats.csv": table.to_csv(), **figure},
            )


def _places(frame, metric):
    """Method -> its rank on their data set, last if it finished none of the shared
    repeats.
    """
    kept = shared(frame)
    scores = by_dataset(frame if kept.empty else kept, metric=metric).reindex(
        columns=sorted({*frame["method"]})
    )
    (ranks,) = ranks_by_dataset(scores, greater_is_better=GREATER_IS_BETTER[metric])
    return dict(zip(scores.columns, map(float, ranks), strict=True))


def _figure(frame, places, metric):
    """A score of all methods on their data set, every repeat, as SVG."""
    order = sorted(places, key=places.get)
    return to_svg(plot_repeats(frame, metric, method_styles(order), order))


def _view(metric):
    """Columns and order of the runs' table, as MLflow's pages keep them."""
    shown = [main_metric(task, metric) for task in MAIN_METRIC]
    scores = [f"test/{m}_{what}" for m in shown for what in ("mean", "std")]
    columns = ["test/rank", *scores, "time/fit_seconds_mean"]
    return {
        "selectedColumns": [f"metrics.`{name}`" for name in columns],
        "orderByKey": "metrics.`test/rank`",
        "orderByAsc": True,
    }


def _fit(record, config, model):
    """The run of one repeat."""
    artifacts = {"record.json": json.dumps(record, indent=1, sort_keys=True)}
    if config is not None:
        artifacts["config.yaml"] = config
    # MLmodel holds a number of the model's own.
    made = model["MLmodel"].read_text(encoding="utf-8") if "MLmodel" in model else ""
    cell = f"{record['dataset']}/{record['method']}"
    return Run(
        key=f"{cell}/{record['repeat']}",
        name=f"repeat {record['repeat']}",
        tags=_tags(record, "solve", "repeat", "status", "reason", "code_version"),
        content=[record, made],
        records=[record],
        params=_params(record),
        metrics=_metrics(record),
        artifacts=artifacts | {f"model/{name}": path for name, path in model.items()},
        parent=cell,
    )


def _params(record):
    constants = {n: record[n] for n in _CONSTANTS if record.get(n) is not None}
    params = constants | (record.get("params") or {})
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in params.items()
    }


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
        name: _digits(value)
        for name, value in metrics.items()
        if isinstance(value, (int, float)) and math.isfinite(value)
    }


def _digits(value):
    """As many as people read; MLflow shows all that there are."""
    return float(f"{value:.6g}")


# From runs to MLflow.


@contextlib.contextmanager
def opened(experiment, tracking_uri):
    """The client and the experiment's id, while no other process here writes."""
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    # Else a server that does not answer is asked for minutes.
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    from mlflow import MlflowClient

    with _in_words(uri), lock(uri):
        # The forty lines that Alembic writes when it makes the tables.
        for name in ("alembic", "mlflow.store.db.utils"):
            logging.getLogger(name).setLevel(logging.WARNING)
        database = _database(uri)
        if database and not database.exists():
            # Whole or not at all: MLflow makes the tables in some forty steps, and
            # refuses for ever a file in which they were broken off. The first question
            # makes them.
            with atomic_path(database) as path:
                MlflowClient(f"sqlite:///{path}").get_experiment_by_name("Default")
        client = MlflowClient(uri)
        yield client, _experiment(client, experiment, database)


def register(results, name, tracking_uri=None):
    """Register the kept model of the best method, of its first repeat, under a name."""
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
            mlflow.register_model(f"runs:/{run.info.run_id}/model", name)


def experiment_id(experiment, tracking_uri=None):
    """MLflow's own number of an experiment, made if it does not exist."""
    with opened(experiment, tracking_uri) as (_, number):
        return number


@contextlib.contextmanager
def _in_words(uri):
    """Say why nothing can be written, without the SQL or the address of a request."""
    try:
        yield
    except Exception as error:  # MLflow's or SQLAlchemy's
        for sign, reason in _REASONS.items():
            if sign in str(error):
                raise OSError(
                    f"The tracker {uri} {reason}, and run the same command again. The "
                    "results are safe in their files: `adakern track results` fills it "
                    "later"
                ) from error
        raise


@contextlib.contextmanager
def lock(uri):
    """One writer at a time: several on a cold SQLite file lose every run."""
    database = _database(uri)
    # Of a server's, of this user: a shared file would belong to its first user.
    mine = f"adakern-{os.getuid()}-{sha256(uri.encode())[:16]}"
    path = Path(f"{database or Path(tempfile.gettempdir()) / mine}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _database(uri):
    """Path of an SQLite file, or None for anything else."""
    prefix = "sqlite:///"
    return Path(uri.removeprefix(prefix)).absolute() if uri.startswith(prefix) else None


def _experiment(client, name, database):
    """The experiment's id, resolved once: `set_experiment` may fall back to Default.

    Artifacts of a local database lie beside it, where notebooks and the server find
    them. A folder that was moved has runs whose artifacts are where it was: they go,
    and are written anew from the files.
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


def _log_runs(runs, experiment, tracking_uri, prune, view):
    """Write the runs that are missing, remove those that they replace, and nest them.

    With `prune`, runs that are not among them go too, but for a summary. `view` is how
    MLflow's pages show their table.
    """
    wanted = {run.key: run.digest for run in runs}
    with opened(experiment, tracking_uri) as (client, number):
        client.set_experiment_tag(
            number, f"mlflow.sharedViewState.{VIEW}", json.dumps(view)
        )
        whole, gone, ids = {}, [], {}
        for made in client.search_runs([number], max_results=_MOST_RUNS):
            key, tags = made.data.tags.get(KEY), made.data.tags
            if key in wanted:
                is_whole = made.info.status != "RUNNING" and tags[DIGEST] == wanted[key]
                if is_whole and key not in whole:
                    whole[key] = made
                else:
                    gone.append(made)
            elif prune and key not in (None, "summary"):
                gone.append(made)
        for run in runs:  # parents come before their children
            parent = {PARENT: ids[run.parent]} if run.parent else {}
            if made := whole.get(run.key):
                ids[run.key] = made.info.run_id
                if parent and made.data.tags.get(PARENT) != parent[PARENT]:
                    client.set_tag(made.info.run_id, PARENT, parent[PARENT])
            else:
                ids[run.key] = _write(client, number, run, parent)
        for made in gone:
            client.delete_run(made.info.run_id)
    return Logged(len(runs) - len(whole), len(whole), len(gone))


def _write(client, experiment_id, run, tags):
    """Make a run; its id."""
    from mlflow.entities import Metric, Param

    seconds = sum(record.get(stage) or 0 for record in run.records for stage in _STAGES)
    started = [r["started_at"] for r in run.records if r.get("started_at")]
    start = min(started, default=time.time() - seconds)
    end = int(1000 * (start + seconds))
    made = client.create_run(
        experiment_id,
        start_time=int(1000 * start),
        run_name=run.name,
        tags=run.tags | tags | {KEY: run.key, DIGEST: run.digest},
    )
    run_id = made.info.run_id
    finite = {
        name: value for name, value in run.metrics.items() if math.isfinite(value)
    }
    metrics = [Metric(_allowed(name), value, end, 0) for name, value in finite.items()]
    params = [Param(_allowed(name), value) for name, value in run.params.items()]
    client.log_batch(run_id, metrics=metrics, params=params)
    for record in run.records[:1]:
        _log_data(client, run_id, record)
    for name, source in run.artifacts.items():
        if isinstance(source, Path):
            folder = Path(name).parent.as_posix()
            client.log_artifact(run_id, source, None if folder == "." else folder)
        else:
            client.log_text(run_id, source() if callable(source) else source, name)
    failed = run.records and all(record["status"] != "ok" for record in run.records)
    client.set_terminated(
        run_id, status="FAILED" if failed else "FINISHED", end_time=end
    )
    return run_id


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

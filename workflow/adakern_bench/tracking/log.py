"""Records of solves as MLflow runs: a view of the files that can be made again.

One process at a time writes (a file lock), a run is found again by the tags of its
solve, and a tag that hashes the whole record tells whether it is up to date; so logging
twice, from two processes or after a crash adds nothing twice.
"""

import json
from pathlib import Path
from typing import NamedTuple

from adakern_bench.tracking.runs import Run, cell_key, cells_of, key_of, run_of, sha256
from adakern_bench.tracking.store import (
    DIGEST,
    KEY,
    PARENT,
    existing_runs,
    opened,
    write,
)

__all__ = ["Logged", "experiment_id", "log_records", "log_summary", "prune"]


class Logged(NamedTuple):
    """How many runs were written, were up to date, and were replaced or removed."""

    written: int
    unchanged: int
    removed: int

    def __add__(self, other):
        return Logged(*(a + b for a, b in zip(self, other, strict=True)))


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
    cells = cells_of(records, entries or {}, curves or {})
    solves = [
        run_of(record, config, models(record) if models else {}) for record in records
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
    contents = {name: sha256(Path(p).read_bytes()) for name, p in artifacts.items()}
    run = Run(
        key="summary",
        name=f"{experiment}: summary",
        tags={"kind": "summary", "experiment": experiment, "mlflow.note.content": note},
        params={},
        metrics=dict(metrics or {}),
        start=None,
        seconds=0.0,
        failed=False,
        artifacts={name: Path(path) for name, path in artifacts.items()},
        digest=sha256(json.dumps([contents, note, metrics], sort_keys=True).encode()),
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
    with opened(experiment, tracking_uri) as (client, experiment_id):
        keep = {"summary", *map(key_of, records), *map(cell_key, records)}
        gone = [
            run
            for run in existing_runs(client, experiment_id)
            if run.data.tags[KEY] not in keep
        ]
        for run in gone:
            client.delete_run(run.info.run_id)
    return Logged(0, 0, len(gone))


def _log(runs, experiment, tracking_uri):
    datasets = {run.tags.get("dataset") for run in runs}
    dataset = datasets.pop() if len(datasets) == 1 else None
    with opened(experiment, tracking_uri) as (client, experiment_id):
        existing = existing_runs(client, experiment_id, dataset)
        whole = {
            (run.data.tags[KEY], run.data.tags.get(DIGEST))
            for run in existing
            if _is_whole(run)
        }
        missing = [run for run in runs if (run.key, run.digest) not in whole]
        for run in missing:
            write(client, experiment_id, run)
        if missing:
            # Looked at again: another machine may have written the same runs to the
            # server meanwhile, and both then keep the same one.
            existing = existing_runs(client, experiment_id, dataset)
        wanted = {run.key: run.digest for run in runs}
        kept, removed = _remove_stale(client, existing, wanted)
        _nest(client, kept, {run.key: run.parent for run in runs})
    return Logged(len(missing), len(runs) - len(missing), removed)


def _remove_stale(client, existing, wanted):
    """Delete the runs of wanted keys but the one, the oldest, that is up to date."""
    kept, removed = {}, 0
    for run in existing:
        key = run.data.tags[KEY]
        if key not in wanted:
            continue
        up_to_date = _is_whole(run) and run.data.tags.get(DIGEST) == wanted[key]
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
        if parent and run.data.tags.get(PARENT) != parent:
            client.set_tag(run.info.run_id, PARENT, parent)


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
    with opened(experiment, tracking_uri) as (_, number):
        return number

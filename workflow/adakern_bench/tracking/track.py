"""The records of experiments, sent to MLflow.

By hand, from the files and at will: ``python -m adakern_bench.tracking.track results``.
"""

import argparse
from functools import partial
from itertools import groupby
from pathlib import Path

import pandas as pd
import yaml

from adakern_bench.records.models import kept_models
from adakern_bench.records.read import find_records, read_file
from adakern_bench.report.curves import read_search, search_curves
from adakern_bench.tracking.log import (
    Logged,
    log_records,
    log_summary,
    prune,
)
from adakern_bench.tracking.store import DEFAULT_URI

__all__ = ["main", "rebuild", "track"]

#: What an experiment's summary run holds, if it is there.
SUMMARY = (
    "report.html",
    "summary.csv",
    "ttest.csv",
    "ranks.csv",
    "published.csv",
    "config.yaml",
    "tables/*.csv",
    "figures/*.svg",
)


def track(results, records, *, tracking_uri=None):
    """Log the records of some files; what is up to date is left alone.

    Parameters
    ----------
    results : Path
        Folder of the experiment.
    records : iterable of Path
        ``<experiment>/records/<dataset>/<method>/<batch>.json``, each an array of
        records of solves. A file ``config.yaml`` in the experiment's folder becomes an
        artifact of every run.
    tracking_uri : str, default=None
        See :func:`adakern_bench.tracking.log.log_records`.

    Returns
    -------
    adakern_bench.tracking.log.Logged
    """
    records = list(records)
    total = Logged(0, 0, 0)
    if not records:
        return total
    config = _text_or_none(results / "config.yaml")
    entries = yaml.safe_load(config) if config else None
    for experiment, batch in _by_experiment(records):
        total += log_records(
            batch,
            experiment=experiment,
            tracking_uri=tracking_uri,
            config=config,
            entries=entries,
            curves=_curves(results, batch),
            models=partial(kept_models, results),
        )
    return total


def _curves(results, records):
    """What the searches of the records' methods saw."""
    curves = {}
    for dataset, method in {(r["dataset"], r["method"]) for r in records}:
        table = read_search(results, dataset, method)
        if table is not None:
            curves[dataset, method] = search_curves(table)
    return curves


def rebuild(results, *, tracking_uri=None):
    """Make MLflow say what the files of one experiment say, no more and no less.

    Logs every record below `results`, removes the runs of solves that have no record
    any more, and logs the tables, figures and report as one summary run. An experiment
    of special computations alone goes by the name of its folder.

    Parameters
    ----------
    results : Path
        Folder of one experiment.
    tracking_uri : str, default=None
        See :func:`adakern_bench.tracking.log.log_records`.

    Returns
    -------
    adakern_bench.tracking.log.Logged
    """
    results = Path(results)
    files = find_records(results)
    total = track(results, files, tracking_uri=tracking_uri)
    artifacts = {
        path.relative_to(results).as_posix(): path
        for pattern in SUMMARY
        for path in sorted(results.glob(pattern))
    }
    experiments = dict(_by_experiment(files)) or {results.name: []}
    for experiment, batch in experiments.items():
        where = {"experiment": experiment, "tracking_uri": tracking_uri}
        total += prune(batch, **where)
        if artifacts:
            total += log_summary(artifacts, metrics=_summary_metrics(results), **where)
    return total


def _summary_metrics(results):
    """Average rank of each method over the data sets.

    In a section of their own, behind those that all runs have: MLflow's charts stand in
    the order of the alphabet, and these are bars of one run.
    """
    path = results / "ranks.csv"
    if not path.exists():
        return {}
    rows = pd.read_csv(path).dropna(subset=["average_rank"])
    return {
        f"summary/{row.task} rank of {row.method}": row.average_rank
        for row in rows.itertuples()
    }


def _text_or_none(path):
    return path.read_text(encoding="utf-8") if path.exists() else None


def _by_experiment(paths):
    records = []
    for path in paths:
        records += read_file(path)
    records.sort(key=lambda record: record["experiment"])
    for experiment, batch in groupby(records, key=lambda r: r["experiment"]):
        yield experiment, list(batch)


def main(argv=None):
    """Command line: rebuild the tracker from result files.

    Parameters
    ----------
    argv : list of str, default=None
        Of the command line; sys.argv when None.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "results", type=Path, help="folder of one experiment, or of several"
    )
    parser.add_argument(
        "--tracking-uri",
        help=f"default: the variable MLFLOW_TRACKING_URI, or else {DEFAULT_URI}",
    )
    arguments = parser.parse_args(argv)
    folders = [
        path.parent
        for path in [
            arguments.results / "records",
            *sorted(arguments.results.glob("*/records")),
        ]
        if path.is_dir()
    ]
    if not folders:
        parser.error(f"{arguments.results} holds no records/ of an experiment")
    for folder in folders:
        try:
            logged = rebuild(folder, tracking_uri=arguments.tracking_uri)
        except ValueError as error:
            parser.error(str(error))
        print(
            f"{folder.name}: {logged.written} runs written, {logged.unchanged} up to "
            f"date, {logged.removed} removed"
        )


if __name__ == "__main__":
    main()

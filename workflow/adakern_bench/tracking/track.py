"""Records of fits as MLflow runs: a view of the files that can be made again.

One process at a time writes (a file lock), a run is found again by the tag of its fit,
and a tag that hashes the whole record tells whether it is up to date; so logging twice,
from two processes or after a crash adds nothing twice. By hand, from the files and at
will: ``adakern track results``.
"""

import os
from functools import cache, partial
from pathlib import Path

import yaml

from adakern_bench.base.paths import kept_models
from adakern_bench.records.read import find_records, read_records
from adakern_bench.tracking.runs import Run, of_fit, of_methods, sha256, table_view
from adakern_bench.tracking.store import log_runs

#: What an experiment's summary run holds, if it is there.
SUMMARY = [
    "report.html",
    "*.csv",
    "config.yaml",
    "tables/*.csv",
    "figures/*.svg",
    "winner/*.csv",
    "winner/figures/*",
]


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
    records = read_records(paths, _described(config).get("metric")) if paths else []
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
    described = _described(config)
    metric = described.get("metric")
    runs = [*of_methods(records, described, metric)]
    runs += [of_fit(r, config, models(r) if models else {}) for r in records]
    if summary:
        contents = {name: sha256(path.read_bytes()) for name, path in summary.items()}
        tags = {"kind": "summary", "experiment": experiment}
        name = f"{experiment}: summary"
        runs.append(Run("summary", name, tags, contents, artifacts=summary))
    return log_runs(runs, experiment, tracking_uri, prune, table_view(metric))


@cache
def _described(config):
    """The resolved configuration, of its text."""
    return yaml.safe_load(config or "{}") or {}

"""Logging of records as MLflow runs, which can be rebuilt from the files at any time.

One process at a time writes (a file lock). A tag identifies the fit of a run, and a
hash of the whole record shows whether it is up to date. Therefore logging twice, from
two processes, or after a crash creates no duplicates. ``adakern track results``
rebuilds all runs from the files.
"""

import os
from functools import cache, partial
from pathlib import Path

import yaml

from adakern_bench.base.paths import kept_model
from adakern_bench.config.sweeps import base_name
from adakern_bench.records.read import find_records, read_records
from adakern_bench.tracking.runs import Run, of_fit, of_methods, sha256, table_view
from adakern_bench.tracking.store import log_runs

#: Files of the summary run of an experiment, if they exist.
SUMMARY = [
    "report.html",
    "[!.]*.csv",
    "run.yaml",
    "tables/[!.]*.csv",
    "figures/[!.]*.svg",
    "winner/[!.]*.csv",
    "winner/figures/[!.]*",
]


def track(results, *, tracking_uri=None):
    """Synchronise MLflow with a folder of results.

    Every record of the methods and data sets of the folder's run becomes a run; tables,
    figures and report become one summary run. Other runs are removed; runs that are up
    to date are not touched.
    """
    results = Path(results)
    found = (path for pattern in SUMMARY for path in sorted(results.glob(pattern)))
    path = results / "run.yaml"
    config = path.read_text(encoding="utf-8") if path.exists() else None
    described = _described(config)
    paths = [path for path in find_records(results) if _is_of(path, described)]
    records = read_records(paths, described.get("metric")) if paths else []
    return log_records(
        records,
        # The folder's name, since the records of a copied folder name the original.
        experiment=Path(os.path.abspath(results)).name,
        tracking_uri=tracking_uri,
        config=config,
        models=partial(kept_model, results),
        summary={path.relative_to(results).as_posix(): path for path in found},
        prune=True,
    )


def _is_of(path, described):
    """Whether a record is of a method and a data set that are still compared."""
    if "compared" not in described:
        return True
    dataset, method = map(base_name, path.parts[-3:-1])
    return dataset in described["dataset"] and method in described["compared"]


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
    """Log records of fits that are not up to date.

    There is a run per data set and method, with means over the repeats, and a child run
    per repeat. `config` (the resolved configuration as YAML) provides descriptions;
    only the summary has it as an artifact, since thousands of fits make it large.
    `models` maps a record to the folder of its fitted model. A run is out of date if
    its record, which contains every parameter of the fit, has changed, but not if other
    parts of the configuration have. With `prune`, runs of other fits are deleted;
    `summary` (files by name) is a further run.
    """
    described = _described(config)
    metric = described.get("metric")
    runs = [*of_methods(records, described, metric)]
    runs += [of_fit(r, models(r) if models else None) for r in records]
    if summary:
        contents = {name: sha256(path.read_bytes()) for name, path in summary.items()}
        tags = {"kind": "summary", "experiment": experiment}
        name = f"{experiment}: summary"
        runs.append(Run("summary", name, tags, contents, artifacts=summary))
    return log_runs(runs, experiment, tracking_uri, prune, table_view(metric))


@cache
def _described(config):
    """Parse the text of the resolved configuration."""
    return yaml.load(config or "{}", yaml.CSafeLoader) or {}

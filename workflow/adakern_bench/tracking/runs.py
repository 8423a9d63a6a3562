"""MLflow runs made from the records of an experiment."""

import hashlib
import json
import math
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from adakern.evaluation import GREATER_IS_BETTER, RECORDED, ranks_by_dataset
from adakern.evaluation.quantities import MAIN_METRIC, main_metric
from adakern_bench.config.sweeps import base_name
from adakern_bench.records.machine import git
from adakern_bench.records.read import to_frame
from adakern_bench.report.compare import shared
from adakern_bench.report.figures import method_styles, plot_repeats, to_svg
from adakern_bench.report.leaderboard import by_dataset

_MAX_VALUE = 5000  # maximum length of a tag in MLflow
#: Logged as parameters, not metrics, since they are constant in comparable runs.
_CONSTANTS = ("n_train", "n_test", "n_features", "seed", "estimator")


class Run(NamedTuple):
    """A run as it should be in MLflow."""

    key: str
    name: str
    tags: dict
    content: object  # its hash tells whether a logged run is up to date
    records: list = []  # of its fits
    params: dict = {}
    metrics: dict = {}
    artifacts: dict = {}  # name -> text, function that makes it, or Path of a file
    model: Path | None = None  # folder of the fitted model
    parent: str | None = None  # its key

    @property
    def digest(self):
        return sha256(json.dumps(self.content, sort_keys=True).encode())


def sha256(content):
    """SHA-256 of bytes as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _tags(record, kind, *names):
    names = ("experiment", "dataset", "method", "task", *names)
    told = {name: record.get(name) for name in names}
    return {"kind": kind} | {
        name: str(v)[:_MAX_VALUE] for name, v in told.items() if v is not None
    }


def of_methods(records, config, metric):
    """Yield a run for each data set and method, with statistics over its repeats."""
    methods = config.get("method", {})
    source = {"mlflow.source.name": "adakern", "mlflow.source.type": "PROJECT"}
    source |= {"mlflow.source.git.commit": git("rev-parse", "HEAD") or "unknown"}
    key = itemgetter("dataset", "method", "repeat")
    for dataset, of_dataset in groupby(sorted(records, key=key), itemgetter("dataset")):
        runs = list(of_dataset)
        frame = to_frame(runs)
        by = main_metric(runs[0]["task"], metric)
        places = ranks_of(frame, by)
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
                # MLflow's comparison shows the first ones, in alphabetical order.
                params={"Method": method} | dict(params),
                metrics=metrics,
                artifacts={"repeats.csv": table.to_csv(), **figure},
            )


def ranks_of(frame, metric):
    """Method -> rank on the data set; the last if it finished no common repeat."""
    kept = shared(frame)
    scores = by_dataset(frame if kept.empty else kept, metric=metric).reindex(
        columns=sorted({*frame["method"]})
    )
    (ranks,) = ranks_by_dataset(scores, greater_is_better=GREATER_IS_BETTER[metric])
    return dict(zip(scores.columns, map(float, ranks), strict=True))


def _figure(frame, places, metric):
    """SVG figure with the score of all methods on a data set in each repeat."""
    order = sorted(places, key=places.get)
    return to_svg(plot_repeats(frame, metric, method_styles(order), order))


def table_view(metric):
    """Columns and order of the table of runs, in MLflow's format."""
    shown = [main_metric(task, metric) for task in MAIN_METRIC]
    scores = [f"test/{m}_{what}" for m in shown for what in ("mean", "std")]
    columns = ["test/rank", *scores, "time/fit_seconds_mean"]
    return {
        "selectedColumns": [f"metrics.`{name}`" for name in columns],
        "orderByKey": "metrics.`test/rank`",
        "orderByAsc": True,
    }


def of_fit(record, model):
    """Run of one repeat."""
    # MLmodel contains a unique id of the model.
    made = (model / "MLmodel").read_text(encoding="utf-8") if model else ""
    cell = f"{record['dataset']}/{record['method']}"
    return Run(
        key=f"{cell}/{record['repeat']}",
        name=f"repeat {record['repeat']}",
        tags=_tags(record, "solve", "repeat", "status", "reason", "code_version"),
        content=[record, made],
        records=[record],
        params=_params(record),
        metrics=_metrics(record),
        artifacts={"record.json": json.dumps(record, indent=1, sort_keys=True)},
        model=model,
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
    """Scores and costs. MLflow sorts sections alphabetically: "test" is first."""
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
    """Round to six significant digits, since MLflow displays all."""
    return float(f"{value:.6g}")

"""Synthetic records of runs, for tests of the report and the tracker."""

import json
import zlib
from copy import deepcopy

import numpy as np

from adakern.evaluation import METRICS
from adakern_bench.records.solve import EMPTY


def make_record(dataset="heart", method="svm-cv", repeat=0, **changes):
    """A record with plausible values that depend only on its identity."""
    identity = f"{dataset}/{method}/{repeat}".encode()
    rng = np.random.default_rng(zlib.crc32(identity))
    task = changes.get("task", "classification")
    scores = {
        split: {metric: float(rng.uniform(0.6, 0.9)) for metric in METRICS[task]}
        for split in ("train", "test")
    }
    record = {"experiment": "demo", "dataset": dataset, "method": method, "task": task}
    record |= {"repeat": repeat, "seed": 7 + repeat, "status": "ok", "reason": None}
    record |= {
        "params": {"C": 2.0, "gamma": "scale"},
        "best_params": {"C": 2.0},
        "metrics": scores,
    }
    record |= {
        "fit_seconds": float(rng.uniform(0.01, 0.5)),
        "predict_seconds": float(rng.uniform(0.001, 0.01)),
        "peak_memory_bytes": int(rng.integers(1e8, 2e8)),
        "rank": None,
        "n_support": int(rng.integers(10, 60)),
    }
    record |= {
        "n_iter": None,
        "objective": None,
        "duality_gap": None,
        "converged": True,
    }
    record |= {"n_train": 60, "n_test": 40, "n_features": 13, "warnings": []}
    record |= {
        "versions": {"numpy": "2.4.0", "scikit-learn": "1.9.1"},
        "code_version": "abc",
        "machine": {"system": "Linux x86_64", "processor": "any", "cores": 2},
        "preparation": {"scale": "unit", "scale_fit": "train", "clip": None},
        "protocol": {"kind": "holdout", "repeats": 6, "published": False},
        "search": {"method": method, "grid": {"C": [1.0, 2.0]}, "folds": 5},
        "data_fingerprint": "def",
    }
    return record | changes


def failed(
    dataset, method, repeat, reason="ValueError: boom", status="failed", **changes
):
    """A record of a failed run, which knows as little as those of the workflow."""
    changes = deepcopy(EMPTY) | {"status": status, "reason": reason} | changes
    return make_record(dataset, method, repeat, **changes)


def write_records(results, records):
    """Write records as the workflow does; returns the sorted paths."""
    cells = {}
    for record in records:
        cells.setdefault((record["dataset"], record["method"]), []).append(record)
    paths = []
    for (dataset, method), batch in cells.items():
        path = results / "records" / dataset / method / "0-9.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(batch))
        paths.append(path)
    return sorted(paths)


def demo_records():
    """Two tasks, three data sets each, three methods, six repeats, some failures."""
    classes, numbers = ("heart", "sonar", "wine"), ("yacht", "mpg", "bodyfat")
    tasks = dict.fromkeys(classes, "classification") | dict.fromkeys(
        numbers, "regression"
    )
    records = [
        make_record(dataset, method, repeat, task=task)
        for dataset, task in tasks.items()
        for method in ("svm-cv", "krr-cv", "dank")
        for repeat in range(6)
    ]
    replaced = {
        ("heart", "dank", 2): failed("heart", "dank", 2),
        ("sonar", "dank", 5): failed("sonar", "dank", 5, "after 60 s", "timeout"),
    }
    return [replaced.get((r["dataset"], r["method"], r["repeat"]), r) for r in records]

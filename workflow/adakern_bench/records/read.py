"""Reading of records, and their combination into one table."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from adakern._utils.files import read_json
from adakern.evaluation import METRICS
from adakern.evaluation.quantities import main_metric
from adakern_bench.base.paths import repeats_of

# Nested parts of a record and the prefix of their columns.
_OWN = ("extra", "machine", "preparation", "protocol", "search", "sweep")
_PREFIXES = {"params": "param_", "best_params": "best_", "versions": "version_"}
_PREFIXES |= {name: f"{name}_" for name in _OWN}
_KEY = ["dataset", "method", "repeat"]
_NEEDED = {
    *_KEY,
    "experiment",
    "task",
    "status",
    "machine",
    "preparation",
    "protocol",
    "search",
}


def find_records(results):
    """Sorted record files of an experiment; where repeats overlap, the newest file."""
    found = []
    taken = set()
    files = Path(results).glob("records/*/*/[!.]*.json")
    for path in sorted(files, key=lambda p: p.stat().st_mtime, reverse=True):
        solves = {(path.parent, repeat) for repeat in repeats_of(path)}
        if not solves & taken:
            found.append(path)
            taken |= solves
    return sorted(found)


def read_records(paths, metric=None):
    """Return the sorted records of all files.

    A record with status "ok" counts as failed if its `metric` (by default the main one
    of its task) is missing or not finite.
    """
    records = []
    data = {}
    for path in map(Path, paths):
        for record in read_file(path):
            _check_place(path, record, data)
            records.append(_checked(record, metric))
    if not records:
        raise ValueError("Found no records; run an experiment first.")
    experiments = sorted({record["experiment"] for record in records})
    if len(experiments) > 1:
        raise ValueError(
            "Records must be of a single experiment, got "
            f"{', '.join(experiments)}; compare one at a time."
        )
    return sorted(records, key=lambda record: [record[name] for name in _KEY])


def _check_place(path, record, data):
    """Check the path of a record, and that all records of a data set share a table."""
    dataset = record["dataset"]
    method = record["method"]
    here = Path(path).parts[-3:-1] == (dataset, method)
    if not here or record["repeat"] not in repeats_of(path):
        raise ValueError(
            f"{path} contains a record of {dataset} / {method} repeat "
            f"{record['repeat']}, which belongs in another file. Delete the file and "
            "run again."
        )
    found = record.get("data_fingerprint")
    table = record.get("base_dataset", dataset)
    first, where = data.setdefault(table, (found, path)) if found else (found, path)
    if first != found:
        raise ValueError(
            f"{path} was made from another table of {table} (fingerprint {found}) than "
            f"{where} ({first}). Delete the file that does not belong to this "
            "experiment and run again."
        )


def read_file(path):
    """Return the records of a file; all must have the required keys."""
    content = read_json(path)
    records = content if isinstance(content, list) else [content]
    for record in records:
        missing = _NEEDED - set(record if isinstance(record, dict) else ())
        if not missing and record["task"] not in METRICS:
            missing = {f"a valid task (got {record['task']!r})"}
        if missing:
            raise ValueError(
                f"{path} is not the record of a run, or was written by an older "
                f"version: it lacks {', '.join(sorted(missing))}. Delete its folder "
                "and run again."
            )
    return records


def _checked(record, metric):
    if record["status"] != "ok":
        return record
    metric = main_metric(record["task"], metric)
    value = record["metrics"]["test"].get(metric)
    if value is not None and np.isfinite(value):
        return record
    told = (
        f"the method has no {metric}"
        if value is None
        else f"the test {metric} is {value}"
    )
    return record | {"status": "failed", "reason": told}


def to_frame(records):
    """Return a frame with one row per run, and nested parts as columns such as
    `test_accuracy` and `param_C`.

    The column `chosen` contains the result of the search as JSON. A column of mixed
    types is stored as text (strings unchanged, everything else as JSON).
    """
    frame = pd.DataFrame([_flat(record) for record in records])
    fixed = [name for name in frame.columns if "_" not in name or name in records[0]]
    frame = frame[[*fixed, *sorted(set(frame.columns) - set(fixed))]]
    return frame.apply(_uniform)


def _flat(record):
    row = {}
    for name, value in record.items():
        if name == "metrics":
            for split, scores in (value or {}).items():
                row |= {f"{split}_{metric}": v for metric, v in (scores or {}).items()}
        elif name in _PREFIXES:
            row |= {f"{_PREFIXES[name]}{k}": v for k, v in (value or {}).items()}
            if name == "best_params":  # all of them, with their types
                row["chosen"] = json.dumps(value)
        else:
            row[name] = value
    return row


def nested(frame, part):
    """Columns of a nested part of the records, such as "version", under their own
    names.
    """
    prefix = f"{part}_"
    columns = [name for name in frame if name.startswith(prefix)]
    return frame[columns].rename(columns=lambda name: name.removeprefix(prefix))


def _uniform(column):
    values = [None if isinstance(v, float) and np.isnan(v) else v for v in column]
    kinds = {type(value) for value in values} - {type(None)}
    if not kinds <= {bool} and not kinds <= {int, float}:
        kept = (type(None), str)
        values = [
            v if isinstance(v, kept) else json.dumps(v, sort_keys=True) for v in values
        ]
        return pd.Series(values, column.index, dtype="object")
    kind = "float64" if float in kinds else "Int64" if int in kinds else "boolean"
    return pd.Series(values, column.index, dtype=kind if kinds else "object")

"""Stage ``study``: a computation that is not a solve, kept as a tidy table."""

from pathlib import Path

from threadpoolctl import threadpool_limits

from adakern._utils.files import atomic_path
from adakern.bench.runtime.dotted import resolve
from adakern.datasets import Table

__all__ = ["read_frames", "run"]


def read_frames(paths):
    """The frames of a study's data sets, stacked; ``dataset`` tells them apart."""
    import pandas as pd

    parts = []
    for path in map(Path, paths):
        frame = pd.read_parquet(path)
        parts.append(frame if "dataset" in frame else frame.assign(dataset=path.stem))
    return pd.concat(parts, ignore_index=True)


def run(inputs, outputs, params):
    """Compute one study on one data set (``table`` is None when it makes its own)."""
    tables = [Table.load(path) for path in inputs["table"]]
    table = tables[0] if tables else None
    with threadpool_limits(params["threads"]):
        frame = resolve(params["compute"])(table, params["seed"], **params["params"])
    with atomic_path(outputs["frame"]) as path:
        frame.to_parquet(path, index=False)

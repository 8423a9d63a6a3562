"""Stage ``special``: what is no solve, on the rows of the split.

Such as the convergence of a solver or the entries of a learned matrix. It is a module
of ``workflow/scripts/`` with three functions:

- ``compute(data, seed, **params)`` gives a DataFrame for one data set; ``data`` is its
  split, prepared as for a solve;
- ``plot(frame)`` gives the figure and ``table(frame)`` the table of all data sets, told
  apart by the column ``dataset``. They are drawn as those of records are
  (:mod:`adakern_bench.stages.views`), so that another figure computes nothing again.
"""

from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from adakern._utils.dotted import resolve
from adakern._utils.files import atomic_path
from adakern_bench.data import Table
from adakern_bench.stages.prepare import prepare
from adakern_bench.stages.split import load_split

__all__ = ["compute_all", "run"]


def run(inputs, outputs, params):
    """Write the frame of one special computation.

    Parameters
    ----------
    inputs : dict
        Paths by name.
    outputs : dict
        Paths by name.
    params : dict
        Settings of the stage.
    """
    compute = resolve(params["function"])
    frame = compute_all(inputs["tables"], inputs["splits"], compute, params)
    with atomic_path(outputs["frame"]) as path:
        frame.to_parquet(path, index=False)


def compute_all(tables, splits, compute, params):
    """The frames of all data sets below each other.

    Parameters
    ----------
    tables : dict
        Paths by data set.
    splits : dict
        Paths by data set.
    compute : callable
        The special computation.
    params : dict
        Settings of the stage.
    """
    frames = []
    with threadpool_limits(params["threads"]):
        for table, split in zip(tables, splits, strict=True):
            dataset = Path(split).stem
            preparation = params["preparation"][dataset]
            data = prepare(Table.load(table), *load_split(split, 0), **preparation)
            frame = compute(data, params["seed"], **params["params"])
            frames.append(frame.assign(dataset=dataset))
    return pd.concat(frames, ignore_index=True)

"""Run a computation other than a fit on the split of each data set.

Examples are the convergence of a solver and the entries of a learned matrix. The
computation is a module of ``workflow/special/`` with three functions:

- ``compute(data, seed, **params)`` returns a DataFrame for one data set; ``data`` is
  its split, prepared as for a fit;
- ``plot(frame)`` returns the figure and ``table(frame)`` the table of all data sets,
  which the column ``dataset`` distinguishes. They are called by the same rules as for
  records (`figure` and `summary_table`), so that a new figure repeats no computation.
"""

from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from adakern._utils.dotted import resolve
from adakern._utils.files import atomic_path
from adakern_bench.data.table import Table
from adakern_bench.records.job import job
from adakern_bench.records.prepare import prepare
from adakern_bench.records.split import load_split

params = snakemake.params
tables = snakemake.input.tables
splits = snakemake.input.splits

with job(snakemake), threadpool_limits(params.threads):
    compute = resolve(params.function)
    frames = []
    for table, split in zip(tables, splits, strict=True):
        dataset = Path(split).stem
        preparation = params.preparation[dataset]
        data = prepare(Table.load(table), *load_split(split, 0), **preparation)
        frame = compute(data, params.seed, **params.arguments)
        frames.append(frame.assign(dataset=dataset))
    with atomic_path(snakemake.output.frame) as path:
        pd.concat(frames, ignore_index=True).to_parquet(path, index=False)

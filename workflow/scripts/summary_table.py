"""The records, or a special computation, condensed to a table for the report.

A function with a parameter ``published`` gets the experiment's published numbers.
"""

from inspect import signature

import pandas as pd

from adakern._utils.dotted import resolve
from adakern._utils.files import atomic_path
from adakern_bench.records.job import job
from adakern_bench.report.published import load_published

view = snakemake.params.settings

with job(snakemake):
    frame = pd.read_parquet(snakemake.input.frame)
    function = resolve(view["function"])
    asks = "published" in signature(function).parameters
    numbers = map(load_published, snakemake.input.published if asks else [])
    table = function(frame, *numbers, **view["params"])
    with atomic_path(snakemake.output.table) as path:
        table.to_csv(path, index=False, float_format="%.6g")

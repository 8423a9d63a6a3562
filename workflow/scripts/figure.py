"""A figure of the records, or of a special computation."""

import pandas as pd

from adakern._utils.dotted import resolve
from adakern_bench.records.job import job
from adakern_bench.report.figures import save_svg

view = snakemake.params.settings

with job(snakemake):
    frame = pd.read_parquet(snakemake.input.frame)
    figure = resolve(view["function"])(frame, **view["params"])
    save_svg(figure, snakemake.output.figure)

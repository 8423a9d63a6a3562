"""Draw a figure of the records or of a special computation."""

import pandas as pd

from adakern._utils.dotted import resolve
from adakern_bench.records.job import job
from adakern_bench.report.figures import save_svg
from adakern_bench.report.views import make_view

params = snakemake.params

with job(snakemake):
    frame = pd.read_parquet(snakemake.input.frame)
    function = resolve(params.view["function"])
    figure = make_view(function, frame, params.view["params"], metric=params.metric)
    save_svg(figure, snakemake.output.figure)

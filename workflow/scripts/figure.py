"""A figure of the records, or of a special computation."""

import pandas as pd

from adakern._utils.dotted import resolve
from adakern_bench.records.job import job
from adakern_bench.report.figures import save_svg
from adakern_bench.report.views import make_view

view = snakemake.params.settings

with job(snakemake):
    frame, function = pd.read_parquet(snakemake.input.frame), resolve(view["function"])
    figure = make_view(function, frame, view["params"], metric=view["metric"])
    save_svg(figure, snakemake.output.figure)

"""The records, or a special computation, condensed to a table for the report."""

import pandas as pd

from adakern._utils.dotted import resolve
from adakern._utils.files import atomic_path
from adakern_bench.records.job import job
from adakern_bench.report.views import make_view

view = snakemake.params.settings

with job(snakemake):
    frame, function = pd.read_parquet(snakemake.input.frame), resolve(view["function"])
    known = {"metric": view["metric"], "published": snakemake.input.published}
    table = make_view(function, frame, view["params"], **known)
    with atomic_path(snakemake.output.table) as path:
        table.to_csv(path, index=False, float_format="%.6g")

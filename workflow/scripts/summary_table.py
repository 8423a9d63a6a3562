"""Summarise the records or a special computation as a table of the report."""

import pandas as pd

from adakern._utils.dotted import resolve
from adakern._utils.files import write_csv
from adakern._utils.printable import without_formula
from adakern_bench.records.job import job
from adakern_bench.report.views import make_view

params = snakemake.params

with job(snakemake):
    frame = pd.read_parquet(snakemake.input.frame)
    function = resolve(params.view["function"])
    known = {"metric": params.metric, "published": snakemake.input.published}
    table = make_view(function, frame, params.view["params"], **known)
    table = table.rename(columns=without_formula).map(without_formula)
    write_csv(snakemake.output.table, table, float_format="%.6g")

"""Write tables and paired tests from all records of an experiment."""

from pathlib import Path

from adakern_bench.base.paths import listed
from adakern_bench.records.job import job
from adakern_bench.report.compare import compare

with job(snakemake):
    results = Path(snakemake.output.records).parent
    records = list(listed(snakemake.input.records))
    published, *_ = [*snakemake.input.published, None]
    compare(records, results, published, snakemake.params.metric)

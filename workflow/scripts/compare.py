"""Tables and paired tests over all records of an experiment."""

from pathlib import Path

from adakern_bench.records.job import job
from adakern_bench.report.compare import compare

with job(snakemake):
    results = Path(snakemake.output.records).parent
    compare(snakemake.input.records, results, *snakemake.input.published)

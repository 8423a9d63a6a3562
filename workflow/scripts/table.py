"""The canonical table of a data set, from the first source that has it, checked."""

from adakern_bench.config.entry import DatasetEntry
from adakern_bench.data import load_table
from adakern_bench.records.job import job

params = snakemake.params

with job(snakemake):
    table = load_table(
        snakemake.wildcards.dataset,
        DatasetEntry(**params.entry),
        cache_dir=params.cache,
        mirror=params.mirror,
    )
    table.provenance["made_by"] = params.made_by
    table.save(snakemake.output.table)

"""Make the canonical table of a data set from its first available source."""

import os
from pathlib import Path

from adakern_bench.config.entry import DatasetEntry
from adakern_bench.data.fetch import load_table
from adakern_bench.data.sources import is_made, ready_table
from adakern_bench.records.job import job

params = snakemake.params
path = Path(snakemake.output.table)

with job(snakemake):
    asked = params.made_by, snakemake.input.files
    if is_made(ready_table(path), *asked):
        os.replace(ready_table(path), path)
    elif not is_made(path, *asked):  # in a group, Snakemake does not delete it first
        table = load_table(
            snakemake.wildcards.dataset,
            DatasetEntry(**params.entry),
            cache_dir=params.cache,
            mirror=params.mirror,
        )
        table.provenance["made_by"] = params.made_by
        table.save(path)

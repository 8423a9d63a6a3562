"""The canonical table of a data set, from the first source that has it, checked."""

from pathlib import Path

from adakern_bench.data import DatasetEntry, load_table
from adakern_bench.records.job import job

source = snakemake.params.source

with job(snakemake):
    target, entry = Path(snakemake.output.table), DatasetEntry(**source["entry"])
    where = {"cache_dir": target.parents[1] / "raw", "mirror": source["mirror"]}
    table = load_table(source["name"], entry, **where)
    table.provenance["made_by"] = source["made_by"]
    table.save(target)

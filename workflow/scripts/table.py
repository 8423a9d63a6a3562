"""The canonical table of a data set, from the first source that has it, checked."""

from pathlib import Path

from adakern_bench.config.entry import DatasetEntry
from adakern_bench.data import load_table
from adakern_bench.data.table import provenance_of
from adakern_bench.records.job import job

params, path = snakemake.params, Path(snakemake.output.table)


def is_made():
    """Whether it is there, made from this: Snakemake leaves the files of a group."""
    if not path.exists() or provenance_of(path).get("made_by") != params.made_by:
        return False
    made_at = path.stat().st_mtime
    return all(Path(file).stat().st_mtime < made_at for file in snakemake.input.files)


with job(snakemake):
    if not is_made():
        table = load_table(
            snakemake.wildcards.dataset,
            DatasetEntry(**params.entry),
            cache_dir=params.cache,
            mirror=params.mirror,
        )
        table.provenance["made_by"] = params.made_by
        table.save(path)

"""Write the results of an experiment as one self-contained HTML file."""

from pathlib import Path

from adakern_bench.base.paths import listed
from adakern_bench.data.table import Table, has_rare_class
from adakern_bench.records.job import job
from adakern_bench.report.origin import origin
from adakern_bench.report.page import report

files = snakemake.input

with job(snakemake):
    tables = [Table.load(path) for path in listed(files.tables)]
    config = snakemake.params.config
    report(
        Path(snakemake.output.report).parent,
        config,
        figures=[Path(path) for path in files.figures],
        winner=next(map(Path, files.winner), None),
        summaries=[Path(path) for path in files.summaries],
        provenance={table.name: table.provenance for table in tables},
        origin=origin(config),
        rare={table.name for table in filter(has_rare_class, tables)},
    )

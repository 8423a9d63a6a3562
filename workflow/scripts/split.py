"""Draw the training and test rows of a data set for each repeat."""

from adakern_bench.data.table import Table
from adakern_bench.records.job import job
from adakern_bench.records.split import check_repeats, make_splits, save_splits

with job(snakemake):
    table = Table.load(snakemake.input.table)
    splitting = snakemake.params.splitting
    splits = make_splits(table, **splitting)
    if splitting["kind"] == "time" and not splitting["published"]:
        check_repeats(splits, table, splitting["repeats"])
    save_splits(snakemake.output.split, splits)

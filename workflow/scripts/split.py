"""Which rows of a data set train and which test, for every repeat."""

from adakern_bench.data import Table
from adakern_bench.records.job import job
from adakern_bench.records.split import make_splits, save_splits

with job(snakemake):
    table = Table.load(snakemake.input.table)
    splits = make_splits(table, **snakemake.params.splitting)
    save_splits(snakemake.output.split, splits)

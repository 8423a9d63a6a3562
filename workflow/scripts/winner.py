"""The best method of one table, fitted again on its first split and looked into."""

from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from adakern._utils.files import atomic_path
from adakern_bench.data import Table
from adakern_bench.records.job import job
from adakern_bench.records.read import read_records
from adakern_bench.records.split import load_split
from adakern_bench.report.figures import save_svg
from adakern_bench.report.winner import explain

files, settings = snakemake.input, snakemake.params.settings

with job(snakemake):
    method = pd.read_csv(files.ranks)["method"][0]
    paths = [path for path in map(Path, files.records) if path.parent.name == method]
    record = next(r for r in read_records(paths) if r["status"] == "ok")
    repeat, cell = record["repeat"], settings["methods"][method]
    with threadpool_limits(cell["threads"]):
        rows = load_split(files.split, repeat)
        found = record["best_params"] or {}
        figure, columns = explain(method, Table.load(files.table), *rows, cell, found, repeat)
    save_svg(figure, snakemake.output.figure)
    with atomic_path(snakemake.output.table) as path:
        columns.to_csv(path, index=False, float_format="%.4g")

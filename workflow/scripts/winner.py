"""The best method of one table, fitted again on its first split and looked into."""

from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from adakern._utils.files import atomic_path
from adakern_bench.records.job import job
from adakern_bench.records.process import run_each
from adakern_bench.records.read import read_records
from adakern_bench.report.figures import save_svg
from adakern_bench.report.tables import read_csv
from adakern_bench.report.winner import explain_files

files, output, params = snakemake.input, snakemake.output, snakemake.params

with job(snakemake):
    method = read_csv(files.ranks)["method"][0]
    paths = [path for path in map(Path, files.records) if path.parent.name == method]
    record = next(r for r in read_records(paths, params.metric) if r["status"] == "ok")
    repeat, cell = record["repeat"], params.fits[method]
    found = record["best_params"] or {}
    given = files.table, files.split, output.figure, output.table
    task = partial(explain_files, method, *given, cell, found, repeat, params.metric)
    outcome = run_each({repeat: task}, **params.limits)[repeat]
    if outcome.status != "ok":  # the comparison stands without it
        figure = Figure(figsize=(10.5, 1))
        figure.text(
            0.01, 0.5, f"{method} was not fitted again: {outcome.reason}", fontsize=9
        )
        save_svg(figure, output.figure)
        with atomic_path(output.table) as path:
            pd.DataFrame(columns=["column", "hint"]).to_csv(path, index=False)

"""Refit the best method of a single table, and explain its predictions."""

import json
from functools import partial
from pathlib import Path

import pandas as pd

from adakern._utils.files import write_csv, write_json
from adakern_bench.records.job import job, journal
from adakern_bench.records.process import run_each
from adakern_bench.report.tables import read_csv
from adakern_bench.report.winner import explain_files

files = snakemake.input
output = snakemake.output
params = snakemake.params


def refit(method, runs):
    """Refit the method; return the reason if it failed, else ""."""
    if not runs:
        return f"no run of {method} finished, so there is nothing to explain"
    record = max(runs, key=lambda run: run["n_train"])  # the latest of time splits
    repeat = record["repeat"]
    cell = params.fits[method]
    found = json.loads(record["chosen"]) or {}
    given = files.table, files.split, Path(output.figures), output.table
    task = partial(explain_files, method, *given, cell, found, repeat, params.metric)
    limits = params.limits | {"journal": journal(snakemake)}
    outcome = run_each({repeat: task}, **limits)[repeat]
    if outcome.status == "ok":
        return ""
    return f"{method} could not be refitted: {outcome.reason}"


with job(snakemake):
    method = read_csv(files.ranks)["method"][0]
    runs = pd.read_parquet(files.records)
    runs = runs[(runs["dataset"] == params.own) & (runs["method"] == method)]
    finished = runs[runs["status"] == "ok"].to_dict("records")
    if reason := refit(method, finished):  # the report is made nevertheless
        Path(output.figures).mkdir(parents=True, exist_ok=True)
        write_json(Path(output.figures, "captions.json"), {"": reason})
        write_csv(output.table, pd.DataFrame(columns=["column", "hint"]))

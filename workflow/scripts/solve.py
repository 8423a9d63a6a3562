"""Fit, predict, time, and write down what happened: every repeat of a batch."""

from contextlib import suppress
from functools import partial
from pathlib import Path

from adakern._utils.files import check_whole, write_json
from adakern_bench.base.dotted import estimator_class
from adakern_bench.base.paths import repeats_of
from adakern_bench.records.job import job
from adakern_bench.records.process import Outcome, run_each
from adakern_bench.records.search import NOT_SEARCHED, by_repeat
from adakern_bench.records.solve import record_of, solve_one

files, params = snakemake.input, snakemake.params
models = snakemake.output.get("models")

with job(snakemake):
    check_whole(files.table, files.split)  # or each fit would fail, of any method
    if models:
        Path(models).mkdir(parents=True, exist_ok=True)
        import adakern_bench.records.models  # noqa: F401 - before the children need it
    with suppress(Exception):  # what is wrong with it, each fit will say
        # Imported once, before the forks.
        estimator_class(params.fit["estimator"]["_target_"])
    searched = by_repeat(files.search)
    outcomes, tasks = {}, {}
    for repeat in repeats_of(snakemake.output.record):
        found = searched.setdefault(repeat, NOT_SEARCHED)
        if found["status"] != "ok":
            outcomes[repeat] = Outcome(
                found["status"], reason=f"search: {found['reason']}"
            )
            continue
        keep = Path(models, str(repeat)) if models else None
        best = found["best_params"]
        tasks[repeat] = partial(
            solve_one, files.table, files.split, params.fit, best, repeat, keep
        )
    outcomes |= run_each(tasks, **params.limits)
    told = params.identity | params.described
    records = [
        record_of(params.fit, told, repeat, searched[repeat], outcomes[repeat])
        for repeat in sorted(outcomes)
    ]
    write_json(snakemake.output.record, records)

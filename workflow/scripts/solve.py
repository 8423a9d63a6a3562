"""Fit, predict, time and record each repeat of a batch."""

from contextlib import suppress
from functools import partial
from pathlib import Path

from adakern._utils.files import check_whole, write_json
from adakern_bench.base.dotted import estimator_class
from adakern_bench.base.paths import repeats_of
from adakern_bench.records.job import job, journal
from adakern_bench.records.kept import forget, keys_of, reusable
from adakern_bench.records.process import Outcome, run_each
from adakern_bench.records.search import NOT_SEARCHED, by_repeat
from adakern_bench.records.solve import record_of, solve_one

files = snakemake.input
params = snakemake.params
models = snakemake.output.get("models")
path = snakemake.output.record

with job(snakemake):
    check_whole(files.table, files.split)  # otherwise every fit would fail
    if models:
        Path(models).mkdir(parents=True, exist_ok=True)
        import adakern_bench.records.models  # noqa: F401 - slow, so before the forks
    with suppress(Exception):  # each fit will report the error
        # Imported once, before the forks.
        estimator_class(params.fit["estimator"]["_target_"])
    searched = by_repeat(files.search)
    found = {r: searched.get(r, NOT_SEARCHED) for r in repeats_of(path)}
    best = {r: one["best_params"] for r, one in found.items() if one["status"] == "ok"}
    depends = {repeat: [params.fit, chosen] for repeat, chosen in best.items()}
    keys = keys_of(files.table, files.split, depends)
    # If models are requested, an earlier record may lack its model.
    kept = {} if models else reusable(path, keys)
    outcomes = {
        repeat: Outcome(one["status"], reason=f"search: {one['reason']}")
        for repeat, one in found.items()
        if repeat not in best
    }
    tasks = {
        repeat: partial(
            solve_one,
            files.table,
            files.split,
            params.fit,
            chosen,
            repeat,
            Path(models, str(repeat)) if models else None,
        )
        for repeat, chosen in best.items()
        if repeat not in kept
    }
    outcomes |= run_each(tasks, journal=journal(snakemake), **params.limits)
    told = params.identity | params.described
    records = [
        kept[repeat] | told | {"search_seconds": one.get("search_seconds")}
        if repeat in kept
        else record_of(
            params.fit, told | {"key": keys.get(repeat)}, repeat, one, outcomes[repeat]
        )
        for repeat, one in found.items()
    ]
    write_json(path, records)
    forget(path)

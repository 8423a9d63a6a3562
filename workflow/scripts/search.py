"""Search the hyperparameters of each repeat of a batch; record failures, too."""

from functools import partial

from adakern._utils.files import check_whole, plain, write_json
from adakern_bench.base.paths import repeats_of
from adakern_bench.records.job import job, journal
from adakern_bench.records.kept import forget, keys_of, reusable
from adakern_bench.records.process import run_each
from adakern_bench.records.search import NOT_SEARCHED, by_repeat, search_repeat

files = snakemake.input
params = snakemake.params
settings = params.fit | params.search | {"train_rows": params.train_rows}

with job(snakemake):
    check_whole(files.table, files.split)  # otherwise every search would fail
    repeats = repeats_of(snakemake.output.search)
    handed_over = by_repeat(files.handed_over)
    before = {repeat: handed_over.get(repeat, NOT_SEARCHED) for repeat in repeats}
    tasks = {
        repeat: partial(
            search_repeat,
            files.table,
            files.split,
            settings,
            before[repeat]["best_params"],
            repeat,
        )
        for repeat in repeats
        if before[repeat]["status"] == "ok"
    }
    if settings["tuning"] == "published" and not handed_over:
        tasks = {repeats[0]: tasks[repeats[0]]}  # one tuning split for all repeats
    depends = {repeat: [settings, before[repeat]["best_params"]] for repeat in tasks}
    keys = keys_of(files.table, files.split, depends)
    kept = reusable(snakemake.output.search, keys)
    to_do = {repeat: task for repeat, task in tasks.items() if repeat not in kept}
    outcomes = run_each(to_do, journal=journal(snakemake), **params.limits)
    searches = []
    for repeat in repeats:
        if outcome := outcomes.get(repeat):
            best, points = outcome.value or (None, [])
            found = {
                "status": outcome.status,
                "reason": outcome.reason,
                "best_params": best,
                "search_seconds": outcome.seconds,
                "points": plain(points),
                "key": keys.get(repeat),
            }
        elif repeat in kept:
            found = kept[repeat]
        elif handed_over:
            found = before[repeat]
        else:
            found = searches[0] | {"search_seconds": 0.0, "points": []}
        searches.append(found | {"repeat": repeat})
    write_json(snakemake.output.search, searches)
    forget(snakemake.output.search)

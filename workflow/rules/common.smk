# What several rules use: folders, files of other rules, what a job is told.

import os
import re
from dataclasses import asdict
from pathlib import Path

from adakern_bench.base.dotted import targets
from adakern_bench.base.paths import PUBLISHED, SCRIPTS, solved_batches
from adakern_bench.config.code_version import code_version
from adakern_bench.config.sweeps import base_name

RESULTS = str(PLAN.results)
DATA = PLAN.config.data.cache
PUBLISHED_TABLE = [str(PUBLISHED / f"{PLAN.config.published}.csv")] * bool(
    PLAN.config.published
)


def one_of(names):
    """What a wildcard may be: one of the names, nothing where there are none."""
    return "|".join(map(re.escape, names)) or r"(?!)"


def table_of(dataset):
    """The table of a data set, whatever part of its rows is taken."""
    return f"{DATA}/tables/{base_name(dataset)}.npz"


def search_of(method, w):
    """The search of another method on the same repeats, if there is such a method."""
    return [f"{RESULTS}/search/{w.dataset}/{method}/{w.batch}.json"] if method else []


#: So many repeats of each method, or batches of them, are run; `adakern compare --minutes`
#: says how many, and what it leaves out makes nothing that is there out of date.
REPEATS = int(os.environ.get("ADAKERN_REPEATS", 0)) or None


def records(datasets):
    """Record files of all methods on these data sets."""
    return [
        f"{RESULTS}/records/{dataset}/{method}/{batch}.json"
        for dataset, method in PLAN.cells
        if dataset in datasets
        for batch in PLAN.batches(dataset, solved_batches(PLAN.results, dataset))[
            :REPEATS
        ]
    ]


def preparation(dataset):
    """What is done to the rows of a data set before a fit."""
    protocol = PLAN.config.protocol
    return {
        "scale": protocol.scale,
        "scale_fit": protocol.scale_fit,
        "scale_target": protocol.scale_target,
        "clip": PLAN.entry(dataset).clip if protocol.clip else None,
    }


def fit_of(dataset, method, stage):
    """How a method is fitted to a data set, with the version of the code that does it."""
    recipe = PLAN.recipe(dataset, method)
    return {
        "preparation": preparation(dataset) | PLAN.columns_kept(dataset, method),
        "seed": PLAN.config.protocol.seed,
        "estimator": recipe["estimator"],
        "fixed": recipe["fixed"],
        "threads": PLAN.config.jobs.threads,
        "code": code_version(SCRIPTS / f"{stage}.py", *targets(recipe["estimator"])),
    }


def job_minutes(batch):
    """Time that a job asks for on a cluster: its fits at their limit."""
    first, last = map(int, batch.split("-"))
    return 5 + (last - first + 1) * PLAN.config.jobs.time_limit // 60


def work_of(job):
    """The size of a job, by which time is foretold."""
    w = job.wildcards_dict
    if "batch" not in w:
        return 1.0
    first, last = map(int, w["batch"].split("-"))
    n = PLAN.entry(w["dataset"]).n or 1000
    # Between linear and cubic; the start of a process and of a fit counts too.
    return 1.0 + (last - first + 1) * (0.2 + (n / 1000) ** 1.5)


def limits(job, resources):
    """Of the fits of a job, with the journal of its attempts: no result depends on it.

    `adakern compare --minutes` says when all of them end. A parameter that is derived
    from `resources` triggers no rerun.
    """
    return {
        "time_limit": PLAN.config.jobs.time_limit,
        "attempt": resources.attempt,
        "ends": float(os.environ.get("ADAKERN_ENDS", "inf")),
        "journal": f"{RESULTS}/logs/{job}.jsonl",
    }

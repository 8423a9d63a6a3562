# Shared by several rules: folders, files of other rules, parameters of jobs.

import os
import re
import sys
from collections import Counter
from dataclasses import asdict
from math import inf, nan
from pathlib import Path

from adakern_bench.base.elsewhere_worker import targets
from adakern_bench.base.paths import AGAIN, PUBLISHED, SCRIPTS, repeats_of
from adakern_bench.config.code_version import code_version
from adakern_bench.config.sweeps import base_name
from adakern_bench.report.upcoming import Upcoming

RESULTS = str(PLAN.results)
DATA = PLAN.config.data.cache
PUBLISHED_TABLE = [str(PUBLISHED / f"{PLAN.config.published}.csv")] * bool(
    PLAN.config.published
)


#: Rules that fit estimators, with each repeat in a separate process.
FITTING = ("search", "solve", "cells")


def one_of(names):
    """Pattern that matches one of the names, or nothing if there are none."""
    return "|".join(map(re.escape, names)) or r"(?!)"


def table_of(dataset):
    """The table of a data set, which all points of its sweep share."""
    return f"{DATA}/tables/{base_name(dataset)}.npz"


def search_of(method, w):
    """File with the search of a method on the same repeats; none without a method."""
    return [f"{RESULTS}/search/{w.dataset}/{method}/{w.batch}.json"] if method else []


# A rule requested by name, as in --until solve, runs one job per cell.
if {"table", "split", "search", "solve"} & {w.rpartition("=")[2] for w in sys.argv}:
    PLAN.groups = {}

#: Data set, or table of several data sets -> its group.
GROUP_OF = {
    name: k
    for k, datasets in PLAN.groups.items()
    for dataset in datasets
    for name in (dataset, base_name(dataset))
}


def of_each(datasets, ending, files):
    """Files of each data set; for a grouped data set, the file of the group."""
    found = {
        file: None
        for dataset in filter(None, datasets)
        for file in (
            [f"{RESULTS}/groups/{GROUP_OF[dataset]}.{ending}"]
            if dataset in GROUP_OF
            else files(dataset)
        )
    }
    return list(found)


def records(datasets):
    """Record files of all methods on these data sets, for the batches of this run."""

    def files(dataset):
        return [
            f"{RESULTS}/records/{dataset}/{method}/{batch}.json"
            for method in PLAN.methods_of[dataset]
            for batch in PLAN.batches(dataset)[: PLAN.config.jobs.batches]
        ]

    return of_each(datasets, "cells", files)


def tables_of(datasets):
    """Tables of these data sets, or files of their groups."""
    return of_each(datasets, "tables", lambda dataset: [table_of(dataset)])


def preparation(dataset):
    """Settings of the preparation of a data set's rows."""
    protocol = PLAN.config.protocol
    return {
        "scale": protocol.scale,
        "scale_fit": protocol.scale_fit,
        "scale_target": protocol.scale_target,
        "clip": PLAN.entry(dataset).clip if protocol.clip else None,
    }


def fit_of(dataset, method, stage):
    """Settings of the fit of a method on a data set, with the version of its code."""
    recipe = PLAN.recipe(dataset, method)
    return {
        "preparation": preparation(dataset) | PLAN.columns_kept(dataset, method),
        "seed": PLAN.config.protocol.seed,
        "validates_from": PLAN.config.method[base_name(method)].validates_from,
        "estimator": recipe["estimator"],
        "fixed": recipe["fixed"],
        "threads": PLAN.config.jobs.threads,
        "code": code_version(SCRIPTS / f"{stage}.py", *targets(recipe["estimator"])),
    }


def job_minutes(batch):
    """Run time to request on a cluster, with all fits at their time limit."""
    first, last = map(int, batch.split("-"))
    return 5 + (last - first + 1) * PLAN.config.jobs.time_limit // 60


def fits_of(job):
    """Yield (data set, method, repeats) for each cell of a job that fits."""
    w = job.wildcards_dict
    if job.rule.name == "cells":
        for dataset in PLAN.groups[int(w["group"])]:
            for method in PLAN.methods_of[dataset]:
                yield dataset, method, range(PLAN.n_repeats(dataset))
    elif job.rule.name in FITTING:
        yield w["dataset"], w["method"], repeats_of(w["batch"])


def work_of(job, told):
    """Method -> expected seconds of a job's fits, without those that are reused.

    The key "" stands for the start of the job.
    """
    found = Counter({"": 1.0})
    for dataset, method, repeats in fits_of(job):
        search, fit = PLAN.seconds_of(dataset, method)
        each = {"search": search, "solve": fit}.get(job.rule.name, search + fit)
        missing = told.missing(
            dataset, method, repeats, kept_code(job, dataset, method)
        )
        found[method] += len(missing) * max(0.2, each)
    return found


def is_forced(job):
    """Whether Snakemake was told to run a job even if its output exists."""
    dag = workflow.dag
    return job.rule in dag.forcerules or not dag.forcefiles.isdisjoint(job.output)


def kept_code(job, dataset, method):
    """Version of the code whose results a job reuses; None if it reuses none."""
    # Snakemake removes the output of a job that it runs again.
    is_made_again = job.rule.name != "cells" and os.path.exists(job.output[-1])
    if is_made_again or is_forced(job):
        return None
    return fit_of(dataset, method, "solve")["code"]


def upcoming(jobs):
    """Summary of the fits of these jobs."""
    told = Upcoming(PLAN.results.parent)
    for job in jobs:
        if job.rule.name in ("solve", "cells"):
            for dataset, method, repeats in fits_of(job):
                seconds = sum(PLAN.seconds_of(dataset, method, unknown=nan))
                code = kept_code(job, dataset, method)
                told.add(dataset, method, repeats, seconds, code)
    return told


def print_upcoming():
    """Print this summary, unless Snakemake has no plan or no jobs."""
    dag = workflow.dag
    if jobs := list(dag.needrun_jobs(exclude_finished=False)) if dag else []:
        print(upcoming(jobs))


def limits(resources):
    """Limits of the fits of a job.

    A parameter derived from `resources` triggers no rerun.
    """
    jobs = PLAN.config.jobs
    return {
        "time_limit": jobs.time_limit,
        "attempt": resources.attempt,
        "ends": inf if jobs.ends is None else jobs.ends,
    }

"""Estimate the cost of a comparison, and choose the methods that fit."""

import time
from typing import NamedTuple

import numpy as np
import psutil

from adakern_bench.report.wording import count, duration


class Cost(NamedTuple):
    """What a method takes: measured on one core, with 1,000 training rows of 10
    columns.
    """

    seconds: float
    #: Exponent of the number of rows in the time of a fit.
    power: float = 1.0
    #: Seconds of a search, which uses a limited number of rows.
    search: float = 0.0
    #: Number of matrices of rows x rows in memory.
    matrices: float = 0.0
    tasks: tuple = ("classification", "regression")


COSTS = {
    "dummy": Cost(0.0),
    "linear": Cost(0.01, search=0.3),
    "boosting-default": Cost(0.15, 0.7),
    "forest-default": Cost(0.4, 1.1),
    "adaptive": Cost(7.0, 0.8),
    "dank-decomposed": Cost(0.3, 1.2),
    "lab-rbf-default": Cost(0.4, 1.0, tasks=("regression",)),
    "svm-cv": Cost(0.02, 2.0, search=0.7, tasks=("classification",)),
    "svr-cv": Cost(0.07, 2.0, search=1.0, tasks=("regression",)),
    "krr-cv": Cost(0.05, 2.5, search=2.0, matrices=2, tasks=("regression",)),
    "nystrom-krr": Cost(0.8, 2.8, matrices=1),
    "dank": Cost(0.2, 2.2, matrices=6),
    "knpl": Cost(0.1, 2.2, search=1.0, matrices=6, tasks=("classification",)),
}
#: Result of :func:`slowness` on the machine of the measurements.
REFERENCE_SECONDS = 0.1
#: Methods that every comparison includes.
ALWAYS = ("dummy", "linear", "boosting-default", "adaptive")
#: Seconds: time limit of a run (conf/experiment/compare.yaml), start of a job.
LONGEST, JOB = 600, 2.0
#: Number of repeats, minimum number of repeats if the time is limited, and number of
#: jobs after them.
REPEATS, FEWEST, REST_JOBS, TEST_SIZE = 5, 2, 6, 0.33
#: Maximum number of rows for which all repeats of a method are one job.
BATCH_ROWS = 2000


def slowness():
    """Time of this machine relative to that of :data:`COSTS`, at present."""
    start, matrix = (
        time.perf_counter(),
        np.random.default_rng(0).normal(size=(300, 300)),
    )
    for _ in range(5):
        np.linalg.svd(matrix)
    return max(1.0, (time.perf_counter() - start) / REFERENCE_SECONDS)


def choose(dataset, n, d, task, *, minutes=None, cores=1, memory=None, slower=1.0):
    """Return overrides and sentences of a comparison on n rows of d features."""
    memory = (memory or psutil.virtual_memory().available) / cores
    rows, job, said = n * (1 - TEST_SIZE), JOB * slower, []
    rest = REST_JOBS * job

    def seconds(cost):
        fit = cost.seconds * (rows / 1000) ** cost.power
        return (
            slower * (cost.search * min(1, rows / 1000) + fit) * max(1.0, d / 10) ** 0.7
        )

    def work(repeats, starts):
        n_jobs = sum(1 + (COSTS[name].search > 0) for name in methods)
        return repeats * sum(methods.values()) + starts * job * n_jobs

    def leave_out(method, why):
        said.append(f"left out: {method} ({why})")
        del methods[method]

    methods = {
        name: seconds(cost) for name, cost in COSTS.items() if task in cost.tasks
    }
    for name in [name for name in methods if name not in ALWAYS]:
        n_bytes = 8 * COSTS[name].matrices * rows**2
        if n_bytes > memory:
            leave_out(name, f"about {n_bytes / 1e9:.0f} GB a fit")
        elif methods[name] > LONGEST:
            leave_out(name, f"about {duration(methods[name])} a fit")
    if "dank" in methods:
        del methods["dank-decomposed"]
    overrides = []
    if minutes:
        # One repeat of every method, then as many as there is time for: at least two.
        overrides.append("jobs.batch_rows=0")
        budget = max(60 * minutes - rest, 20 * minutes) * cores
        while work(FEWEST, FEWEST) > budget and methods.keys() - ALWAYS:
            slowest = max(methods.keys() - ALWAYS, key=methods.__getitem__)
            leave_out(
                slowest, f"about {duration(FEWEST * (methods[slowest] + job))} in all"
            )
        wanted, methods["adaptive"] = methods["adaptive"], 0.0
        # The best method is fitted once more, alone.
        share = max(
            (budget - work(FEWEST, FEWEST)) / (FEWEST + cores), min(wanted, 10.0)
        )
        methods["adaptive"] = min(wanted, share)
        if 2 * wanted > share:  # estimates can be too low by half
            overrides.append(f"+settings.{dataset}.adaptive.time_limit={share:.0f}")
        if wanted > share:
            overrides.append(f"+settings.{dataset}.adaptive.preset=fast")
    in_all = work(REPEATS, REPEATS if minutes or n > BATCH_ROWS else 1) / cores + rest
    slowest = max(methods, key=methods.__getitem__)
    said.append(
        f"estimated time: {duration(round(in_all))} on {count(cores, 'core')} for "
        f"{count(REPEATS, 'repeat')} of {len(methods)} methods; "
        f"{slowest} about {duration(methods[slowest])} a fit"
    )
    if minutes:
        said.append("one repeat of every method first, then more while the time lasts")
    return [*overrides, f"method=[{','.join(methods)}]"], said

"""What a comparison takes, estimated before it starts, and what of it fits."""

import time
from typing import NamedTuple

import numpy as np
import psutil

from adakern_bench.report.wording import duration

__all__ = ["choose", "slowness"]


class Cost(NamedTuple):
    """What a method takes: measured on one core, with 1,000 training rows of 10 columns."""

    seconds: float
    #: The time of a fit grows with this power of the rows.
    power: float = 1.0
    #: Of a search, which looks at so many rows at most.
    search: float = 0.0
    #: Matrices of rows times rows in memory.
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
#: Of :func:`slowness` there.
REFERENCE_SECONDS = 0.1
#: What a comparison of any length keeps.
ALWAYS = ("dummy", "linear", "boosting-default", "adaptive")
#: Seconds of a run's own limit, and of all that is no fit.
LONGEST, START_UP = 600, 30
REPEATS, TEST_SIZE = 5, 0.33


def slowness():
    """How much slower this machine is now than the one of :data:`COSTS`."""
    start, matrix = time.perf_counter(), np.random.default_rng(0).normal(size=(300, 300))
    for _ in range(REPEATS):
        np.linalg.svd(matrix)
    return max(1.0, (time.perf_counter() - start) / REFERENCE_SECONDS)


def choose(dataset, n, d, task, *, minutes=None, cores=1, memory=None, slower=1.0):
    """(overrides, sentences) of a comparison on n rows of d features."""
    memory = (memory or psutil.virtual_memory().available) / cores
    rows, repeats, left_out = n * (1 - TEST_SIZE), REPEATS, []

    def seconds(method):
        cost = COSTS[method]
        fit = cost.seconds * (rows / 1000) ** cost.power
        return slower * (cost.search * min(1, rows / 1000) + fit) * max(1.0, d / 10) ** 0.7

    methods = {name: seconds(name) for name, cost in COSTS.items() if task in cost.tasks}

    def leave_out(method, why):
        left_out.append(f"left out: {method} ({why})")
        del methods[method]

    for name in [*methods]:
        bytes_needed = 8 * COSTS[name].matrices * rows**2
        if bytes_needed > memory:
            leave_out(name, f"about {bytes_needed / 1e9:.0f} GB a fit")
        elif methods[name] > LONGEST and name not in ALWAYS:
            leave_out(name, f"about {duration(methods[name])} a fit")
    if "dank" in methods:
        del methods["dank-decomposed"]
    overrides, limit = [], LONGEST
    if minutes:
        budget = max(60 * minutes - START_UP, 30 * minutes) * cores
        while repeats * sum(methods.values()) > budget:
            others = {name: t for name, t in methods.items() if name not in ALWAYS}
            if not others:
                break
            slowest = max(others, key=others.__getitem__)
            leave_out(slowest, f"about {duration(methods[slowest])} a fit")
        quick = sum(methods.values()) - methods["adaptive"]
        while repeats > 1 and repeats * (quick + min(methods["adaptive"], 10)) > budget:
            repeats -= 1
        share = max(budget / repeats - quick, 1.0)
        if methods["adaptive"] > share / 2:  # an estimate may be half of the truth
            methods["adaptive"] = min(methods["adaptive"], share)
            overrides.append(f"+settings.{dataset}.adaptive.time_limit={share:.0f}")
        limit = min(LONGEST, round(60 * minutes))
    total = repeats * sum(methods.values()) / cores + START_UP
    slowest = max(methods, key=methods.__getitem__)
    sentence = (
        f"estimated time: {duration(total)} on {cores} core{'s' * (cores > 1)} for "
        f"{repeats} repeats of {len(methods)} methods, {slowest} about "
        f"{duration(methods[slowest])} a fit"
    )
    overrides += [
        f"method=[{','.join(methods)}]",
        f"protocol.repeats={repeats}",
        f"jobs.time_limit={limit}",
    ]
    return overrides, [*left_out, sentence]

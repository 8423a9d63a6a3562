"""Choice of methods that fit the time and memory, estimated before a comparison."""

import time

import numpy as np
import psutil

from adakern._utils.resources import one_thread
from adakern._utils.wording import count
from adakern_bench.config.schema import TASK_RECIPE
from adakern_bench.report.wording import duration

#: Seconds that :func:`slowness` measures on the machine of the methods' costs.
REFERENCE_SECONDS = 0.1
#: The method that gets the time that the others leave.
FLAGSHIP = "adaptive"
#: Time limit of a fit (conf/experiment/compare.yaml) and start-up time of a job on that
#: machine, in seconds.
LONGEST, JOB = 600, 2.0
#: Ratio of wall-clock to processor time above which the user is warned.
BUSY = 1.5
#: Default number of repeats of a comparison, the minimum for a test.
REPEATS = 5
#: Number of jobs that follow the fits.
REST_JOBS = 6
TEST_SIZE = 0.33
#: Maximum number of rows for which all repeats of a method are one job.
BATCH_ROWS = 2000


def slowness():
    """How much slower this processor is than that of the methods' costs, and the ratio
    of wall-clock time to processor time.

    Both are measured on one thread: on a busy machine, threads that wait for each other
    take twenty to seventy times as long, but fits do not.
    """
    matrix = np.random.default_rng(0).normal(size=(300, 300))
    with one_thread():
        start = time.thread_time()
        since = time.perf_counter()
        for _ in range(5):
            np.linalg.svd(matrix)
        seconds = time.thread_time() - start
        by_clock = time.perf_counter() - since
    return max(1.0, seconds / REFERENCE_SECONDS), max(1.0, by_clock / seconds)


def choose(
    methods,
    n,
    d,
    task,
    *,
    minutes=None,
    cores=1,
    memory=None,
    slower=1.0,
    busy=1.0,
    repeats=REPEATS,
):
    """Return the names of the chosen methods, the flagship's limits, and sentences on
    the choice, for n rows of d features.
    """
    treating = {k: m for k, m in methods.items() if getattr(m, TASK_RECIPE[task])}
    work = _Work(treating, n * (1 - TEST_SIZE), d, slower, repeats)
    work.keep_what_fits((memory or psutil.virtual_memory().available) / cores)
    rest = REST_JOBS * work.job
    limits = {}
    if minutes:
        # One repeat of every method, then more while there is time.
        budget = max(60 * minutes - rest, 20 * minutes) * cores
        work.keep_the_cheapest(budget)
        limits = work.limits_of_flagship(budget, cores)
    starts = repeats if minutes or n > BATCH_ROWS else 1
    in_all = work.seconds_of(starts) / cores + rest
    slowest = max(work.seconds, key=work.seconds.__getitem__)
    said = [
        *work.left_out,
        f"estimated time: {duration(round(in_all))} on {count(cores, 'core')} for "
        f"{count(repeats, 'repeat')} of {count(len(work.seconds), 'method')}; "
        f"{slowest} about {duration(work.seconds[slowest])} a fit",
    ]
    if busy > BUSY:
        said.append(
            "other programs keep the processors busy: the run may take "
            f"{busy:.0f} times as long, {duration(round(busy * in_all))}"
        )
    if unknown := [name for name in work.seconds if work.cost(name).seconds is None]:
        said.append(
            f"not included in this estimate (no known cost): {', '.join(unknown)}"
        )
    if minutes:
        said.append("one repeat of every method first, then more while time remains")
    return [*work.seconds], limits, said


class _Work:
    """Estimated seconds per fit of each method, and reasons why others are left out."""

    def __init__(self, methods, rows, d, slower, repeats):
        self.methods = methods
        self.rows = rows
        self.job = slower * JOB
        self.repeats = repeats
        self.left_out = []
        costs = {name: self.cost(name).of(rows, d, unknown=0.0) for name in methods}
        self.seconds = {name: slower * sum(cost) for name, cost in costs.items()}

    def cost(self, name):
        """Cost that the method's file states."""
        return self.methods[name].cost

    def seconds_of(self, starts):
        """Seconds of all repeats, with each job started `starts` times."""
        n_jobs = sum(1 + (self.cost(name).search > 0) for name in self.seconds)
        return self.repeats * sum(self.seconds.values()) + starts * self.job * n_jobs

    def _optional(self):
        kept = {FLAGSHIP, *(k for k, method in self.methods.items() if method.baseline)}
        return [name for name in self.seconds if name not in kept]

    def _leave_out(self, name, why):
        self.left_out.append(f"left out: {name} ({why})")
        del self.seconds[name]

    def keep_what_fits(self, memory):
        """Leave out methods that exceed the memory or the time limit of a fit."""
        for name in self._optional():
            n_bytes = 8 * self.cost(name).matrices * self.rows**2
            if n_bytes > memory:
                self._leave_out(name, f"about {n_bytes / 1e9:.0f} GB a fit")
            elif self.seconds[name] > LONGEST:
                self._leave_out(name, f"about {duration(self.seconds[name])} a fit")
        for name in self._optional():
            if self.methods[name].stands_in_for in self.seconds:
                del self.seconds[name]

    def keep_the_cheapest(self, budget):
        """Leave out the slowest, except baselines, until all repeats fit a budget."""
        while self.seconds_of(self.repeats) > budget and self._optional():
            slowest = max(self._optional(), key=self.seconds.__getitem__)
            in_all = self.repeats * (self.seconds[slowest] + self.job)
            self._leave_out(slowest, f"about {duration(in_all)} in all")

    def limits_of_flagship(self, budget, cores):
        """Parameters that limit the flagship to the time that the others leave."""
        wanted = self.seconds.get(FLAGSHIP)
        if wanted is None:
            return {}
        self.seconds[FLAGSHIP] = 0.0
        # If it is the best method, it is fitted once more, on its own.
        left = (budget - self.seconds_of(self.repeats)) / (self.repeats + cores)
        share = max(left, min(wanted, 10.0))
        self.seconds[FLAGSHIP] = min(wanted, share)
        # A fit may take twice as long as estimated.
        limits = {"time_limit": round(share)} if 2 * wanted > share else {}
        return limits | ({"preset": "fast"} if wanted > share else {})

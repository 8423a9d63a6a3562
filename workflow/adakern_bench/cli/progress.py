"""One live line while Snakemake works, and its errors without the noise.

The share is that of the work, not of the jobs: the plan knows how large each search and
solve is, and the jobs that have finished tell how fast each method goes.
"""

import re
import shutil
import sys
import threading
import time
from collections import defaultdict
from math import prod
from typing import IO, cast

from adakern._utils.files import read_json
from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC
from adakern_bench.paths import repeats_of
from adakern_bench.records.estimators import expand_grid
from adakern_bench.report.wording import duration

__all__ = ["Work", "follow"]

#: What Snakemake says of work that goes well.
_NOISE = re.compile(
    r"^(\[\w{3} \w{3} .*\]|Job \d+: .*|Reason: .*|Finished jobid: .*|Select jobs .*"
    r"|Execute \d+ jobs.*|Complete log.*|Elapsed time.*|Using workflow specific .*"
    r"|  (Date|Workflow ID|Platform|Host|User|\w+ version|Command|Snakefile): .*"
    r"|  (\w+ directory|Config \S+): .*|SNAKEMAKE|=+|host: .*|Building DAG.*"
    r"|Using shell.*|Provided .*|Rules claiming .*|Job stats:|job +count|-+ +-+"
    r"|\w+ +\d+|\d+ of \d+ steps .*|Removing .*|Touching .*|Assuming .*|Skipping .*|)$"
)
#: What the jobs that follow the solves say they do.
_CLOSING = {"compare", "figure", "report", "track"}
#: What it adds to an error that our own line has explained.
_AFTER_ERROR = re.compile(
    r"^(Error in rule .*|    (jobid|input|output|conda-env|message|shell|params|reason|"
    r"threads|resources|wildcards|priority): ?.*|    +\(.*\)|RuleException:|"
    r"CalledProcessError in .*|Command .* returned non-zero exit status .*|"
    r"\w*Error in file .*, line \d+:|Exiting because a job execution failed.*|"
    r"Shutting down, .*|Removing output files .*|Trying to restart job .*|"
    r"WorkflowError:|At least one job did not complete successfully\.|"
    r"Storing output in storage\.|    +.*\.py\", line .*|  File .*, line .*)$"
)
_EXPLAINED = re.compile(r"^(\w+(Error|Exception)) in \w+: ")
_START = re.compile(r"Job (\d+): ((\w+): (.*))$")
_STAGED = re.compile(r"([^ ]+) / ([^ ]+) repeats (\d+-\d+)$")


class Work:
    """How much there is to do, how much is done, and when it may be over.

    A job takes the time that every job takes (a process starts, packages are imported),
    which the quickest one so far tells, and its size by the speed of its method. The
    closing jobs compare, draw and track.

    Parameters
    ----------
    sizes : mapping of (str, str, str, str) to float
        (stage, data set, method, batch) of each job that is still to run -> its size,
        in units of which every method has its own speed.
    n_closing : int, default=0
        Number of the closing jobs.
    """

    #: What has to be known before anything is foretold: of the work in all, the part
    #: that is done; of the work that is left, the part whose methods have been timed.
    LEAST_DONE, LEAST_TIMED = 0.03, 0.5
    #: Duration of a closing job, as a multiple of the quickest search or solve.
    CLOSING = 3.0

    def __init__(self, sizes, n_closing=0):
        self.left, self.n_closing = dict(sizes), n_closing
        self.spent = 0.0
        self.start_up = float("inf")
        # (stage, method): jobs, seconds, size
        self._done = defaultdict(lambda: [0, 0.0, 0.0])

    def finish(self, key, seconds):
        """A job took that long.

        Parameters
        ----------
        key : (str, str, str, str)
            Stage, data set, method and batch of the job.
        seconds : float
            How long it took.
        """
        size = self.left.pop(key, None)
        if size is None:
            return
        self.spent += seconds
        self.start_up = min(self.start_up, seconds)
        done = self._done[key[0], key[2]]
        for i, more in enumerate((1, seconds, size)):
            done[i] += more

    def close(self, seconds):
        """A closing job took that long.

        Parameters
        ----------
        seconds : float
            How long it took.
        """
        self.n_closing = max(self.n_closing - 1, 0)
        self.spent += seconds

    def _closing(self):
        """Seconds of the closing jobs that are left."""
        return self.n_closing * self.CLOSING * self.start_up

    def _foretold(self):
        """Seconds of what is left: of methods that were timed, and of the others."""
        speeds = {
            key: max(seconds - jobs * self.start_up, 0.0) / size
            for key, (jobs, seconds, size) in self._done.items()
        }
        usual = sorted(speeds.values())[len(speeds) // 2]
        sums = {True: 0.0, False: 0.0}
        for (stage, _, method, _), size in self.left.items():
            speed = speeds.get((stage, method), usual)
            sums[(stage, method) in speeds] += self.start_up + size * speed
        return sums[True], sums[False]

    @property
    def share(self):
        """Part of the work that is done, between 0 and 1; None where nobody can say."""
        if not self._done:
            return None
        timed, untimed = self._foretold()
        left = timed + untimed + self._closing()
        share = self.spent / max(self.spent + left, 1e-9) if left else 1.0
        known = timed / max(timed + untimed, 1e-9) if self.left else 1.0
        is_known = share >= self.LEAST_DONE and known >= self.LEAST_TIMED
        return share if is_known else None


def sizes_of(plan):
    """Sizes of the searches and solves whose files are not there yet.

    Parameters
    ----------
    plan : Plan
        The whole experiment.
    """
    sizes = {}
    for stage, dataset, method, batch in _jobs(plan):
        folder = {"search": "search", "solve": "records"}[stage]
        path = plan.results / folder / dataset / method / f"{batch}.json"
        if path.exists():
            continue
        n = plan.entry(dataset).n or 1000
        points = 1
        if stage == "search":
            recipe = plan.recipe(dataset, method)
            folds = recipe["folds"] or plan.config.search.folds
            points = folds * _n_points(recipe, plan.config.search.step)
        # Between linear and cubic; the start of a process and of a fit counts too.
        size = points * (0.2 + (n / 1000) ** 1.5)
        sizes[stage, dataset, method, batch] = len(repeats_of(path)) * size
    return sizes


def n_closing_of(plan):
    """Number of the jobs that compare, draw, report and track, and are still to run.

    Parameters
    ----------
    plan : Plan
        The whole experiment.
    """
    n_closing = 2 + len(plan.config.figures)
    if plan.config.tracking.enabled:
        marks = [plan.results / "track" / f"{k}.json" for k in plan.tracked_together()]
        n_closing += 1 + sum(not mark.exists() for mark in marks)
    return n_closing


def _jobs(plan):
    """(stage, data set, method, batch) of every search and solve."""
    for dataset, method in plan.cells:
        chain = [plan.search_method(dataset, method)]
        while chain[-1] and plan.hand_over_method(dataset, chain[-1]):
            chain.append(plan.hand_over_method(dataset, chain[-1]))
        for batch in plan.batches(dataset):
            for searched in filter(None, chain):
                yield "search", dataset, searched, batch
            yield "solve", dataset, method, batch


def _n_points(recipe, step):
    if recipe["random"]:
        return recipe["random"]
    axes = recipe["grid"].values()
    relative = [axis["relative_to"] for axis in axes if isinstance(axis, dict)]
    grid = expand_grid(recipe["grid"], dict.fromkeys(relative, 1.0), step)
    return prod(map(len, grid.values()))


def follow(process, plan, stream=None, start=None):
    """Show one live line of a running Snakemake, its errors, and nothing else.

    Parameters
    ----------
    process : subprocess.Popen
        As :func:`adakern_bench.cli.run.start` gives it.
    plan : adakern_bench.config.plan.Plan
        Of the experiment that it runs.
    stream : text file, default=sys.stdout
        On a terminal the line is drawn again and again; elsewhere it is printed at
        every twentieth of the work.
    start : float, default=None
        When the work began, on the clock of ``time.monotonic``; now if None.

    Returns
    -------
    int
        Snakemake's exit status.
    """
    line = _Line(plan, stream or sys.stdout, start or time.monotonic())
    started, explained = {}, False
    printed = cast(IO[str], process.stdout)
    try:
        for text in map(str.rstrip, printed):
            if match := _START.match(text):
                number, label, stage, what = match.groups()
                started[number] = (time.monotonic(), stage, what)
                line.show(label)
            elif match := re.match(r"Finished jobid: (\d+)", text):
                line.finish(*started.pop(match[1], (0, "", "")))
            elif _EXPLAINED.match(text):
                explained = True
                line.say(text)
            elif explained and re.match(r"    log: (\S+)", text):
                line.say(f"  Its log: {text.split()[1]}")
            elif not (_NOISE.match(text) or (explained and _AFTER_ERROR.match(text))):
                explained = explained or text.startswith("WorkflowError in file")
                if not text.startswith("WorkflowError in file"):
                    line.say(text)
    except KeyboardInterrupt:  # Snakemake got it too, and ends its jobs in order
        line.say("Ending the jobs that run; the same command goes on from here.")
        for _ in printed:
            pass
    status = process.wait()
    line.end(status)
    return status


class _Line:
    """The live line."""

    def __init__(self, plan, stream, start):
        self.plan, self.stream = plan, stream
        self.live = stream.isatty()
        self.work = Work(sizes_of(plan), n_closing_of(plan))
        self.cells = {}
        self.start = start
        self.end_at = None  # expected, on the same clock
        self.label, self.printed = "", -1
        self.lock, self.over = threading.RLock(), threading.Event()
        if self.live:
            threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self):
        """The clock goes on while a long job says nothing."""
        while not self.over.wait(1.0):
            self.show()

    def finish(self, started, stage, what):
        """A job is done; a solve may change who is ahead."""
        with self.lock:
            if match := _STAGED.match(what):
                self._count((stage, *match.groups()), time.monotonic() - started)
            elif stage in _CLOSING:
                self.work.close(time.monotonic() - started)
                self._foretell()
            self.show()

    def _count(self, key, seconds):
        self.work.finish(key, seconds)
        self._foretell()
        stage, dataset, method, batch = key
        if stage == "solve":
            folder = self.plan.results / "records" / dataset / method
            self._read(folder / f"{batch}.json")

    def _foretell(self):
        share, now = self.work.share, time.monotonic()
        if share is not None:
            self.end_at = now + (now - self.start) * (1 - share) / share

    def _read(self, path):
        for record in read_json(path) if path.exists() else []:
            if record["status"] == "ok":
                scores = record["metrics"]["test"]
                score = scores.get(MAIN_METRIC[record["task"]])
                key = record["task"], record["dataset"], record["method"]
                if score is not None:
                    self.cells.setdefault(key, []).append(score)

    def ahead(self):
        """The method with the most best means so far, where two can be compared."""
        means = defaultdict(dict)
        for (task, dataset, method), scores in self.cells.items():
            means[task, dataset][method] = sum(scores) / len(scores)
        wins = defaultdict(int)
        contested = 0
        for (task, _), of_dataset in means.items():
            if len(of_dataset) > 1:
                contested += 1
                pick = max if GREATER_IS_BETTER[MAIN_METRIC[task]] else min
                wins[pick(of_dataset, key=of_dataset.__getitem__)] += 1
        if not wins:
            return ""
        name = max(wins, key=wins.__getitem__)
        return f"ahead: {name} ({wins[name]} of {contested} sets)"

    def show(self, label=None):
        """Draw the line; on no terminal only at every twentieth of the work."""
        with self.lock:
            self.label = label or self.label
            share = self.work.share
            if not self.live:
                if share is not None and int(20 * share) > self.printed:
                    self.printed = int(20 * share)
                    print(self._text(share), file=self.stream, flush=True)
            elif not self.over.is_set():
                width = shutil.get_terminal_size((80, 24)).columns
                text = self._text(share)
                if len(text) + len(self.label) + 3 <= width:
                    text += f" · {self.label}"
                line = f"\r\033[K{text[: width - 1]}"
                print(line, end="", file=self.stream, flush=True)

    def _text(self, share):
        """Without a share, as long as too little is known to foretell anything."""
        now = time.monotonic()
        parts = [duration(round(now - self.start))]
        if share is not None:
            parts.insert(0, f"{100 * share:3.0f} %")
            if share < 1 and self.end_at is not None:
                left = max(round(self.end_at - now), 0)
                parts.append(f"about {duration(left)} left")
        return " · ".join(filter(None, [*parts, self.ahead()]))

    def say(self, text):
        """A line that stays."""
        with self.lock:
            if self.live:
                print("\r\033[K", end="", file=self.stream)
            print(text, file=self.stream, flush=True)

    def end(self, returncode):
        """Rub it out; say that the run stopped, where it did."""
        with self.lock:
            self.over.set()
            if self.live:
                print("\r\033[K", end="", file=self.stream, flush=True)
        if returncode:
            self.say(
                "Stopped. What is finished is kept: the same command goes on from "
                "there. Snakemake's own account is in .snakemake/log."
            )

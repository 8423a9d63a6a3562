"""One live line while Snakemake works: how much is done, how long the rest may take.

The share is that of the work, not of the jobs: a job takes the time that every job
takes (a process starts, packages are imported), which the quickest one so far tells,
and its size by the speed of its kind.
"""

import json
import shutil
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean

from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC
from adakern_bench.report.wording import duration

__all__ = ["Line", "Work"]


class Work:
    """The jobs of a run, each of a kind (rule and method) and a size.

    `jobs` maps the number of a job to (kind, size); every kind has a speed of its own.
    """

    #: What has to be known before anything is foretold: of the work in all, the part
    #: that is done; of the work that is left, the part whose kinds have been timed.
    LEAST_DONE, LEAST_TIMED = 0.03, 0.5

    def __init__(self, jobs):
        self.left = dict(jobs)
        self.spent, self.start_up = 0.0, float("inf")
        self._done = defaultdict(lambda: [0, 0.0, 0.0])  # kind: jobs, seconds, size

    def finish(self, job, seconds):
        """A job took that long."""
        if job not in self.left:
            return
        kind, size = self.left.pop(job)
        self.spent += seconds
        self.start_up = min(self.start_up, seconds)
        for i, more in enumerate((1, seconds, size)):
            self._done[kind][i] += more

    @property
    def share(self):
        """Part of the work that is done, between 0 and 1; None where nobody can say."""
        if not self._done:
            return None
        speeds = {
            kind: max(seconds - jobs * self.start_up, 0.0) / size
            for kind, (jobs, seconds, size) in self._done.items()
        }
        usual = sorted(speeds.values())[len(speeds) // 2]
        timed = untimed = 0.0
        for kind, size in self.left.values():
            seconds = self.start_up + size * speeds.get(kind, usual)
            timed += seconds * (kind in speeds)
            untimed += seconds * (kind not in speeds)
        share = self.spent / max(self.spent + timed + untimed, 1e-9)
        enough = timed >= self.LEAST_TIMED * (timed + untimed)
        return share if enough and share >= self.LEAST_DONE else None


class Line:
    """The live line; on no terminal it is printed now and then."""

    #: Seconds from one line to the next, in a file.
    PAUSE = 60

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.work, self.started = Work({}), {}
        self.scores = defaultdict(lambda: defaultdict(list))
        self.start, self.end_at = time.monotonic(), None
        self.label, self.printed = "", 0
        self.lock, self.over = threading.RLock(), threading.Event()
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self):
        while not self.over.wait(1 if self.live else self.PAUSE):
            if self.live:
                self.show()
            elif self.started:
                self.say(" · ".join(filter(None, [self._text(self.work.share), self.label])))

    def begin(self, job, label, output):
        """A job starts that says what it does and writes these files."""
        self.label = label or ""
        self.started[job] = time.monotonic(), self.label, output or []
        self.show()

    def finish(self, job):
        """A job is done; the records it wrote tell who is ahead."""
        now = time.monotonic()
        started, _, output = self.started.pop(job, (now, "", []))
        for path in map(Path, output):
            if "records" in path.parts and path.suffix == ".json" and path.exists():
                for record in json.loads(path.read_text()):
                    of_test = (record["metrics"] or {}).get("test", {})
                    if (score := of_test.get(MAIN_METRIC[record["task"]])) is not None:
                        cell = self.scores[record["task"], record["dataset"]]
                        cell[record["method"]].append(score)
        self.work.finish(job, now - started)
        if share := self.work.share:
            self.end_at = now + (now - self.start) * (1 - share) / share
        self.show()

    def fail(self, job, logs):
        """A job failed; most have said why."""
        _, label, _ = self.started.pop(job, (0, f"job {job}", []))
        self.say("\n".join([f"Failed: {label}", *(f"  Its log: {log}" for log in logs)]))

    def ahead(self):
        """The method with the most best means so far, where two can be compared."""
        wins = Counter()
        for (task, _), scores in self.scores.items():
            if len(scores) > 1:
                pick = max if GREATER_IS_BETTER[MAIN_METRIC[task]] else min
                means = {name: mean(found) for name, found in scores.items()}
                wins[pick(means, key=means.__getitem__)] += 1
        if not wins:
            return ""
        ((name, n_wins),), n_sets = wins.most_common(1), wins.total()
        return f"ahead: {name} ({n_wins} of {n_sets} data set{'s' * (n_sets > 1)})"

    def show(self):
        """Draw the line."""
        with self.lock:
            share = self.work.share
            if self.live and not self.over.is_set():
                width = shutil.get_terminal_size((80, 24)).columns
                text = self._text(share)
                if len(text) + len(self.label) + 3 <= width:
                    text += f" · {self.label}"
                self._write(f"\r\033[K{text[: width - 1]}", end="")
            elif share is not None and int(20 * share) > self.printed:
                self.printed = int(20 * share)
                self._write(self._text(share))

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
            self._write("\r\033[K" * self.live + text)

    def end(self):
        """Rub the line out."""
        with self.lock:
            if self.live and not self.over.is_set():
                self._write("\r\033[K", end="")
            self.over.set()

    def _write(self, text, end="\n"):
        print(text, end=end, file=self.stream, flush=True)

"""One live line while Snakemake works: how much is done, how long the rest may take.

The share is that of the work, not of the jobs: each has a size, which the Snakefile states.
"""

import json
import shutil
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean

from tqdm import tqdm

from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC

__all__ = ["Line"]

FORMAT = "{percentage:3.0f} % · {elapsed} · about {remaining} left"


class Line:
    """The live line; in a file it is a line a minute."""

    #: Seconds from one line to the next, in a file.
    PAUSE = 60

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.left, self.total = {}, 0.0
        self.started, self.label = {}, ""
        self.scores = defaultdict(lambda: defaultdict(list))
        self.start, self.over = time.monotonic(), threading.Event()
        threading.Thread(target=self._tick, daemon=True).start()

    def plan(self, sizes):
        """The jobs to come: number -> size."""
        self.left, self.total = dict(sizes), sum(sizes.values())

    def _tick(self):
        while not self.over.wait(1 if self.live else self.PAUSE):
            if self.live:
                self.show()
            elif self.started:
                self.say(self.text())

    def begin(self, job, label, output):
        """A job starts that says what it does and writes these files."""
        self.label = label or ""
        self.started[job] = self.label, output or []
        self.show()

    def finish(self, job):
        """A job is done; the records it wrote tell who is ahead."""
        self.left.pop(job, None)
        _, output = self.started.pop(job, ("", []))
        for path in map(Path, output):
            if "records" in path.parts and path.suffix == ".json" and path.exists():
                for record in json.loads(path.read_text()):
                    of_test = (record["metrics"] or {}).get("test", {})
                    if (score := of_test.get(MAIN_METRIC[record["task"]])) is not None:
                        cell = self.scores[record["task"], record["dataset"]]
                        cell[record["method"]].append(score)
        self.show()

    def fail(self, job, logs):
        """A job failed; most have said why."""
        label, _ = self.started.pop(job, (f"job {job}", []))
        self.say("\n".join([f"Failed: {label}", *(f"  Its log: {log}" for log in logs)]))

    def ahead(self):
        """The method with the most best means so far, where two can be compared."""
        wins = Counter()
        for (task, _), scores in self.scores.items():
            if len(scores) > 1:
                pick = max if GREATER_IS_BETTER[MAIN_METRIC[task]] else min
                means = {name: mean(found) for name, found in scores.items()}
                wins[pick(means, key=means.__getitem__)] += 1
        return "".join(f"ahead: {name}" for name, _ in wins.most_common(1))

    def text(self):
        """Share of the work that is done, time, what is left, who is ahead, what is at work."""
        done, elapsed = self.total - sum(self.left.values()), time.monotonic() - self.start
        meter = tqdm.format_meter(done, self.total or 1, elapsed, bar_format=FORMAT)
        return " · ".join(filter(None, [meter, self.ahead(), self.label]))

    def show(self):
        """Draw the line."""
        if self.live and not self.over.is_set():
            width = shutil.get_terminal_size((80, 24)).columns
            self._write(self.text()[: width - 1])

    def say(self, text):
        """A line that stays."""
        self._write(f"{text}\n")

    def end(self):
        """Rub the line out."""
        self.over.set()
        self._write("")

    def _write(self, text):
        self.stream.write("\r\033[K" * self.live + text)
        self.stream.flush()

"""One live line while Snakemake works: how much is done, how long the rest may take.

The share is that of the work, not of the jobs: each has a size, which the Snakefile states.
"""

import shutil
import sys
import threading
import time

from tqdm import tqdm

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

    def begin(self, job, label):
        """A job starts that says what it does."""
        self.started[job] = self.label = label or ""
        self.show()

    def finish(self, job):
        """A job is done."""
        self.left.pop(job, None)
        self.started.pop(job, None)
        self.show()

    def fail(self, job, logs):
        """A job failed; most have said why."""
        label = self.started.pop(job, f"job {job}")
        self.say("\n".join([f"Failed: {label}", *(f"  Its log: {log}" for log in logs)]))

    def text(self):
        """Share of the work that is done, time, what is left, what is at work."""
        done, elapsed = self.total - sum(self.left.values()), time.monotonic() - self.start
        meter = tqdm.format_meter(done, self.total or 1, elapsed, bar_format=FORMAT)
        return " · ".join(filter(None, [meter, self.label]))

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

"""Progress line while Snakemake runs: share done and remaining time.

The share is that of the work, not of the jobs: the Snakefile states the size of each.
"""

import io
import sys
import threading

from tqdm import tqdm

FORMAT = "{percentage:3.0f} % · {elapsed} · about {remaining} left{postfix}"


class Line:
    """Progress line; one line per minute if the output is a file."""

    #: Seconds between lines in a file.
    PAUSE = 60

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        drawn = self.stream if self.live else io.StringIO()
        how = {
            "bar_format": FORMAT,
            "dynamic_ncols": True,
            "smoothing": 0,
            "leave": False,
        }
        self.bar = tqdm(total=1, file=drawn, **how)
        self.sizes, self.started, self.over = {}, {}, threading.Event()
        threading.Thread(target=self._tick, daemon=True).start()

    def plan(self, sizes):
        """Set the jobs to come: number -> size."""
        self.sizes = dict(sizes)
        self.bar.reset(sum(sizes.values()) or 1)

    def _tick(self):
        while not self.over.wait(1 if self.live else self.PAUSE):
            if self.live:
                self.bar.refresh()
            elif self.started:
                self.say(str(self.bar))

    def begin(self, job, label):
        """A job starts."""
        self.started[job] = label or ""
        self.bar.set_postfix_str(label or "")

    def finish(self, job):
        """A job is finished."""
        self.started.pop(job, None)
        self.bar.update(self.sizes.pop(job, 0))

    def fail(self, job, logs):
        """A job failed; most jobs printed the reason."""
        label = self.started.pop(job, f"job {job}")
        self.say(
            "\n".join([f"Failed: {label}", *(f"  Its log: {log}" for log in logs)])
        )

    def say(self, text):
        """Print a line that stays."""
        self.bar.write(text, file=self.stream)

    def end(self):
        """Erase the progress line."""
        self.over.set()
        self.bar.close()

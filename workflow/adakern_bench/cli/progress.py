"""Progress line while Snakemake runs: work done, remaining time, slowest methods.

The percentage refers to the estimated work of the jobs, which the Snakefile states, not
to their number.
"""

import io
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tqdm import tqdm

from adakern_bench.report.wording import duration

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
            # Nearly the mean pace, as of the last job that finished: the time that a
            # long job takes does not slow it down.
            "smoothing": 0.01,
            "leave": False,
        }
        self.bar = tqdm(total=1, file=drawn, **how)
        self.sizes = {}
        self.started = {}
        self.over = threading.Event()
        self.file = None
        threading.Thread(target=self._tick, daemon=True).start()

    def plan(self, sizes, file=None):
        """Set the jobs to come, {number: {method: size}}, and the progress file."""
        self.sizes = dict(sizes)
        self.file = file and Path(file)
        self.bar.reset(sum(map(_total, self.sizes.values())) or 1)

    def left(self):
        """Estimated remaining time of the three methods with the most work left."""
        work = sum((Counter(size) for size in self.sizes.values()), Counter())
        del work[""]
        pace = self.bar.format_dict["elapsed"] / self.bar.n if self.bar.n else 0
        told = [f"{m} {duration(pace * size)}" for m, size in work.most_common(3)]
        return ", ".join(told if pace else [])

    def _tell(self, label=None):
        """Show what is running and what is left, also to ``adakern show``."""
        left = self.left()
        said = [label, left and f"left: {left}"]
        self.bar.set_postfix_str("; ".join(filter(None, said)), refresh=self.live)
        if self.file:
            with suppress(OSError):  # a full disk is reported where results are written
                self.file.write_text(str(self.bar).strip())

    def _tick(self):
        while not self.over.wait(1 if self.live else self.PAUSE):
            if self.live:
                self.bar.refresh()
            elif self.started:
                self.say(str(self.bar))

    def begin(self, job, label):
        """Note that a job starts."""
        self.started[job] = label or ""
        self._tell(label)

    def finish(self, job):
        """Note that a job has finished."""
        label = self.started.pop(job, None)
        self.bar.update(_total(self.sizes.pop(job, {})))
        self._tell(label)

    def fail(self, job, logs):
        """Note that a job failed; most jobs have printed the reason."""
        label = self.started.pop(job, f"job {job}")
        self.say(
            "\n".join([f"Failed: {label}", *(f"  Its log: {log}" for log in logs)])
        )

    def say(self, text):
        """Print a line above the progress line."""
        self.bar.write(text, file=self.stream)

    def end(self):
        """Erase the progress line."""
        self.over.set()
        self.bar.close()
        if self.file:
            self.file.unlink(missing_ok=True)


def _total(size):
    return sum(size.values())

"""What is going to be computed, and how long it takes: said before it runs."""

from collections import Counter, defaultdict
from math import isnan

from adakern._utils.wording import count
from adakern_bench.records.repeats import repeats_there
from adakern_bench.report.wording import duration


class ToCome:
    """Fits of each method, their time, and those that are kept."""

    def __init__(self, root):
        self.root = root
        self.fits = Counter()
        self.kept = Counter()
        self.seconds = defaultdict(float)

    def add(self, dataset, method, repeats, seconds, code):
        """Repeats of a cell, of so many `seconds` each where none has been measured.

        Kept are those that are there, of this version of the code (of none: none).
        """
        there = {}
        kept = set()
        for one in repeats_there(self.root, "records", dataset, method):
            repeat = one["repeat"]
            there[repeat] = one["run_seconds"] + (one["search_seconds"] or 0.0)
            if code and one["code_version"] == code:
                kept.add(repeat)
        missing = [repeat for repeat in repeats if repeat not in kept]
        self.fits[method] += len(missing)
        self.kept[method] += len(repeats) - len(missing)
        each = sum(there.values()) / len(there) if there else seconds
        self.seconds[method] += len(missing) * each if missing else 0.0

    def __str__(self):
        told = []
        for method, n in self.fits.most_common():
            seconds, kept = self.seconds[method], self.kept[method]
            time = "time unknown" if isnan(seconds) else f"about {duration(seconds)}"
            about = [time] * bool(n) + [f"{kept:,} kept"] * bool(kept)
            told.append(f"{method} {count(n, 'fit')} ({', '.join(about)})")
        if not told:
            return "No method is to be fitted; what shows the results is made again."
        return f"To run: {'; '.join(told)}"

"""Summary of the fits that a run will compute, and estimate of their time."""

from collections import Counter, defaultdict
from math import isnan

from adakern._utils.wording import count
from adakern_bench.records.repeats import repeats_there
from adakern_bench.report.wording import duration

#: Maximum number of methods listed one by one.
MOST = 10


class Upcoming:
    """Number of fits of each method to run, their time, and number of reused fits."""

    def __init__(self, root):
        self.root = root
        self.fits = Counter()
        self.kept = Counter()
        self.seconds = defaultdict(float)
        self.there = {}

    def missing(self, dataset, method, repeats, code):
        """Repeats of a cell without a result of this version of the code; all if it is
        None.
        """
        cell = dataset, method
        if cell not in self.there:
            self.there[cell] = [
                (
                    one["repeat"],
                    one["code_version"],
                    one["run_seconds"] + (one["search_seconds"] or 0.0),
                )
                for one in repeats_there(self.root, "records", *cell)
            ]
        kept = {repeat for repeat, of, _ in self.there[cell] if code and of == code}
        return [repeat for repeat in repeats if repeat not in kept]

    def add(self, dataset, method, repeats, seconds, code):
        """Count the fits of a cell, which take `seconds` each if none was measured."""
        missing = self.missing(dataset, method, repeats, code)
        measured = {repeat: took for repeat, _, took in self.there[dataset, method]}
        each = sum(measured.values()) / len(measured) if measured else seconds
        self.fits[method] += len(missing)
        self.kept[method] += len(repeats) - len(missing)
        self.seconds[method] += len(missing) * each if missing else 0.0

    def __str__(self):
        if not self.fits:
            return "Nothing to fit; tables, figures and report are made again."
        lines = [f"To run: {self._described(self.fits)}"]
        listed = sorted(self.fits, key=self._unknown_then_slowest)
        lines += [
            f"  {method}: {self._described([method])}" for method in listed[:MOST]
        ]
        if rest := listed[MOST:]:
            more = count(len(rest), "more method")
            lines.append(f"  {more}: {self._described(rest)}")
        return "\n".join(lines)

    def _unknown_then_slowest(self, method):
        seconds = self.seconds[method]
        return not isnan(seconds), -seconds, method

    def _described(self, methods):
        n, kept, seconds = (
            sum(each[method] for method in methods)
            for each in (self.fits, self.kept, self.seconds)
        )
        time = "time unknown" if isnan(seconds) else f"about {duration(seconds)}"
        about = [time] * bool(n) + [f"{kept:,} kept"] * bool(kept)
        return f"{count(n, 'fit')} ({', '.join(about)})"

"""What a run found about each task, for its page, the terminal and a paper."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from adakern_bench.report.contrast import against_all
from adakern_bench.report.tables import comparison


@dataclass
class Task:
    """A task: its methods by rank, its tests on single data sets, and its runs."""

    name: str
    tables: dict
    ranks: pd.DataFrame
    tests: pd.DataFrame
    runs: pd.DataFrame

    @property
    def metric(self):
        """The metric by which `compare` ranked the methods."""
        return self.ranks["metric"].iloc[0]

    @property
    def leader(self):
        """The method with the best mean rank."""
        return self.ranks["method"].iloc[0]

    @property
    def tests_of_leader(self):
        """Tests that compare the leader with another method."""
        both = self.tests[["method_a", "method_b"]]
        return self.tests[(both == self.leader).any(axis=1)]

    @cached_property
    def cells(self):
        """Results of each data set and method; see `comparison`."""
        return comparison(self.tables, self.name)

    @cached_property
    def over_sets(self):
        """Comparisons of the leader with the others over all data sets."""
        return against_all(self.runs, self.leader, self.metric)


def by_task(tables, records):
    """The tasks of a run, from the tables of `compare` and its records."""
    tests = tables["ttest"]
    return [
        Task(
            name,
            tables,
            ranks,
            tests[tests["task"] == name],
            records[records["task"] == name],
        )
        for name, ranks in tables["ranks"].groupby("task")
    ]

"""Small data sets are processed in groups, each in one process."""

import json

SLEEPER = """\
import time
from pathlib import Path
from sklearn.svm import SVC
class Sleeper(SVC):
    '''An SVM that falls asleep once, on the table of 44 rows.'''
    def fit(self, X, y):
        if len(X) == 22 and not Path("asleep").exists():
            Path("asleep").touch()
            time.sleep(600)
        return super().fit(X, y)
"""
#: A method whose parameters are searched; another reuses them.
TUNED = "{estimator: {_target_: sklearn.svm.SVC}, grid: {C: [0.5, 2.0]}}"
SLEEPY = "{estimator: {_target_: methods.sleeper.Sleeper}, tune_with: tuned}"
#: Fields in which two runs of the same experiment may differ.
MEASURED = ("experiment", "search_seconds", "fit_seconds", "predict_seconds")
MEASURED += ("predictions_per_second", "run_seconds", "started_at")
MEASURED += ("peak_memory_bytes",)


def without_measured(records):
    return [{k: v for k, v in r.items() if k not in MEASURED} for r in records]


def start_times(records):
    return [(record["repeat"], record["started_at"]) for record in records]


def test_grouped_runs_equal_single_jobs_and_are_kept(project):
    project.write("methods/sleeper.py", SLEEPER)
    project.add_classifier("tuned", TUNED)
    project.add_classifier("sleepy", SLEEPY)
    for k in range(3):
        n = 40 + 2 * k
        loader = (
            f"{{_target_: adakern.datasets.make_clowns, n: {n}, random_state: {k}}}"
        )
        entry = f"task: classification\nn: {n}\nloader: {loader}\n"
        project.write(f"conf/dataset/s{k}.yaml", entry)
    chosen = "dataset=[s0,s1,s2] method=[sleepy,tuned]"
    summary = "results/small/summary.csv"

    # A run killed within a group loses only the cell in progress.
    overrides = f"{chosen} jobs.cells=6"
    with project.start(summary, overrides=overrides) as run:
        run.wait_for((project.root / "asleep").exists)
        run.process.kill()
    before = project.records("s1", "tuned")
    assert len(before) == 2 and not project.records("s2", "sleepy")
    run = project.run(summary, overrides=overrides)
    assert run.jobs == {"cells": 1, "compare": 1} and not project.left_over()
    assert project.records("s1", "tuned") == before

    # Two more repeats are two more runs of each cell, as announced.
    more = f"{overrides} protocol.repeats=4"
    run = project.run(summary, overrides=more)
    assert "tuned: 6 fits (about " in run.output and ", 6 kept)" in run.output
    after = project.records("s1", "tuned")
    assert len(after) == 2 + 4 and start_times(after[2:4]) == start_times(before)

    # Snakemake's lint passes, and its report lists the results.
    project.run("--lint")
    project.run(summary, "--report", "made.html", overrides=more)
    assert "summary.csv" in (project.root / "made.html").read_text()

    # Separate jobs (--until) give the same results in an experiment that
    # reuses nothing.
    project.name = "alone"
    run = project.solve("--forcerun", "search", "solve", overrides=more)
    assert run.jobs == {"split": 3, "search": 3, "solve": 6}
    for name in ("s0", "s1", "s2"):
        separate = project.records(name, "sleepy", "alone")
        grouped = project.records(name, "sleepy")[2:]
        assert without_measured(separate) == without_measured(grouped)
        assert not {*start_times(separate)} & {*start_times(grouped)}
    files = json.loads((project.root / "results/small/groups/0.cells").read_text())
    assert len(files) == 6

    # Repeating the run in another experiment needs no fit.
    run = project.run("--dry-run", overrides="name=third " + more)
    assert "sleepy: 0 fits" in run.output

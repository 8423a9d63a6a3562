"""Small data sets are worked off in groups, each in one process; what is done stays."""

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
#: A recipe that is searched, and that hands over what was found.
TUNED = "{estimator: {_target_: sklearn.svm.SVC}, grid: {C: [0.5, 2.0]}}"
SLEEPY = "{estimator: {_target_: methods.sleeper.Sleeper}, tune_with: tuned}"
#: Of what two runs of the same may differ in.
MEASURED = ("experiment", "search_seconds", "fit_seconds", "predict_seconds")
MEASURED += ("predictions_per_second", "run_seconds", "started_at")
MEASURED += ("peak_memory_bytes",)


def without_measured(records):
    return [{k: v for k, v in r.items() if k not in MEASURED} for r in records]


def times(records):
    return [(record["repeat"], record["started_at"]) for record in records]


def test_runs_in_groups_are_those_of_single_jobs_and_are_kept(project):
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

    # Killed in the middle of its group, a run loses the cell that was at work.
    overrides = f"{chosen} jobs.cells=6"
    with project.start(summary, overrides=overrides) as run:
        run.wait_for((project.root / "asleep").exists)
        run.process.kill()
    before = project.records("s1", "tuned")
    assert len(before) == 2 and not project.records("s2", "sleepy")
    run = project.run(summary, overrides=overrides)
    assert run.jobs == {"cells": 1, "compare": 1} and not project.left_over()
    assert project.records("s1", "tuned") == before

    # Two repeats more are two runs more of each cell, as is said before.
    more = f"{overrides} protocol.repeats=4"
    run = project.run(summary, overrides=more)
    assert "tuned 6 fits (about " in run.output and ", 6 kept)" in run.output
    after = project.records("s1", "tuned")
    assert len(after) == 2 + 4 and times(after[2:4]) == times(before)

    # Snakemake reads the workflow without a complaint, and reports what was made.
    project.run("--lint")
    project.run(summary, "--report", "made.html", overrides=more)
    assert "summary.csv" in (project.root / "made.html").read_text()

    # Job by job, which --until asks for, it comes to the same, in an experiment that
    # takes nothing over.
    project.name = "alone"
    run = project.solve("--forcerun", "search", "solve", overrides=more)
    assert run.jobs == {"split": 3, "search": 3, "solve": 6}
    for name in ("s0", "s1", "s2"):
        one = project.records(name, "sleepy", "alone")
        other = project.records(name, "sleepy")[2:]
        assert without_measured(one) == without_measured(other)
        assert not {*times(one)} & {*times(other)}
    files = json.loads((project.root / "results/small/groups/0.cells").read_text())
    assert len(files) == 6

    # The same run in another experiment is none.
    run = project.run("--dry-run", overrides="name=third " + more)
    assert "sleepy 0 fits" in run.output

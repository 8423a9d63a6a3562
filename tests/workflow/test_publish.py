"""Only what is complete, has results and is of a commit is published."""

import json
import os
import subprocess
from types import SimpleNamespace

import pandas as pd
import pytest

from adakern_bench.records.machine import UNCOMMITTED, commit
from adakern_bench.report.compare import compare_pairs
from adakern_bench.report.publish import _several_commits, provenance
from adakern_bench.report.tables import read_tables

LOST_CODE = """\
from sklearn.svm import SVC
class Lost(SVC):
    def fit(self, X, y):
        raise ValueError("lost on purpose")
"""


@pytest.fixture
def repository(project):
    """The workflow in a git repository of its own."""
    project.add_classifier("lost", "{estimator: {_target_: methods.lost.Lost}}")
    project.write("methods/lost.py", LOST_CODE)
    project.write(
        ".gitignore", "results\ndata/tables\n.snakemake\n__pycache__\nrun-*\n"
    )
    git(project, "init", "--quiet")
    commit_all(project)
    return project


def git(project, *arguments):
    who = ["-c", "user.name=A Tester", "-c", "user.email=a@example.org"]
    command = ["git", *who, *arguments]
    done = subprocess.run(
        command, cwd=project.root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit_all(project):
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "As it is")


SELECTION = "method=[plain,lost]"
PUBLISH = ("publish", "small", "name=small", SELECTION)


@pytest.mark.parametrize(
    "commits", [("a", "b"), ("a", f"a{UNCOMMITTED}"), (None,), ("a",)]
)
def test_runs_of_one_commit_without_changes_are_published(commits):
    plan, records = SimpleNamespace(results="here"), pd.DataFrame({"commit": commits})
    assert (commits != ("a",)) == any(_several_commits(plan, records))


def test_files_that_are_committed_after_the_run_need_no_other_run(
    repository, monkeypatch
):
    """Those of a method of one's own, which nobody has committed yet."""
    monkeypatch.chdir(repository.root)
    repository.write("methods/mine.py", "# mine")
    commit.cache_clear()
    ran = commit()
    assert ran.endswith(UNCOMMITTED)
    config = SimpleNamespace(experiment="small", overrides=[])
    plan = SimpleNamespace(results=repository.root, config=config)
    records = pd.DataFrame({"commit": [ran], "repeat": [0], "status": ["ok"]})
    (said,) = _several_commits(plan, records)
    assert "methods/mine.py. Commit them" in said and "lost.py" not in said
    commit_all(repository)
    commit.cache_clear()
    try:
        assert not any(_several_commits(plan, records))
        facts = provenance(plan, records)
    finally:
        commit.cache_clear()
    assert facts["commit"] == git(repository, "rev-parse", "HEAD") != ran[:40]
    assert "before their files were committed" in facts["note"]
    earlier = provenance(plan, records.assign(commit="abc"))
    assert earlier["commit"] == "abc" and "note" not in earlier


@pytest.mark.long
def test_what_is_refused_and_what_is_kept(repository):
    said = repository.adakern(*PUBLISH, status=1).stderr
    assert "not all jobs have been run" in said and "1 x solve" not in said
    assert "2 x solve" in said and "make run EXPERIMENT=small" in said

    repository.run(overrides=SELECTION)
    said = repository.adakern(*PUBLISH, status=1).stderr
    assert "clowns / lost: 2 failed runs" in said and "lost on purpose" in said

    ran = git(repository, "rev-parse", "HEAD")
    (repository.root / "workflow/note.txt").write_text("after the run")
    commit_all(repository)
    repository.adakern(*PUBLISH, "--with-failures")
    kept = repository.root / "docs/results/small"
    names = {path.name for path in kept.iterdir()}
    assert {"records.parquet", "summary.csv", "config.yaml"} <= names
    assert "report.html" not in names
    text = (kept / "paper" / "classification.tex").read_text()
    assert "clowns" in text and "failed" in text
    shown = repository.adakern("show", *PUBLISH[1:], "--latex").stdout
    assert shown.startswith(text) and "results/small" in shown.splitlines()[-1]
    records = pd.read_parquet(kept / "records.parquet")
    assert len(records) == 4
    tests = compare_pairs(records)  # each can be computed again
    pd.testing.assert_frame_equal(tests, read_tables(kept)["ttest"], check_dtype=False)
    origin = json.loads((kept / "provenance.json").read_text())
    assert origin["commit"] == ran, "the one that ran, not the one that publishes"
    assert origin["overrides"] == ["name=small", SELECTION]
    assert "experiment=small" in origin["command"] and SELECTION in origin["command"]
    assert origin["failed_runs"] == 2 and origin["machine"]["cores"] >= 1

    (pairs,) = (repository.root / "results").glob("*/ttest.csv")
    made = pairs.stat().st_mtime_ns
    pairs.write_text(pairs.read_text() + "\n" * 5 * 2**20)
    os.utime(pairs, ns=(made, made))
    repository.adakern(*PUBLISH, "--with-failures")
    assert not (kept / "ttest.csv").exists()
    assert (kept / "ttest.csv.gz").stat().st_size < 2**20
    assert read_tables(kept)["ttest"].equals(read_tables(pairs.parent)["ttest"])

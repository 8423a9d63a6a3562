"""Only complete results of one commit are published."""

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
    """The workflow in its own git repository."""
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
    run = subprocess.run(
        command, cwd=project.root, check=True, capture_output=True, text=True
    )
    return run.stdout.strip()


def commit_all(project):
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "As it is")


SELECTION = "method=[plain,lost]"
PUBLISH = ("publish", "small", "name=small", SELECTION)


@pytest.mark.parametrize(
    "commits", [("a", "b"), ("a", f"a{UNCOMMITTED}"), (None,), ("a",)]
)
def test_runs_of_several_or_unknown_commits_are_rejected(commits):
    plan, records = SimpleNamespace(results="here"), pd.DataFrame({"commit": commits})
    assert (commits != ("a",)) == any(_several_commits(plan, records))


def test_files_committed_after_the_run_are_accepted(repository, monkeypatch):
    """Files of a custom method, not yet committed during the run."""
    monkeypatch.chdir(repository.root)
    repository.write("methods/mine.py", "# mine")
    commit.cache_clear()
    run_commit = commit()
    assert run_commit.endswith(UNCOMMITTED)
    config = SimpleNamespace(experiment="small", overrides=[])
    plan = SimpleNamespace(results=repository.root, config=config)
    records = pd.DataFrame({"commit": [run_commit], "repeat": [0], "status": ["ok"]})
    (message,) = _several_commits(plan, records)
    assert "methods/mine.py. Commit them" in message and "lost.py" not in message
    commit_all(repository)
    commit.cache_clear()
    try:
        assert not any(_several_commits(plan, records))
        facts = provenance(plan, records)
    finally:
        commit.cache_clear()
    assert facts["commit"] == git(repository, "rev-parse", "HEAD") != run_commit[:40]
    assert "before their files were committed" in facts["note"]
    earlier = provenance(plan, records.assign(commit="abc"))
    assert earlier["commit"] == "abc" and "note" not in earlier


@pytest.mark.long
def test_publish_refusals_and_published_files(repository):
    message = repository.adakern(*PUBLISH, status=1).stderr
    assert "not all jobs have been run" in message and "1 x solve" not in message
    assert "2 x solve" in message and "make run EXPERIMENT=small" in message

    repository.run(overrides=SELECTION)
    message = repository.adakern(*PUBLISH, status=1).stderr
    assert "clowns / lost: 2 failed runs" in message and "lost on purpose" in message

    run_commit = git(repository, "rev-parse", "HEAD")
    (repository.root / "workflow/note.txt").write_text("after the run")
    commit_all(repository)
    repository.adakern(*PUBLISH, "--with-failures")
    published = repository.root / "docs/results/small"
    names = {path.name for path in published.iterdir()}
    assert {"records.parquet", "summary.csv", "config.yaml"} <= names
    assert "report.html" not in names
    text = (published / "paper" / "classification.tex").read_text()
    assert "clowns" in text and "failed" in text
    output = repository.adakern("show", *PUBLISH[1:], "--latex").stdout
    assert output.startswith(text) and "results/small" in output.splitlines()[-1]
    records = pd.read_parquet(published / "records.parquet")
    assert len(records) == 4
    tests = compare_pairs(records)  # can be recomputed
    pd.testing.assert_frame_equal(
        tests, read_tables(published)["ttest"], check_dtype=False
    )
    provenance_record = json.loads((published / "provenance.json").read_text())
    assert provenance_record["commit"] == run_commit, (
        "the one that ran, not the one that publishes"
    )
    assert provenance_record["overrides"] == ["name=small", SELECTION]
    assert (
        "experiment=small" in provenance_record["command"]
        and SELECTION in provenance_record["command"]
    )
    assert (
        provenance_record["failed_runs"] == 2
        and provenance_record["machine"]["cores"] >= 1
    )

    (pairs,) = (repository.root / "results").glob("*/ttest.csv")
    mtime = pairs.stat().st_mtime_ns
    pairs.write_text(pairs.read_text() + "\n" * 5 * 2**20)
    os.utime(pairs, ns=(mtime, mtime))
    repository.adakern(*PUBLISH, "--with-failures")
    assert not (published / "ttest.csv").exists()
    assert (published / "ttest.csv.gz").stat().st_size < 2**20
    assert read_tables(published)["ttest"].equals(read_tables(pairs.parent)["ttest"])

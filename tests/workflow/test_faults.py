"""What goes wrong while the real workflow runs, and what the user then gets."""

import os
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress

import psutil
import pytest

from project import Run

MISBEHAVING = """\
import os, signal, time
import numpy as np
from sklearn.svm import SVC
from adakern.dank import DANKClassifier, decomposed

class Misbehaving(SVC):
    '''An SVM whose fit ends as `how` says.'''
    def __init__(self, how="fine", C=1.0, gamma="scale"):
        super().__init__(C=C, gamma=gamma)
        self.how = how

    def fit(self, X, y):
        if self.how == "raise":
            raise RuntimeError("the matrix is singular")
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "exit":
            os._exit(3)
        if self.how == "allocate":
            np.ones(1 << 50)
        if self.how == "sleep":
            open("asleep", "w").close()
            time.sleep(600)
        return super().fit(X, y)

class HalfWay(DANKClassifier):
    '''DANK by clusters that goes to sleep with the first cluster solved.'''
    def __init__(self, how="fine"):
        super().__init__(strategy="decomposed", n_clusters=3, random_state=0)
        self.how = how

    def fit(self, X, y):
        solve, solved = decomposed._solve_cluster, []
        def solve_one(*task):
            if solved:
                open("asleep", "w").close()
                time.sleep(600)
            solved.append(solve(*task))
            return solved[-1]
        if self.how == "sleep":
            decomposed._solve_cluster = solve_one
        return super().fit(X, y)
"""
METHOD = """\
# @package method.bad
classifier:
  estimator: {_target_: methods.misbehaving.Misbehaving}
"""


@pytest.fixture
def bad(project):
    """A project with the method ``bad``, which does as its parameter ``how`` says."""
    project.write("methods/misbehaving.py", MISBEHAVING)
    project.write("conf/method/bad.yaml", METHOD)
    return project


def how(ending):
    return f"method=[plain,bad] ++method.bad.classifier.estimator.how={ending}"


def write_table(project, rows, **facts):
    """A data set ``mine`` from a file in the cache."""
    project.write("data/raw/mine/mine.csv", "".join(f"{a},{b}\n" for a, b in rows))
    stated = "".join(f"{key}: {value}\n" for key, value in facts.items())
    project.write(
        "conf/dataset/mine.yaml",
        "# @package dataset.mine\ntask: classification\n"
        f"files: [{{path: mine/mine.csv}}]\n{stated}",
    )


TWO_CLASSES = [(i / 20, i % 2) for i in range(20)]


# Data ------------------------------------------------------------------------------


def test_no_mirror_and_no_network(project):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
    write_table(project, TWO_CLASSES, n=4)
    (project.root / "data/raw/mine/mine.csv").unlink()
    entry = project.root / "conf/dataset/mine.yaml"
    url = f"http://127.0.0.1:{closed}/mine.csv"
    entry.write_text(entry.read_text().replace(".csv}", f".csv, urls: ['{url}']}}"))
    missing = project.root / "empty-mirror"
    overrides = "dataset=[clowns,mine] data.retries=0"

    run = project.solve(overrides=f"{overrides} data.mirror={missing}")

    assert run.returncode == 1
    for part in ("data set mine", "mine/mine.csv", url, str(missing), "data.mirror"):
        assert part in run.output
    assert [r["status"] for r in project.records("clowns")] == ["ok", "ok"]
    assert not project.records("mine") and not project.left_over()

    # The way out that the message names works, and nothing finished is done again.
    mirror = project.write("mirror/mine/mine.csv", "0.1,0\n0.2,1\n0.3,0\n0.4,1\n")
    run = project.solve(overrides=f"{overrides} data.mirror={mirror.parents[1]}")
    assert run.returncode == 0, run.output
    assert run.jobs == {"table": 1, "split": 1, "solve": 1}


def test_corrupt_files_in_the_cache(project):
    write_table(project, TWO_CLASSES)
    raw = project.root / "data/raw/mine/mine.csv"
    raw.with_name("mine.csv.record.json").write_text('{"sha256": "0", "url": "x"}')
    run = project.solve(overrides="dataset=[mine]")
    assert run.returncode == 1
    assert "mine.csv is corrupt" in run.output
    assert "cannot be had" in run.output

    write_table(project, TWO_CLASSES)
    assert project.solve(overrides="dataset=[mine]").returncode == 0
    table = project.root / "data/tables/mine.npz"
    table.write_bytes(table.read_bytes()[:-40])
    run = project.solve(overrides="dataset=[mine]")
    assert run.returncode == 1
    assert "data/tables/mine.npz is not a whole table" in run.output
    assert "remove it" in run.output
    table.unlink()
    assert project.solve(overrides="dataset=[mine]").returncode == 0


def test_table_that_is_not_its_entrys_and_split_with_one_class(project):
    write_table(project, TWO_CLASSES, n=21)
    run = project.solve(overrides="dataset=[mine]")
    assert run.returncode == 1
    assert "n (rows) is 20, the entry says 21" in run.output
    assert not project.records("mine")

    write_table(project, [(i / 20, int(i == 0)) for i in range(20)])
    run = project.solve(overrides="dataset=[mine] protocol.stratify=false")
    assert run.returncode == 1
    assert "data set mine" in run.output and "one class only" in run.output
    assert "protocol.stratify" in run.output
    assert not project.records("mine")


# Solves ----------------------------------------------------------------------------


def test_lost_solves_are_rows_with_their_reason(bad):
    endings = ["fine", "raise", "kill", "exit", "allocate", "sleep"]
    run = bad.run(
        "results/small/summary.csv",
        overrides=(
            f"method=[plain,bad] ++sweep.bad.how=[{','.join(endings)}] "
            "protocol.repeats=1 jobs.time_limit=6"
        ),
    )
    assert run.returncode == 0, run.output
    found = {
        ending: (record["status"], record["reason"] or "")
        for ending in endings
        for record in bad.records(method=f"bad@how={ending}")
    }
    assert {k: status for k, (status, _) in found.items()} == {
        "fine": "ok",
        "raise": "failed",
        "kill": "failed",
        "exit": "failed",
        "allocate": "failed",
        "sleep": "timeout",
    }
    assert found["raise"][1] == "RuntimeError: the matrix is singular"
    assert "SIGKILL" in found["kill"][1]
    assert "exit code 3" in found["exit"][1]
    assert "MemoryError" in found["allocate"][1]
    assert "6 s" in found["sleep"][1]

    import pandas as pd

    frame = pd.read_parquet(bad.root / "results/small/records.parquet")
    assert dict(zip(frame["method"], frame["status"], strict=True)) == {
        "plain": "ok"
    } | {f"bad@how={ending}": found[ending][0] for ending in endings}


def test_a_search_that_is_killed_is_a_row_with_its_reason(bad):
    # A combination that the check of single values cannot foresee.
    bad.write(
        "conf/method/bad.yaml", METHOD + "  grid: {how: [fine, kill], C: [1.0, 2.0]}\n"
    )
    run = bad.solve(overrides="method=[plain,bad] protocol.repeats=1")
    assert run.returncode == 0, run.output
    (record,) = bad.records(method="bad")
    assert record["status"] == "failed"
    assert record["reason"].startswith("search: ") and "SIGKILL" in record["reason"]
    assert [r["status"] for r in bad.records(method="plain")] == ["ok"]


# Processes -------------------------------------------------------------------------


def wait_for(condition, run, seconds=500):
    deadline = time.monotonic() + seconds
    while not condition():
        assert run.returncode is None, run.output
        assert time.monotonic() < deadline, run.output
        time.sleep(0.05)


def job_of(run):
    """The process of the job that is running a stage."""
    below = psutil.Process(run.process.pid).children(recursive=True)
    stages = [p for p in below if p.cmdline()[-1:] and "solve.py" in p.cmdline()[-1]]
    return min(stages, key=lambda p: p.create_time())


@contextmanager
def started(project, *arguments, **settings):
    """A run that is killed at the end of the block."""
    run = project.start(*arguments, **settings)
    try:
        yield run
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()


@contextmanager
def sleeping(project):
    """A run with ``plain`` solved and another job gone to sleep inside a solve."""
    with started(project, "--until", "solve", overrides=how("sleep")) as run:
        wait_for((project.root / "asleep").exists, run)
        wait_for(lambda: "(Rule: solve)" in run.output, run)
        yield run


def test_two_runs_at_once_and_a_job_that_is_killed(bad):
    with sleeping(bad) as run:
        second = bad.solve(overrides=how("sleep"))
        assert second.returncode == 1
        assert f"belongs to process {run.process.pid} on " in second.output
        assert "--unlock" not in second.output and "Traceback" not in second.output
        assert run.returncode is None, "the first run was disturbed"

        job = job_of(run)
        children = job.children(recursive=True)
        job.kill()
        run.process.wait(timeout=120)
    assert run.returncode == 1
    assert "results/small/records/clowns/bad/0-1.json" in run.output
    psutil.wait_procs(children, timeout=30)
    assert children and not any(child.is_running() for child in children)
    assert not bad.records(method="bad")
    assert len(bad.records(method="plain")) == 2

    run = bad.solve(overrides=how("fine"))
    assert run.returncode == 0, run.output
    assert run.jobs == {"solve": 1}
    assert not bad.left_over()


@pytest.mark.parametrize("estimator", ["Misbehaving", "HalfWay"])
def test_snakemake_killed_and_started_again(bad, estimator):
    bad.write("conf/method/bad.yaml", METHOD.replace("Misbehaving", estimator))
    with sleeping(bad) as run:
        finished = bad.root / "results/small/records/clowns/plain/0-1.json"
        before = finished.stat().st_mtime_ns, finished.read_bytes()
        job = job_of(run)
        run.process.kill()
        job.kill()  # else it would go on as an orphan until its time limit

    assert not bad.records(method="bad")
    run = bad.solve(overrides=how("fine"))
    assert run.returncode == 0, run.output
    assert run.jobs == {"solve": 1}
    assert (finished.stat().st_mtime_ns, finished.read_bytes()) == before
    assert [r["status"] for r in bad.records(method="bad")] == ["ok", "ok"]
    assert not bad.left_over()


SLOW_DATA = """\
import time
from pathlib import Path
from sklearn.datasets import load_wine

def load_slowly():
    with Path("loaded").open("a") as file:
        file.write("once ")
    while not Path("go-on").exists():
        time.sleep(0.1)
    return load_wine()
"""


def test_two_experiments_that_need_the_same_table(bad):
    bad.write("methods/slow_data.py", SLOW_DATA)
    bad.write(
        "conf/dataset/slow.yaml",
        "# @package dataset.slow\ntask: classification\n"
        "loader: {_target_: methods.slow_data.load_slowly}\n",
    )
    small = (bad.root / "conf/experiment/small.yaml").read_text()
    bad.write("conf/experiment/other.yaml", small.replace("name: small", "name: other"))
    selection = f"dataset=[slow] {how('sleep')}"
    other = [
        part.replace("small", "other").replace("how=sleep", "how=fine")
        for part in bad.command("--until", "solve", overrides=selection)
    ]
    with started(bad, "--until", "solve", overrides=selection) as run:
        wait_for((bad.root / "loaded").exists, run)
        beside = Run(other, bad.root, bad.environment)
        try:
            waits = "Waiting for data/tables, which process"
            wait_for(lambda: waits in beside.output, beside)
            (bad.root / "go-on").touch()
            # It waits for the table alone, not for the fit that sleeps.
            assert beside.process.wait(500) == 0, beside.output
            wait_for((bad.root / "asleep").exists, run)
        finally:
            beside.process.kill()
    assert (bad.root / "loaded").read_text() == "once "
    records = bad.records("slow", "bad", experiment="other")
    assert [record["status"] for record in records] == ["ok", "ok"]


# Disk ------------------------------------------------------------------------------


@contextmanager
def mounted(folder, options):
    """A file system of memory at ``folder``; False where none may be mounted."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def full_disk(folder):
    """A disk without free space at ``folder``; False where none may be mounted."""
    with mounted(folder, "size=1m") as done:
        filler = folder / "filler"
        if done:
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass
        yield done


def test_results_that_cannot_be_written(project):
    with mounted(project.root / "results", "ro,size=1m") as done:
        if not done:
            pytest.skip("mounting a small disk needs root")
        run = project.solve()
    assert run.returncode == 1
    assert "Read-only file system" in run.output and "results/small" in run.output
    assert "Traceback" not in run.output


def test_full_disk(project):
    with full_disk(project.root / "results") as done:
        if not done:
            pytest.skip("mounting a small disk needs root")
        run = project.solve()
        assert run.returncode == 1
        assert "No space left on device" in run.output
        assert "results/small/splits/clowns.npz" in run.output
        assert "Free some space" in run.output
        assert not list((project.root / "results").rglob("*.npz"))
        assert not project.left_over()

        (project.root / "results/filler").unlink()
        run = project.solve()
        assert run.returncode == 0, run.output
        assert run.jobs == {"split": 1, "solve": 1}

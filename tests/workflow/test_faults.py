"""What goes wrong while the real workflow runs, and what the user then gets."""

import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from itertools import count
from types import SimpleNamespace

import psutil
import pytest

from adakern_bench.cli import compare as comparing
from adakern_bench.cli.compare import adopt
from adakern_bench.data import DatasetError, load_table
from adakern_bench.data.infer import inferred_yaml
from adakern_bench.records.read import read_records
from adakern_bench.report import publish as publishing
from adakern_bench.tracking.track import log_records
from mirror import read_entry
from mlflow_server import serve
from project import REPOSITORY, Run
from record_factory import make_record, write_records

MISBEHAVING = """\
import os, signal, time
import numpy as np
from sklearn.svm import SVC

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
    overrides = "dataset=[clowns,mine]"

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
    assert "is unavailable" in run.output

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
    assert "n is 20, the entry says 21" in run.output
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
    statuses = dict.fromkeys(endings, "failed") | {"fine": "ok", "sleep": "timeout"}
    assert {ending: status for ending, (status, _) in found.items()} == statuses
    assert found["raise"][1] == "RuntimeError: the matrix is singular"
    assert "SIGKILL" in found["kill"][1]
    assert "exit code 3" in found["exit"][1]
    assert "MemoryError" in found["allocate"][1]
    assert "6 s" in found["sleep"][1]

    import pandas as pd

    frame = pd.read_parquet(bad.root / "results/small/records.parquet")
    assert dict(zip(frame["method"], frame["status"], strict=True)) == {"plain": "ok"} | {
        f"bad@how={ending}": found[ending][0] for ending in endings
    }


def test_a_search_that_is_killed_is_a_row_with_its_reason(bad):
    # A combination that the check of single values cannot foresee.
    bad.write("conf/method/bad.yaml", METHOD + "  grid: {how: [fine, kill], C: [1.0, 2.0]}\n")
    run = bad.solve(overrides="method=[plain,bad] protocol.repeats=1")
    assert run.returncode == 0, run.output
    (record,) = bad.records(method="bad")
    assert record["status"] == "failed"
    assert record["reason"].startswith("search: ") and "SIGKILL" in record["reason"]
    assert [r["status"] for r in bad.records(method="plain")] == ["ok"]


# Processes -------------------------------------------------------------------------


def job_of(run):
    """The process of the job that is running a stage."""
    below = psutil.Process(run.process.pid).children(recursive=True)
    stages = [p for p in below if p.cmdline()[-1:] and "solve.py" in p.cmdline()[-1]]
    return min(stages, key=lambda p: p.create_time())


@contextmanager
def sleeping(project):
    """A run with ``plain`` solved and another job gone to sleep inside a solve."""
    with project.start("--until", "solve", overrides=how("sleep")) as run:
        run.wait_for((project.root / "asleep").exists)
        run.wait_for(lambda: "(Rule: solve)" in run.output)
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


def test_snakemake_killed_and_started_again(bad):
    with sleeping(bad) as run:
        finished = bad.root / "results/small/records/clowns/plain/0-1.json"
        before = finished.stat().st_mtime_ns, finished.read_bytes()
        below = psutil.Process(run.process.pid).children(recursive=True)
        run.process.kill()
        run.process.wait()
        _, alive = psutil.wait_procs(below, timeout=60)  # no job outlives it
        assert below and not alive

    assert not bad.records(method="bad")
    run = bad.solve(overrides=how("fine"))
    assert run.returncode == 0, run.output
    assert run.jobs == {"solve": 1}
    assert (finished.stat().st_mtime_ns, finished.read_bytes()) == before
    assert [r["status"] for r in bad.records(method="bad")] == ["ok", "ok"]
    assert not bad.left_over()


def test_two_interrupts_in_a_row(bad):
    """They end in words, no process outlives them, and the next call goes on."""
    words = ("adakern_bench.cli.main", "run", "small", "name=small", *how("sleep").split())
    with Run([sys.executable, "-m", *words], bad.root, bad.environment) as run:
        run.wait_for((bad.root / "asleep").exists)
        below = psutil.Process(run.process.pid).children(recursive=True)
        for _ in range(2):
            os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does
            time.sleep(0.5)
        run.process.wait(120)
    assert run.returncode and "Traceback" not in run.output, run.output
    _, alive = psutil.wait_procs(below, timeout=60)
    assert below and not alive
    run = bad.solve(overrides=how("fine"))
    assert run.returncode == 0, run.output
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
    with bad.start("--until", "solve", overrides=selection) as run:
        run.wait_for((bad.root / "loaded").exists)
        with Run(other, bad.root, bad.environment) as beside:
            waits = "Waiting for data/tables, which process"
            beside.wait_for(lambda: waits in beside.output)
            (bad.root / "go-on").touch()
            # It waits for the table alone, not for the fit that sleeps.
            assert beside.process.wait(500) == 0, beside.output
            run.wait_for((bad.root / "asleep").exists)
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


# The tracker and what is kept ------------------------------------------------------


@pytest.fixture
def tracker(tmp_path, schema):
    """The address of a database that holds no run yet, and its file."""
    file = tmp_path / "tracker" / "mlflow.db"
    file.parent.mkdir()
    file.write_bytes(schema)
    return f"sqlite:///{file}", file


@pytest.mark.slow
def test_a_tracker_that_another_program_holds(tracker):
    uri, file = tracker
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match="another program holds it: end that"):
            log_records([make_record()], experiment="demo", tracking_uri=uri)
    assert log_records([make_record()], experiment="demo", tracking_uri=uri).written


def test_a_tracker_on_a_full_disk(tracker):
    uri, _ = tracker

    def log():
        log_records([make_record()], experiment="demo", tracking_uri=uri)

    # The disk of a process that may write 4 KiB to a file.
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            log()
        except OSError as error:
            os._exit(0 if "The results are safe in their files" in str(error) else 2)
        except Exception as error:
            print(type(error), str(error)[:300], flush=True)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    log()
    assert log_records([make_record()], experiment="demo", tracking_uri=uri) == (0, 2, 0)


def test_a_publication_that_is_killed(tmp_path, monkeypatch):
    """Before the last step the old folder is whole, after the next call the new one."""
    for name in ("_not_done", "_several_commits", "provenance"):
        monkeypatch.setattr(publishing, name, lambda *_: ())
    monkeypatch.setattr(publishing, "KEPT", ("report.html", "summary.csv", "ranks.csv"))
    places = {"results": tmp_path / "results", "figures": list, "tables": list}
    plan = SimpleNamespace(cells=[], **places)
    plan.results.mkdir()
    for name in publishing.KEPT:
        (plan.results / name).write_text("new")
    target = tmp_path / "docs" / "small"
    target.mkdir(parents=True)
    (target / "report.html").write_text("old")

    def killed_in_step(number):
        child = os.fork()
        if child == 0:
            steps = count()

            def then(function):
                def step(*given):
                    if next(steps) == number:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return function(*given)

                return step

            publishing._keep = then(publishing._keep)
            publishing.write_json = then(publishing.write_json)
            with suppress(BaseException):
                publishing.publish(plan, target)
            os._exit(0)
        return os.waitpid(child, 0)[1] == signal.SIGKILL

    kept = {*publishing.KEPT, "provenance.json"}
    for number in range(len(kept)):
        assert killed_in_step(number)
        assert [path.name for path in target.iterdir()] == ["report.html"]
    publishing.publish(plan, target)
    assert {path.name for path in target.iterdir()} == kept
    assert (target / "report.html").read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "krr-cv"}, "which belongs elsewhere"),
        ({"repeat": 17}, "which belongs elsewhere"),
        ({"experiment": "another"}, "several experiments"),
        ({"data_fingerprint": "of another table"}, "is of another table of heart"),
    ],
)
def test_a_record_replaced_by_another_valid_one(tmp_path, changes, message):
    methods = ("svm-cv", "dank")
    paths = write_records(tmp_path, [make_record(method=name) for name in methods])
    assert len(read_records(paths)) == 2
    paths[1].write_text(json.dumps([make_record(method="svm-cv") | changes]))
    with pytest.raises(ValueError, match=message):
        read_records(paths)


def test_a_file_that_vanishes_between_inference_and_reading(tmp_path, monkeypatch):
    file = tmp_path / "mine.csv"
    file.write_text("a,y\n" + "".join(f"{k * k / 7:.3f},{k % 2}\n" for k in range(30)))
    (tmp_path / "conf" / "dataset").mkdir(parents=True)
    adopt(file, "y", tmp_path)
    entry = read_entry(tmp_path / "conf/dataset/my-mine.yaml")
    shutil.rmtree(tmp_path / "data")
    with pytest.raises(DatasetError, match=r"my-mine/mine\.csv is unavailable"):
        load_table("my-mine", entry, cache_dir=tmp_path / "data" / "raw")

    def infer(path, *given, **named):
        inferred = inferred_yaml(path, *given, **named)
        file.unlink()
        return inferred

    monkeypatch.setattr(comparing, "inferred_yaml", infer)
    with pytest.raises(FileNotFoundError, match=r"mine\.csv"):
        adopt(file, "y", tmp_path, again=True)


def test_a_clock_that_jumps_back(project):
    """A table of tomorrow is not a changed one: nothing is made again."""
    assert project.solve().returncode == 0
    table = project.root / "data/tables/clowns.npz"
    tomorrow = time.time() + 86400
    os.utime(table, (tomorrow, tomorrow))
    run = project.solve()
    assert run.returncode == 0 and not run.jobs, run.output


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming somebody else needs root")
def test_a_folder_that_another_user_keeps_to_himself(project):
    (project.root / ".snakemake").mkdir(mode=0o700)
    project.root.chmod(0o777)
    for folder in project.root.parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    # The environment's own interpreter may lie in a home that nobody else may enter.
    project.environment["PYTHONPATH"] += os.pathsep + os.pathsep.join(sys.path)
    command = ["/usr/bin/python3", *project.command()[1:]]
    probe = [command[0], "-c", "import numpy, snakemake"]
    environment = project.environment
    if subprocess.run(probe, env=environment, user=65534).returncode:
        pytest.skip("nobody else can run this environment")
    run = Run(command, project.root, environment, user=65534)
    run.process.wait(500)
    assert run.returncode == 1
    assert "Another user made it and keeps it to himself" in run.output
    assert "Traceback" not in run.output and ".py" not in run.output


def test_the_page_of_mlflow_is_for_this_machine_alone(tmp_path, schema):
    (tmp_path / "mlflow.db").write_bytes(schema)
    make = (REPOSITORY / "Makefile").read_text()
    command = re.search(r"^\t\$\(BIN\)/mlflow (ui .*?) --backend", make, re.MULTILINE)[1]
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    with serve(uri, tmp_path, command.split()) as address:
        port = int(address.rpartition(":")[2])
        found = psutil.net_connections("tcp")
        ends = [c.laddr for c in found if c.status == "LISTEN" and c.laddr.port == port]
    assert {end.ip for end in ends} == {"127.0.0.1"}

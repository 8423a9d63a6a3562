"""Faults while the workflow runs, and what the user sees."""

import copy
import os
import re
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing, contextmanager, suppress
from functools import partial
from types import SimpleNamespace

import psutil
import pytest

from adakern_bench.cli import compare as comparing
from adakern_bench.config.infer import inferred_yaml
from adakern_bench.report import publish as publishing
from adakern_bench.tracking.track import log_records
from mlflow_server import free_port, serve
from project import REPOSITORY, Run
from record_factory import make_record, write_records

MISBEHAVING = """\
import os, signal, time
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
            bytearray(1 << 50)
        if self.how == "sleep":
            open("asleep", "w").close()
            time.sleep(600)
        return super().fit(X, y)
"""


@pytest.fixture
def bad_project(project):
    """A project with the method ``bad``, which fails as its parameter ``how`` says."""
    project.write("methods/misbehaving.py", MISBEHAVING)
    project.add_classifier(
        "bad", "{estimator: {_target_: methods.misbehaving.Misbehaving}}"
    )
    return project


def overrides_for(how):
    return f"method=[plain,bad] ++method.bad.classifier.estimator.how={how}"


# Data ------------------------------------------------------------------------------


def test_missing_data_file_names_the_remedy(project):
    url = f"http://127.0.0.1:{free_port()}/mine.csv"
    project.write(
        "conf/dataset/mine.yaml",
        "# @package dataset.mine\ntask: classification\nn: 4\n"
        f"files: [{{path: mine/mine.csv, urls: ['{url}']}}]\n",
    )
    missing = project.root / "empty-mirror"
    overrides = "dataset=[clowns,mine]"

    run = project.solve(overrides=f"{overrides} data.mirror={missing}", status=1)

    for part in ("data set mine", "mine/mine.csv", url, str(missing), "data.mirror"):
        assert part in run.output
    assert [r["status"] for r in project.records("clowns")] == ["ok", "ok"]
    assert not project.records("mine") and not project.left_over()

    # The remedy in the message works, and finished jobs are not repeated.
    mirror = project.write("mirror/mine/mine.csv", "0.1,0\n0.2,1\n0.3,0\n0.4,1\n")
    run = project.solve(overrides=f"{overrides} data.mirror={mirror.parents[1]}")
    assert run.jobs == {"table": 1, "split": 1, "solve": 1}


# Solves ----------------------------------------------------------------------------


def test_failed_fits_are_recorded_with_reason(bad_project):
    reasons = {
        "fine": "",
        "raise": "RuntimeError: the matrix is singular",
        "kill": "SIGKILL",
        "exit": "exit code 3",
        "allocate": "MemoryError",
        "sleep": "6 s",
    }
    bad_project.solve(
        overrides=f"method=[plain,bad] ++sweep.bad.how=[{','.join(reasons)}] "
        "protocol.repeats=1 jobs.time_limit=6"
    )
    statuses = dict.fromkeys(reasons, "failed") | {"fine": "ok", "sleep": "timeout"}
    for ending, reason in reasons.items():
        (record,) = bad_project.records(method=f"bad@how={ending}")
        assert record["status"] == statuses[ending]
        assert reason in (record["reason"] or "")


# Processes -------------------------------------------------------------------------


def running_job(run):
    """The process of the job that is running a script."""
    below = psutil.Process(run.process.pid).children(recursive=True)
    stages = [p for p in below if p.cmdline()[-1:] and "solve.py" in p.cmdline()[-1]]
    return min(stages, key=lambda p: p.create_time())


@contextmanager
def sleeping_run(project):
    """A run in which ``plain`` is finished and another job sleeps inside its fit."""
    with project.start("--until", "solve", overrides=overrides_for("sleep")) as run:
        run.wait_for((project.root / "asleep").exists)
        run.wait_for(lambda: "(Rule: solve)" in run.output)
        yield run


def all_terminate(processes):
    _, alive = psutil.wait_procs(processes, timeout=60)
    return processes and not alive


def resume(project):
    """Finish the run, check that nothing is left incomplete, and return its jobs."""
    run = project.solve(overrides=overrides_for("fine"))
    assert not project.left_over()
    assert [r["status"] for r in project.records(method="bad")] == ["ok", "ok"]
    return run.jobs


def test_concurrent_run_is_refused_and_killed_job_is_resumed(bad_project):
    with sleeping_run(bad_project) as run:
        second = bad_project.solve(overrides=overrides_for("sleep"), status=1)
        assert f"is in use by process {run.process.pid} on " in second.output
        assert "--unlock" not in second.output and "Traceback" not in second.output
        assert run.returncode is None, "the first run was disturbed"

        job = running_job(run)
        children = job.children(recursive=True)
        job.kill()
        run.ends(1, seconds=120)
    assert "results/small/records/clowns/bad/0-1.json" in run.output
    assert all_terminate(children)
    assert not bad_project.records(method="bad")
    assert len(bad_project.records(method="plain")) == 2
    assert resume(bad_project) == {"solve": 1}


def test_killed_snakemake_is_resumed(bad_project):
    with sleeping_run(bad_project) as run:
        finished = bad_project.root / "results/small/records/clowns/plain/0-1.json"
        before = finished.stat().st_mtime_ns, finished.read_bytes()
        below = psutil.Process(run.process.pid).children(recursive=True)
        run.process.kill()
        run.process.wait()
        assert all_terminate(below)

    assert not bad_project.records(method="bad")
    assert resume(bad_project) == {"solve": 1}
    assert (finished.stat().st_mtime_ns, finished.read_bytes()) == before


def test_two_interrupts_end_the_run_cleanly(bad_project):
    """No traceback, no process survives, and the next call resumes."""
    arguments = (
        "adakern_bench.cli.main",
        "run",
        "small",
        "name=small",
        *overrides_for("sleep").split(),
    )
    with Run(
        [sys.executable, "-m", *arguments], bad_project.root, bad_project.environment
    ) as run:
        run.wait_for((bad_project.root / "asleep").exists)
        below = psutil.Process(run.process.pid).children(recursive=True)
        for _ in range(2):
            os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does
            time.sleep(0.5)
        run.process.wait(120)
    assert run.returncode and "Traceback" not in run.output, run.output
    assert all_terminate(below)
    resume(bad_project)


def test_interrupt_during_import_prints_nothing(tmp_path):
    script = tmp_path / "job.py"
    script.write_text("import adakern_bench\nraise KeyboardInterrupt\n")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert run.returncode == -signal.SIGINT and run.stderr == ""


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


def test_concurrent_experiments_share_a_table(bad_project):
    bad_project.write("methods/slow_data.py", SLOW_DATA)
    loader = "loader: {_target_: methods.slow_data.load_slowly}\n"
    entry = f"# @package dataset.slow\ntask: classification\n{loader}"
    bad_project.write("conf/dataset/slow.yaml", entry)
    other = copy.copy(bad_project)
    other.name = "other"
    with bad_project.start(
        "--until", "solve", overrides=f"dataset=[slow] {overrides_for('sleep')}"
    ) as run:
        run.wait_for((bad_project.root / "loaded").exists)
        second_run = other.start(
            "--until", "solve", overrides=f"dataset=[slow] {overrides_for('fine')}"
        )
        with second_run:
            second_run.wait_for(
                lambda: (
                    "Waiting for data/tables, which is being made by process"
                    in second_run.output
                )
            )
            (bad_project.root / "go-on").touch()
            # It waits only for the table, not for the sleeping fit.
            assert second_run.process.wait(500) == 0, second_run.output
            run.wait_for((bad_project.root / "asleep").exists)
    assert (bad_project.root / "loaded").read_text() == "once "
    records = bad_project.records("slow", "bad", experiment="other")
    assert [record["status"] for record in records] == ["ok", "ok"]


# Disk ------------------------------------------------------------------------------


@contextmanager
def mounted(folder, options):
    """Mount a tmpfs at ``folder``."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_read_only_results_folder(project):
    with mounted(project.root / "results", "ro,size=1m"):
        run = project.solve(status=1)
    assert "Read-only file system" in run.output and "results/small" in run.output
    assert "Traceback" not in run.output


def fill(path):
    """Write a file until the disk is full."""
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass


def test_full_results_disk_is_reported_and_run_resumed(project):
    results = project.root / "results"
    filler = results / "filler"
    with mounted(results, "size=1m"):
        fill(filler)
        run = project.solve(status=1)
        assert "results/small/run.yaml cannot be written" in run.output
        assert "No space left on device" in run.output
        filler.unlink()
        project.run("--until", "table")

        fill(filler)
        run = project.solve(status=1)
        assert "No space left on device" in run.output
        assert "results/small/splits/clowns.npz" in run.output
        assert "Free some space" in run.output
        assert not list(results.rglob("*.npz"))
        assert not project.left_over()

        filler.unlink()
        run = project.solve()
        assert run.jobs == {"split": 1, "solve": 1}


def test_full_project_disk_is_reported(project):
    """As with a quota on the home folder: nothing of a run can be written."""
    folder = project.root / ".snakemake"
    with mounted(folder, "size=64k"):
        fill(folder / "filler")
        run = project.adakern("run", "small", status=1)
    assert "No space left on device. The disk of the project is full" in run.stderr
    assert "Traceback" not in run.stderr


# The tracker and what is kept ------------------------------------------------------


@pytest.mark.slow
def test_locked_tracking_database_raises(uri):
    with closing(
        sqlite3.connect(uri.removeprefix("sqlite:///"), isolation_level=None)
    ) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(
            OSError, match="is locked by another program: end that program"
        ):
            log_records([make_record()], experiment="demo", tracking_uri=uri)
    assert log_records([make_record()], experiment="demo", tracking_uri=uri).written


@pytest.mark.slow
def test_read_only_tracking_database_prints_one_line(tmp_path):
    """MLflow would print a traceback of sixty lines before it."""
    write_records(tmp_path / "results" / "demo", [make_record()])
    database = tmp_path / "mlflow.db"
    command = [
        sys.executable,
        "-m",
        "adakern_bench.cli.main",
        "track",
        tmp_path / "results",
    ]
    env = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{database}"}
    subprocess.run(command, env=env, check=True)
    write_records(tmp_path / "results" / "demo", [make_record(repeat=1)])
    bind = ["mount", "--bind", str(database), str(database)]
    if subprocess.run(bind, capture_output=True).returncode:
        pytest.skip("mounting a file needs root")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(database)], check=True)
        run = subprocess.run(command, env=env, capture_output=True, text=True)
    finally:
        subprocess.run(["umount", str(database)], check=True)
    assert run.returncode == 1 and "is not writable" in run.stderr
    assert "Traceback" not in run.stderr and run.stderr.count("\n") < 3


@pytest.mark.slow
def test_tracking_on_full_disk_raises(uri):
    log = partial(log_records, [make_record()], experiment="demo", tracking_uri=uri)
    # A file size limit of 4 KiB simulates a full disk.
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            log()
        except OSError as error:
            os._exit(0 if "The results are saved in their files" in str(error) else 2)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    log()
    assert log() == (0, 2, 0)


def test_killed_publication_leaves_old_or_new_folder(tmp_path, monkeypatch):
    """The old folder stays complete until the last step."""
    for name in ("_not_done", "_several_commits", "provenance"):
        monkeypatch.setattr(publishing, name, lambda *_: ())
    kept = {"run.yaml": "config.yaml", "summary.csv": "summary.csv"}
    monkeypatch.setattr(publishing, "KEPT", kept)
    plan = SimpleNamespace(cells=[], results=tmp_path, figures=list, tables=list)
    for name in publishing.KEPT:
        (tmp_path / name).write_text("new")
    target = tmp_path / "docs" / "small"
    target.mkdir(parents=True)
    (target / "config.yaml").write_text("old")

    def killed_before(step):
        """Publish in a child process that is killed when it calls `step`."""
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                setattr(
                    publishing, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL)
                )
                publishing.publish(plan, target)
            os._exit(0)
        return os.waitpid(child, 0)[1] == signal.SIGKILL

    for step in ("_keep", "write_json"):
        assert killed_before(step)
        assert [path.name for path in target.iterdir()] == ["config.yaml"]
        assert (target / "config.yaml").read_text() == "old"
    publishing.publish(plan, target)
    assert {path.name for path in target.iterdir()} == {
        *kept.values(),
        "provenance.json",
    }
    assert (target / "config.yaml").read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_file_deleted_after_inference_raises(tmp_path, monkeypatch):
    (tmp_path / "conf" / "dataset").mkdir(parents=True)
    file = tmp_path / "mine.csv"
    file.write_text("a,y\n" + "".join(f"{k * k / 7:.3f},{k % 2}\n" for k in range(30)))

    def infer(*args, **kwargs):
        inferred = inferred_yaml(*args, **kwargs)
        file.unlink()
        return inferred

    monkeypatch.setattr(comparing, "inferred_yaml", infer)
    with pytest.raises(FileNotFoundError, match=r"mine\.csv"):
        comparing.adopt(file, "y", tmp_path)


def test_table_from_the_future_is_kept_and_truncated_one_is_named(project):
    """After the clock was set back nothing is made again."""
    project.solve()
    table = project.root / "data/tables/clowns.npz"
    tomorrow = time.time() + 86400
    os.utime(table, (tomorrow, tomorrow))
    assert not project.solve().jobs

    table.write_bytes(table.read_bytes()[:-40])
    run = project.solve(status=1)
    assert "data/tables/clowns.npz is an incomplete table" in run.output
    assert "delete the file" in run.output
    table.unlink()
    project.solve()


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming somebody else needs root")
def test_folder_of_another_user_is_reported(project):
    (project.root / ".snakemake").mkdir(mode=0o700)
    project.root.chmod(0o777)
    for folder in project.root.parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    # The environment's interpreter may be in a home that other users cannot enter.
    project.environment["PYTHONPATH"] += os.pathsep + os.pathsep.join(sys.path)
    command = ["/usr/bin/python3", *project.command()[1:]]
    probe = [command[0], "-c", "import numpy, snakemake"]
    environment = project.environment
    if subprocess.run(probe, env=environment, user=65534).returncode:
        pytest.skip("nobody else can run this environment")
    run = Run(command, project.root, environment, user=65534).ends(1)
    assert "The folder belongs to another user" in run.output
    assert "Traceback" not in run.output and ".py" not in run.output


@pytest.mark.slow
def test_mlflow_ui_listens_on_localhost_only(tmp_path, uri):
    make = (REPOSITORY / "Makefile").read_text()
    command = re.search(r"^\t\$\(BIN\)/mlflow (ui .*?) --backend", make, re.MULTILINE)[
        1
    ]
    with serve(uri, tmp_path, command.split()) as address:
        port = int(address.rpartition(":")[2])
        connections = psutil.net_connections("tcp")
        ends = [
            c.laddr
            for c in connections
            if c.status == "LISTEN" and c.laddr.port == port
        ]
    assert {end.ip for end in ends} == {"127.0.0.1"}

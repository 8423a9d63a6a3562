"""Configurations, names and places that somebody else has chosen."""

import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from adakern_bench.config.plan import plan_from_snakemake
from adakern_bench.data import DatasetEntry, DatasetError, check_entry, load_table
from adakern_bench.records.dotted import estimator_class
from adakern_bench.report.wording import printable
from adakern_bench.tracking.track import lock

COMMAND = "touch bomb"
HOSTILE = {
    "estimator": (
        "conf/method/evil.yaml",
        "# @package method.evil\n"
        f"classifier: {{estimator: {{_target_: os.system, command: {COMMAND}}}}}\n",
        "method=[evil]",
    ),
    "nested estimator": (
        "conf/method/evil.yaml",
        "# @package method.evil\n"
        "classifier:\n  estimator:\n    _target_: sklearn.ensemble.BaggingClassifier\n"
        f"    estimator: {{_target_: subprocess.getoutput, cmd: {COMMAND}}}\n",
        "method=[evil]",
    ),
    "loader": (
        "conf/dataset/evil.yaml",
        "# @package dataset.evil\ntask: classification\n"
        f"loader: {{_target_: os.system, command: {COMMAND}}}\n",
        "dataset=[evil]",
    ),
    "figure": (
        "conf/experiment/evil.yaml",
        "# @package _global_\ndefaults: [small]\n"
        f"figures: {{bomb: {{function: os.system, params: {{command: {COMMAND}}}}}}}\n",
        "experiment=evil",
    ),
}


@pytest.mark.parametrize("place", HOSTILE)
def test_a_configuration_runs_no_command(project, place):
    path, text, override = HOSTILE[place]
    project.write(path, text)
    run = project.run("-n", overrides=override)
    if place == "loader":  # what is no data is found out when the table is made
        run = project.run(overrides=override)
    assert run.returncode != 0
    named = ("'os.system'", "'subprocess.getoutput'", "no module 'os'")
    assert any(name in run.output for name in named)
    assert "Traceback" not in run.output
    assert not list(project.root.rglob("bomb"))


@pytest.mark.parametrize(
    "target",
    [
        "os.system",
        "builtins.eval",
        "subprocess.Popen",
        "sklearn.datasets.load_files",
        "sklearn.utils.fixes.os.system",
        "adakern_bench.records.dotted.resolve",
        "shutil.rmtree",
        "",
        "SVC",
    ],
)
def test_a_target_is_an_estimator_class(target):
    with pytest.raises((ValueError, ImportError, AttributeError)):
        estimator_class(target)


def test_a_loader_is_a_function_of_data(tmp_path):
    for target in ("os.system", "sklearn.datasets.dump_svmlight_file", "pandas.eval"):
        entry = DatasetEntry(task="regression", loader={"_target_": target})
        with pytest.raises(DatasetError, match="cannot be used"):
            load_table("evil", entry, cache_dir=tmp_path)


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("name=../../../x", "name of a folder below results"),
        ("name=/tmp/x", "name of a folder below results"),
        ("name=.hidden", "name of a folder below results"),
        ("title='half", "come in pairs"),
        ('title="', "come in pairs"),
    ],
)
def test_names_and_quotation_marks(overrides, message):
    with pytest.raises(ValueError, match=message):
        plan_from_snakemake({"experiment": "quickstart", "overrides": overrides})


def test_a_homepage_is_a_page():
    entry = DatasetEntry(
        task="regression", files=[{"path": "a.csv"}], homepage="javascript:alert(1)"
    )
    (problem,) = check_entry("evil", entry)
    assert "http:// or https://" in problem


def test_no_text_commands_a_terminal():
    text = "\x1b]0;owned\x07 \x9b31m \u202egnp.exe\r\n\tfine"
    assert not set(printable(text)) & {"\x1b", "\x07", "\x9b", "\u202e", "\r"}
    assert printable(text).endswith("\n\tfine")


def test_control_characters_of_an_error_reach_no_terminal(project):
    project.write(
        "methods/loud.py",
        "from sklearn.svm import SVC\n"
        "class Loud(SVC):\n"
        "    def fit(self, X, y):\n"
        "        raise ValueError('\\x1b[31mred \\x07')\n",
    )
    project.write(
        "conf/method/loud.yaml",
        "# @package method.loud\n"
        "classifier: {estimator: {_target_: methods.loud.Loud}}\n",
    )
    run = project.run(overrides="method=[plain,loud]")
    assert run.returncode == 0, run.output
    shown = show(project, "method=[plain,loud]")
    page = (project.root / "results/small/report.html").read_text()
    for text in (run.output, shown.stdout, page):
        assert "\x1b[31m" not in text and "\x07" not in text
    assert "red" in shown.stdout and "red" in page


def show(project, *overrides, **environment):
    command = [sys.executable, "-m", "adakern_bench.report.show", "experiment=small"]
    return subprocess.run(
        [*command, "name=small", *overrides],
        cwd=project.root,
        env=project.environment | environment,
        capture_output=True,
        text=True,
    )


def test_show_before_a_run_and_under_another_encoding(project):
    run = show(project)
    assert run.returncode == 1
    assert "no results" in run.stderr and "Traceback" not in run.stderr
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    project.environment |= plain
    run = project.run()
    assert run.returncode == 0, run.output
    run = show(project)
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming somebody else needs root")
def test_the_trackers_lock_is_each_users_own(tmp_path, monkeypatch):
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    for folder in shared.parents:
        if folder.stat().st_uid == 0 and folder != folder.parent:
            folder.chmod(folder.stat().st_mode | stat.S_IXOTH)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    with lock("http://localhost:1"):
        pass
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        try:
            with lock("http://localhost:1"):
                os._exit(0)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(list(shared.iterdir())) == 2


def test_jobs_end_with_the_snakemake_that_started_them(project):
    project.write(
        "methods/sleepy.py",
        "import time\nfrom sklearn.svm import SVC\n"
        "class Sleepy(SVC):\n"
        "    def fit(self, X, y):\n"
        "        open('asleep', 'w').close()\n"
        "        time.sleep(600)\n",
    )
    project.write(
        "conf/method/sleepy.yaml",
        "# @package method.sleepy\n"
        "classifier: {estimator: {_target_: methods.sleepy.Sleepy}}\n",
    )
    run = project.start(overrides="method=[sleepy]")
    try:
        deadline = time.monotonic() + 500
        while not (project.root / "asleep").exists():
            assert run.returncode is None and time.monotonic() < deadline, run.output
            time.sleep(0.1)
        below = psutil.Process(run.process.pid).children(recursive=True)
        run.process.kill()
        run.process.wait()
        _, alive = psutil.wait_procs(below, timeout=60)
        assert below and not alive
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.process.pid, signal.SIGKILL)

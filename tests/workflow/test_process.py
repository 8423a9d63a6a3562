"""The outcome of a fit in a separate process."""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import psutil
import pytest

from adakern_bench.records import process
from adakern_bench.records.process import OVER, Outcome, isolated, run_each


def kill(number):
    # pytest's handler, which the child inherits, would print a fatal error.
    faulthandler.disable()
    os.kill(os.getpid(), number)


def kill_first_attempt(folder):
    if not os.listdir(folder):
        open(os.path.join(folder, "first"), "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def sleep():
    time.sleep(600)


def leave_process(file, seconds):
    file.write_text(str(subprocess.Popen(["sleep", "600"]).pid))
    time.sleep(seconds)


def use_memory():
    return np.ones(25_000_000)[:1_000_000]  # 200 MB, of which 8 MB are returned


def unpicklable():
    return lambda: None


def test_peak_memory_of_child_and_large_return_value():
    outcome = isolated(use_memory, time_limit=60)
    assert (outcome.status, outcome.reason) == ("ok", None)
    assert outcome.value.sum() == 1_000_000
    assert 150e6 < outcome.peak_memory_bytes < 300e6
    assert outcome.seconds > 0 and outcome.started_at < time.time()


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (kill, [signal.SIGSEGV], "killed by SIGSEGV"),
        (unpicklable, [], "exit code 1"),
        (sys.exit, ["no licence"], "the method exited: SystemExit: no licence"),
    ],
)
def test_failures_have_a_reason(function, arguments, reason):
    """test_faults.py has more failures, in a complete workflow."""
    outcome = isolated(partial(function, *arguments), time_limit=60)
    assert (outcome.status, outcome.value) == ("failed", None)
    assert reason in outcome.reason


def test_killed_process_is_restarted(tmp_path):
    outcome = isolated(partial(kill_first_attempt, tmp_path), time_limit=60)
    assert (outcome.status, outcome.value) == ("ok", "done")


@pytest.mark.parametrize("seconds", [0, 600])
def test_processes_of_a_fit_are_killed(tmp_path, seconds):
    """After a fit that ends as well as one at its time limit."""
    isolated(partial(leave_process, tmp_path / "pid", seconds), time_limit=3)
    pid = int((tmp_path / "pid").read_text())
    if psutil.pid_exists(pid):  # until init has read its exit status
        assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_no_fit_runs_after_the_time_limit(tmp_path):
    tasks = {0: sleep, 1: sleep}
    end = {"ends": time.time() + 1, "journal": tmp_path / "j"}
    outcomes = run_each(tasks, time_limit=60, attempt=1, **end)
    assert [o.status for o in outcomes.values()] == ["timeout", "timeout"]
    assert {o.reason for o in outcomes.values()} == {OVER}  # not the method's fault


# Repeated attempts of a job --------------------------------------------------------


class Lost(BaseException):
    """Simulates the death of the job."""


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    """``attempt(number)`` returns the attempt in which each of four
    repeats finished.
    """
    journal = tmp_path / "logs" / "0-3.jsonl"
    tried = []

    def run(number, dies_at=None, killed_at=None):
        def fit(task, time_limit):
            repeat = task()
            if repeat == dies_at:
                raise Lost
            tried.append(repeat)
            if repeat == killed_at:
                return isolated(partial(kill, signal.SIGKILL), time_limit=60)
            return Outcome("ok", {"attempt": number})

        monkeypatch.setattr(process, "isolated", fit)
        tasks = {repeat: partial(int, repeat) for repeat in range(4)}
        outcomes = run_each(tasks, time_limit=1, attempt=number, journal=journal)
        run.reasons = [outcomes[repeat].reason for repeat in range(4)]
        return [(outcomes[r].value or {}).get("attempt") for r in range(4)]

    run.tried, run.journal = tried, journal
    return run


def test_second_attempt_keeps_finished_repeats(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    assert attempt(2) == [1, 1, 2, 2]
    assert attempt.tried == [0, 1, 2, 3]


def test_killed_fit_is_repeated_with_more_memory(attempt):
    assert attempt(1, killed_at=2) == [1, 1, None, 1]
    assert "SIGKILL" in attempt.reasons[2]
    assert attempt(2) == [1, 1, 2, 1]


def test_repeat_lost_twice_is_recorded_with_reason(attempt, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    for number in (1, 2):
        with pytest.raises(Lost):
            attempt(number, dies_at=1)
    assert attempt(3, dies_at=1) == [1, None, None, None]
    assert all("lost 2 times" in reason for reason in attempt.reasons[1:])
    assert attempt.tried == [0]


def test_new_run_reuses_nothing(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    assert attempt(1) == [1] * 4
    assert attempt.tried == [0, 1, 0, 1, 2, 3]


def test_truncated_journal_line_is_ignored(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    whole = attempt.journal.read_text()
    assert json.loads(whole.splitlines()[-1])["repeat"] == 1
    attempt.journal.write_text(whole[:-20])
    assert attempt(2) == [1, 2, 2, 2]

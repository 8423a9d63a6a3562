"""Whatever a fit does, the job that started it learns how it ended."""

import json
import os
import signal
import time
from functools import partial

import numpy as np
import pytest

from adakern_bench.records import process
from adakern_bench.records.process import OVER, Outcome, isolated, run_each


def succeed(a, b):
    return {"sum": a + b}


def fail():
    raise ZeroDivisionError("nothing to divide by")


def kill(number):
    os.kill(os.getpid(), number)


def kill_the_first(folder):
    if not os.listdir(folder):
        open(os.path.join(folder, "first"), "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def leave():
    os._exit(7)


def sleep():
    time.sleep(600)


def use_memory():
    return float(np.ones(25_000_000).sum())  # 200 MB


def exhaust_memory():
    return np.ones(1 << 50)


def large():
    return np.arange(1_000_000)


def unpicklable():
    return lambda: None


def test_value_and_memory():
    outcome = isolated(succeed, 2, 3, time_limit=60)
    assert (outcome.status, outcome.value, outcome.reason) == ("ok", {"sum": 5}, None)
    assert 0 <= outcome.peak_memory_bytes < 100e6
    assert outcome.seconds > 0 and outcome.started_at < time.time()


def test_peak_memory_is_that_of_the_child():
    outcome = isolated(use_memory, time_limit=60)
    assert outcome.value == 25_000_000
    assert 150e6 < outcome.peak_memory_bytes < 300e6


def test_a_value_larger_than_a_pipe_holds():
    assert isolated(large, time_limit=60).value.sum() == 499999500000


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (fail, (), "ZeroDivisionError: nothing to divide by"),
        (kill, (signal.SIGKILL,), "killed by SIGKILL (out of memory?)"),
        (kill, (signal.SIGSEGV,), "killed by SIGSEGV"),
        (leave, (), "exit code 7"),
        (exhaust_memory, (), "MemoryError"),
        (unpicklable, (), ""),
    ],
)
def test_failures_have_their_reason(function, arguments, reason):
    outcome = isolated(function, *arguments, time_limit=60)
    assert outcome.status == "failed"
    assert reason in outcome.reason
    assert outcome.value is None


def test_a_process_that_somebody_kills_is_started_again(tmp_path):
    outcome = isolated(kill_the_first, tmp_path, time_limit=60)
    assert (outcome.status, outcome.value) == ("ok", "done")


def test_time_limit():
    start = time.monotonic()
    outcome = isolated(sleep, time_limit=0.5)
    assert outcome.status == "timeout"
    assert "0.5 s" in outcome.reason
    assert time.monotonic() - start < 60  # not the 600 that it wanted


def test_no_fit_is_at_work_after_the_end(tmp_path):
    tasks = {0: sleep, 1: sleep}
    end = {"ends": time.time() + 1, "journal": tmp_path / "j"}
    outcomes = run_each(tasks, time_limit=60, attempt=1, **end)
    assert [o.status for o in outcomes.values()] == ["timeout", "timeout"]
    assert {o.reason for o in outcomes.values()} == {OVER}  # no fault of the method


# A job over its attempts ------------------------------------------------------------


class Lost(BaseException):
    """As if the job were killed here."""


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    """``attempt(number)``: which attempt each of four repeats got its outcome in."""
    journal = tmp_path / "logs" / "0-3.jsonl"
    tried = []

    def run(number, dies_at=None, killed_at=None):
        def fit(task, time_limit):
            repeat = task()
            if repeat == dies_at:
                raise Lost
            tried.append(repeat)
            if repeat == killed_at:
                return isolated(kill, signal.SIGKILL, time_limit=60)
            return Outcome("ok", {"attempt": number})

        monkeypatch.setattr(process, "isolated", fit)
        tasks = {repeat: partial(int, repeat) for repeat in range(4)}
        outcomes = run_each(tasks, time_limit=1, attempt=number, journal=journal)
        run.reasons = [outcomes[repeat].reason for repeat in range(4)]
        return [(outcomes[r].value or {}).get("attempt") for r in range(4)]

    run.tried, run.journal = tried, journal
    return run


def test_finished_repeats_are_kept_and_a_second_attempt_goes_on(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    assert attempt(2) == [1, 1, 2, 2]
    assert attempt.tried == [0, 1, 2, 3]


def test_a_fit_that_was_killed_is_tried_again_with_more_memory(attempt):
    assert attempt(1, killed_at=2) == [1, 1, None, 1]
    assert "SIGKILL" in attempt.reasons[2]
    assert attempt(2) == [1, 1, 2, 1]


def test_what_was_lost_twice_is_a_row_with_the_reason(attempt, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    for number in (1, 2):
        with pytest.raises(Lost):
            attempt(number, dies_at=1)
    assert attempt(3, dies_at=1) == [1, None, None, None]
    assert all("lost 2 times" in reason for reason in attempt.reasons[1:])
    assert attempt.tried == [0]


def test_a_new_run_takes_nothing_over(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    assert attempt(1) == [1] * 4
    assert attempt.tried == [0, 1, 0, 1, 2, 3]


def test_half_a_line_is_not_a_result(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    whole = attempt.journal.read_text()
    assert json.loads(whole.splitlines()[-1])["repeat"] == 1
    attempt.journal.write_text(whole[:-20])
    assert attempt(2) == [1, 2, 2, 2]

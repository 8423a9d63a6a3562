"""Whatever a fit does, the job that started it learns how it ended."""

import faulthandler
import json
import os
import signal
import time
from functools import partial

import numpy as np
import pytest

from adakern_bench.records import process
from adakern_bench.records.process import OVER, Outcome, isolated, run_each


def kill(number):
    # pytest's handler, which the child inherits, would print a fatal error.
    faulthandler.disable()
    os.kill(os.getpid(), number)


def kill_the_first(folder):
    if not os.listdir(folder):
        open(os.path.join(folder, "first"), "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def sleep():
    time.sleep(600)


def use_memory():
    return np.ones(25_000_000)[:1_000_000]  # 200 MB, of which 8 MB are the value


def unpicklable():
    return lambda: None


def test_the_peak_memory_is_that_of_the_child_and_the_value_larger_than_a_pipe():
    outcome = isolated(use_memory, time_limit=60)
    assert (outcome.status, outcome.reason) == ("ok", None)
    assert outcome.value.sum() == 1_000_000
    assert 150e6 < outcome.peak_memory_bytes < 300e6
    assert outcome.seconds > 0 and outcome.started_at < time.time()


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [(kill, [signal.SIGSEGV], "killed by SIGSEGV"), (unpicklable, [], "exit code 1")],
)
def test_failures_have_their_reason(function, arguments, reason):
    """tests/workflow/test_faults.py has more of them, in the real workflow."""
    outcome = isolated(function, *arguments, time_limit=60)
    assert (outcome.status, outcome.value) == ("failed", None)
    assert reason in outcome.reason


def test_a_process_that_somebody_kills_is_started_again(tmp_path):
    outcome = isolated(kill_the_first, tmp_path, time_limit=60)
    assert (outcome.status, outcome.value) == ("ok", "done")


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

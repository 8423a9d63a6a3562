"""Whatever a solve does, the job that started it learns how it ended."""

import os
import signal
import time

import numpy as np
import pytest

from adakern_bench.records.process import isolated


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


def test_value_and_memory():
    outcome = isolated(succeed, 2, 3, time_limit=60)
    assert (outcome.status, outcome.value, outcome.reason) == ("ok", {"sum": 5}, None)
    assert 0 <= outcome.peak_memory_bytes < 100e6


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


def unpicklable():
    return lambda: None


def test_a_value_that_cannot_be_sent_is_a_failure():
    outcome = isolated(unpicklable, time_limit=60)
    assert outcome.status == "failed"

"""A job that is lost, tried again and at last given up."""

import json
import os
import signal

import pytest
from adakern_bench.records.attempts import each_repeat

from adakern_bench.records.process import isolated


def suicide():
    os.kill(os.getpid(), signal.SIGKILL)


class Lost(BaseException):
    """As if the process were killed here."""


@pytest.fixture
def attempt(tmp_path):
    journal = tmp_path / "logs" / "0-3.jsonl"
    done = []

    def run(number, dies_at=None, killed_at=None):
        def work(repeat):
            if repeat == dies_at:
                raise Lost
            done.append(repeat)
            if repeat == killed_at:
                reason = isolated(suicide, time_limit=60).reason
                return {"repeat": repeat, "attempt": number, "reason": reason}
            return {"repeat": repeat, "attempt": number}

        def give_up(repeat, reason):
            return {"repeat": repeat, "reason": reason}

        return each_repeat(
            range(4), number, journal, work, give_up, lambda one: one.get("reason")
        )

    run.done, run.journal = done, journal
    return run


def test_finished_repeats_are_kept_and_a_second_attempt_goes_on(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    results = attempt(2)
    assert attempt.done == [0, 1, 2, 3]
    assert [r["attempt"] for r in results] == [1, 1, 2, 2]


def test_a_fit_that_was_killed_is_tried_again_with_more_memory(attempt):
    first = attempt(1, killed_at=2)
    assert "SIGKILL" in first[2]["reason"]
    assert [r["attempt"] for r in attempt(2)] == [1, 1, 2, 1]


def test_what_was_lost_twice_is_a_row_with_the_reason(attempt, monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    for number in (1, 2):
        with pytest.raises(Lost):
            attempt(number, dies_at=1)
    results = attempt(3, dies_at=1)
    assert results[0] == {"repeat": 0, "attempt": 1}
    assert all("lost 2 times" in r["reason"] for r in results[1:])
    assert attempt.done == [0]


def test_a_new_run_takes_nothing_over(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    assert [r["attempt"] for r in attempt(1)] == [1] * 4
    assert attempt.done == [0, 1, 0, 1, 2, 3]


def test_half_a_line_is_not_a_result(attempt):
    with pytest.raises(Lost):
        attempt(1, dies_at=2)
    whole = attempt.journal.read_text()
    assert json.loads(whole.splitlines()[-1])["repeat"] == 1
    attempt.journal.write_text(whole[:-20])
    assert [r["attempt"] for r in attempt(2)] == [1, 2, 2, 2]

"""Batches of repeats: their names, and their jobs, which may be lost.

A job is lost when it is out of time, out of memory, or its node is down. What is
finished stays finished, and what took the job down twice becomes a row with the reason
instead of a hole.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

from adakern_bench.runtime.isolate import was_killed

__all__ = ["each_repeat", "repeats_of"]

#: A scheduler's second chance is the last: with more memory and more time.
MOST_LOST = 2


def repeats_of(path):
    """The repeats that a file named after its batch holds.

    Parameters
    ----------
    path : Path
        The file.

    Examples
    --------
    >>> from adakern_bench.runtime.attempts import repeats_of
    >>> list(repeats_of("results/quickstart/records/heart/svm-cv/2-4.json"))
    [2, 3, 4]
    """
    first, last = Path(path).stem.split("-")
    return range(int(first), int(last) + 1)


def each_repeat(repeats, attempt, journal, work, give_up, reason_of):
    """``work(repeat)`` for every repeat, carried over the attempts of one job.

    The journal says which jobs began and what is finished. A first attempt starts a new
    one, so that nothing of an older run is taken over.

    Parameters
    ----------
    repeats : iterable of int
    attempt : int
        Snakemake's, from 1.
    journal : path-like
        Of this job alone.
    work : callable
        From a repeat to its result, which JSON can hold.
    give_up : callable
        From a repeat and the reason to the result of a repeat that is not tried again.
    reason_of : callable
        From a result to the reason why it is none. One whose process was killed is not
        finished: another attempt has more memory.

    Returns
    -------
    list
        One result for each repeat.
    """
    journal = Path(journal)
    journal.parent.mkdir(parents=True, exist_ok=True)
    if attempt <= 1:
        journal.unlink(missing_ok=True)
    finished, lost = _read(journal)
    finished = {
        repeat: result
        for repeat, result in finished.items()
        if not was_killed(reason_of(result))
    }
    reason = None
    if len(lost) >= MOST_LOST:
        reason = f"its job was lost {len(lost)} times: " + ", then ".join(
            map(_how_it_ended, lost)
        )
    _write(journal, {"begun": _this_job()})
    results = []
    for repeat in repeats:
        if repeat not in finished:
            result = work(repeat) if reason is None else give_up(repeat, reason)
            finished[repeat] = result
            _write(journal, {"repeat": repeat, "result": result})
        results.append(finished[repeat])
    return results


def _write(journal, entry):
    with journal.open("a") as file:
        file.write("\n" + json.dumps(entry))  # the line before may be half a one
        file.flush()
        os.fsync(file.fileno())


def _read(journal):
    """({repeat: result}, [job, ...]) of the attempts so far."""
    finished, begun = {}, []
    text = journal.read_text() if journal.exists() else ""
    for line in filter(None, text.splitlines()):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:  # the line at which a job was lost
            continue
        if "begun" in entry:
            begun.append(entry["begun"])
        else:
            finished[entry["repeat"]] = entry["result"]
    return finished, begun


def _this_job():
    job = {"node": os.uname().nodename}
    if "SLURM_JOB_ID" in os.environ:
        job["slurm"] = os.environ["SLURM_JOB_ID"]
        job["node"] = os.environ.get("SLURMD_NODENAME", job["node"])
    return job


def _how_it_ended(job):
    """In the scheduler's word, where it can be asked."""
    if "slurm" not in job:
        return f"on {job['node']}"
    state = "lost"
    if shutil.which("sacct"):
        command = ["sacct", "-XnP", "--format=State", f"--jobs={job['slurm']}"]
        answer = subprocess.run(command, capture_output=True, text=True)
        state = answer.stdout.split("\n")[0].strip() or state
    return f"{state} (SLURM job {job['slurm']} on {job['node']})"

"""Run each fit of a job in a separate process, over all attempts of the job.

A fit may hang in compiled code, crash, or be killed for its memory. In a child process
each of these is an outcome to be recorded, and the peak memory is that of this fit
alone. The job itself may be lost as well: its journal keeps finished fits, and a fit
during which the job was lost twice is recorded as failed.
"""

import json
import math
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from adakern._utils.printable import one_line
from adakern_bench.base.parent import ENDINGS, die_with_parent, kill_below

#: Maximum number of lost attempts; the second one has more memory and time.
MOST_LOST = 2
KILLED = "the process was killed by "
#: Reason of a run ended by `adakern compare --minutes`; not a failure of its method.
OVER = "the time limit of all runs was reached (repeat the command to continue)"


@dataclass
class Outcome:
    """How a fit ended: ``status`` is "ok", "failed" or "timeout"."""

    status: str
    value: Any = None
    reason: str | None = None
    peak_memory_bytes: int | None = None
    started_at: float | None = None
    seconds: float = 0.0


def run_each(tasks, *, time_limit, attempt, journal, ends=math.inf):
    """Repeat -> :class:`Outcome` of its task, a callable that returns JSON values.

    The first attempt starts a new journal; later ones, with more memory, repeat the
    fits whose process was killed. All fits end by `ends` (in seconds since 1970).
    """
    journal = Path(journal)
    journal.parent.mkdir(parents=True, exist_ok=True)
    if attempt <= 1:
        journal.unlink(missing_ok=True)
    outcomes, lost = _read(journal)
    _write(journal, {"begun": _this_job()})
    for repeat, task in tasks.items():
        if repeat in outcomes:
            continue
        if len(lost) >= MOST_LOST:
            how = ", then ".join(map(_final_state, lost))
            reason = f"its job was lost {len(lost)} times: {how}"
            outcomes[repeat] = Outcome("failed", reason=reason)
        elif (left := ends - time.time()) <= 0:
            outcomes[repeat] = Outcome("timeout", reason=OVER)
        else:
            outcomes[repeat] = isolated(task, time_limit=min(time_limit, left))
            if left < time_limit and outcomes[repeat].status == "timeout":
                outcomes[repeat].reason = OVER
        outcome = outcomes[repeat]
        _write(journal, {"repeat": repeat, "outcome": asdict(outcome)})
        ending = outcome.reason or f"{outcome.seconds:.3g} s"
        print(f"repeat {repeat}: {outcome.status}, {ending}", file=sys.stderr)
    return outcomes


def _write(journal, entry):
    with journal.open("a") as file:
        file.write("\n" + json.dumps(entry))  # the line before may be incomplete
        file.flush()
        os.fsync(file.fileno())


def _read(journal):
    """({repeat: outcome}, [job, ...]) of the previous attempts."""
    outcomes = {}
    begun = []
    text = journal.read_text() if journal.exists() else ""
    for line in filter(None, text.splitlines()):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:  # the line at which a job was lost
            continue
        if "begun" in entry:
            begun.append(entry["begun"])
        else:
            outcomes[entry["repeat"]] = Outcome(**entry["outcome"])
    killed = f"{KILLED}SIGKILL"
    outcomes = {
        r: o for r, o in outcomes.items() if not (o.reason or "").startswith(killed)
    }
    return outcomes, begun


def _this_job():
    job = {"node": os.uname().nodename}
    if "SLURM_JOB_ID" in os.environ:
        job["slurm"] = os.environ["SLURM_JOB_ID"]
        job["node"] = os.environ.get("SLURMD_NODENAME", job["node"])
    return job


def _final_state(job):
    """How a lost job ended, according to SLURM if available."""
    if "slurm" not in job:
        return f"on {job['node']}"
    state = "lost"
    if shutil.which("sacct"):
        command = ["sacct", "-XnP", "--format=State", f"--jobs={job['slurm']}"]
        answer = subprocess.run(command, capture_output=True, text=True)
        state = answer.stdout.split("\n")[0].strip() or state
    return f"{state} (SLURM job {job['slurm']} on {job['node']})"


def isolated(task, time_limit):
    """Run ``task()`` in a child process and return its :class:`Outcome`.

    A killed child is retried once. If the caller has used OpenMP (scikit-learn,
    PyTorch), the task must use a single thread, since OpenMP's thread pool does not
    survive a fork. The peak memory is the increase since the start of the child.
    """
    started_at = time.time()
    start = time.perf_counter()
    for _ in range(2):
        outcome, exitcode = _run(task, time_limit)
        if exitcode != -signal.SIGKILL:
            break
    outcome.started_at = started_at
    outcome.seconds = time.perf_counter() - start
    return outcome


def _run(task, time_limit):
    """Return the outcome, and the exit code of a child that sent none."""
    # A fork shares imported modules, which saves a second for scikit-learn, but it is
    # reliable only on Linux.
    context: Any = multiprocessing.get_context(
        "fork" if sys.platform == "linux" else "spawn"
    )
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(sender, task))
    child.start()
    sender.close()
    try:
        if not receiver.poll(time_limit):
            limit = f"exceeded the limit of {time_limit:.3g} s"
            return Outcome("timeout", reason=limit), None
        return receiver.recv(), None
    except EOFError:
        child.join()
        return Outcome("failed", reason=_exit_reason(child.exitcode)), child.exitcode
    finally:
        if child.is_alive():
            kill_below(child.pid)
            child.kill()
        child.join()
        receiver.close()


def _call(sender, task):
    die_with_parent()
    before = _peak_memory()
    try:
        outcome = Outcome("ok", task())
    except MemoryError as error:
        outcome = Outcome("failed", reason=f"MemoryError: {error}")
    except Exception as error:
        traceback.print_exc()
        outcome = Outcome("failed", reason=_reason(error))
    except SystemExit as error:
        outcome = Outcome("failed", reason=f"the method exited: {_reason(error)}")
    for end in ENDINGS:
        end()
    kill_below(os.getpid())
    # Includes at least this process, since a child with another Python starts as a copy
    # of it.
    elsewhere = _peak_memory(resource.RUSAGE_CHILDREN)
    outcome.peak_memory_bytes = max(0, _peak_memory() - before, elsewhere)
    sender.send(outcome)
    sender.close()


def _reason(error):
    return one_line(f"{type(error).__name__}: {error}")


def _peak_memory(who=resource.RUSAGE_SELF):
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * scale


def _exit_reason(exitcode):
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"{KILLED}{name}{hint}"
    return f"the process ended with exit code {exitcode} without a result"

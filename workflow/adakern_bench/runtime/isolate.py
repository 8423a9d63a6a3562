"""Run a function in a process of its own, with a time limit.

A fit can loop inside compiled code, where no Python exception reaches it, crash, or be
killed for memory. In a child process each of these is an outcome that can be written
down, and the peak memory is that of this fit alone.
"""

import multiprocessing
import os
import resource
import signal
import sys
import traceback
from dataclasses import dataclass
from typing import Any

__all__ = ["Outcome", "isolated", "was_killed"]

KILLED = "the process was killed by "


@dataclass
class Outcome:
    """How a run ended: ``status`` is "ok", "failed" or "timeout"."""

    status: str
    value: Any = None
    reason: str | None = None
    peak_memory_bytes: int | None = None


def isolated(function, *args, time_limit):
    """Call ``function(*args)`` in a child process; once more if SIGKILL hits it.

    A process that the kernel or somebody kills says nothing of the function; one that
    is killed twice does.

    Where the calling process has used OpenMP (scikit-learn, PyTorch), the function must
    keep to one thread (``threadpool_limits``): OpenMP's pool does not survive a fork.

    Parameters
    ----------
    function : callable
    *args
        Its arguments.
    time_limit : float
        Seconds after which the child is killed.

    Returns
    -------
    Outcome
        With the value returned, or the reason why there is none. The peak memory is the
        growth over the child's start.
    """
    for _ in range(2):
        outcome, exitcode = _run(function, args, time_limit)
        if exitcode != -signal.SIGKILL:
            break
    return outcome


def _run(function, args, time_limit):
    """(Outcome, how a child ended that did not say so itself)."""
    # A fork shares what is already imported, which saves the second that a new
    # interpreter takes to import scikit-learn; only Linux forks reliably.
    method = "fork" if sys.platform == "linux" else "spawn"
    context: Any = multiprocessing.get_context(method)
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_call, args=(sender, function, args))
    child.start()
    sender.close()
    try:
        if not receiver.poll(time_limit):
            limit = f"exceeded the limit of {time_limit} s"
            return Outcome("timeout", reason=limit), None
        return receiver.recv(), None
    except EOFError:
        child.join()
        reason = _exit_reason(child.exitcode)
        return Outcome("failed", reason=reason), child.exitcode
    finally:
        if child.is_alive():
            child.kill()
        child.join()
        receiver.close()


def _call(sender, function, args):
    _die_with_parent()
    before = _peak_memory()
    try:
        outcome = Outcome("ok", function(*args))
    except MemoryError as error:
        outcome = Outcome("failed", reason=f"MemoryError: {error}")
    except Exception as error:
        traceback.print_exc()
        outcome = Outcome("failed", reason=f"{type(error).__name__}: {error}")
    outcome.peak_memory_bytes = max(0, _peak_memory() - before)
    sender.send(outcome)
    sender.close()


def _die_with_parent():
    """Ask the kernel to kill this process when the job dies, so that no orphan runs."""
    if sys.platform == "linux":
        import ctypes

        parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)
        if os.getppid() == 1:
            os._exit(1)


def _peak_memory():
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale


def _exit_reason(exitcode):
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = " (out of memory?)" if name == "SIGKILL" else ""
        return f"{KILLED}{name}{hint}"
    return f"the process ended with exit code {exitcode} and no result"


def was_killed(reason):
    """Whether this is the reason of a process that SIGKILL hit twice.

    Parameters
    ----------
    reason : str
        Why a solve ended.
    """
    return bool(reason) and reason.startswith(f"{KILLED}SIGKILL")

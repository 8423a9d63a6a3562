"""Processes that end together with the process that started them."""

import ctypes
import os
import signal
import sys
from contextlib import suppress

import psutil

#: Functions that end the processes a fit has started, so that its peak memory includes
#: theirs.
ENDINGS = []


def die_with_parent():
    """Ask the kernel to kill this process when its parent dies."""
    if sys.platform == "linux":
        parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL)
        if os.getppid() == 1:
            os._exit(1)


def kill_below(pid):
    """Kill the processes that a process has started, which would compete with later
    fits.
    """
    children = []
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(pid).children(recursive=True)
    for process in children:
        with suppress(psutil.NoSuchProcess):
            process.kill()

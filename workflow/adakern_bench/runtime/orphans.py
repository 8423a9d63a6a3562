"""A job ends with the workflow that started it."""

import os
import threading
import time
from pathlib import Path

__all__ = ["end_with_snakemake"]

SECONDS_BETWEEN_LOOKS = 1.0


def end_with_snakemake():
    """Kill this process soon after the Snakemake above it is killed.

    Between the two stands a second Snakemake, which would go on with the job and write
    the same files as the run that is started next. Only where processes can be looked
    at (Linux).
    """
    above = _snakemake_above()
    if above is not None:
        threading.Thread(target=_watch, args=above, daemon=True).start()


def _watch(pid, started):
    while _stat(pid, "started") == started:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)


def _snakemake_above():
    """(process id, start) of the outermost Snakemake above, None if there is none."""
    found, pid = None, os.getppid()
    while pid and pid > 1:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0") + [""] * 3
        except OSError:
            return found
        # "python bin/snakemake ..." or "python -m snakemake ..."
        if Path(words[1 + (words[1:2] == ["-m"])]).name == "snakemake":
            found = pid, _stat(pid, "started")
        pid = _stat(pid, "parent")
    return found


def _stat(pid, field):
    """Of a process: its parent, or when it started; None if it is no more."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, parent, *rest = text.rpartition(")")[2].split()
    if state == "Z":
        return None
    return int(parent) if field == "parent" else int(rest[17])

"""Locks for runs that share a folder: each experiment is run, and tables are made, by
one run at a time.

Snakemake's own lock remains if Snakemake is killed, and it keeps every table that a run
has made locked until that run ends, so the profiles switch it off (``nolock``). These
locks belong to a process and end with it.
"""

import errno
import fcntl
import os
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote

FOLDER = Path(".snakemake/running")
#: Seconds for which a table must exist before other runs may use it, since Snakemake
#: records how it was made only after writing it.
SETTLED = 5.0


class RunningAlready(RuntimeError):
    """Another run of the same experiment is in progress in this folder."""


def why_not_written(error, path="the project"):
    """Message of an OSError, with what to do about a full disk or another's folder."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{error}. The disk of {path} is full, or a quota on it. Free some space "
            "and run the same command again: finished results are kept"
        )
    if isinstance(error, PermissionError):
        return (
            f"{error}. The folder belongs to another user: share it with your group "
            "(chmod -R g+rwX, umask 002), or work in a copy"
        )
    return str(error)


def _file(path, ending):
    return FOLDER / f"{quote(str(path), safe='')}.{ending}"


def progress_file(path):
    """File to which the run that locks a path writes its progress."""
    return _file(path, "progress")


def at_work(path):
    """Describe the run that locks a path and its progress; None if there is none."""
    file = _file(path, "lock")
    progress = progress_file(path)
    if not file.exists():
        return None
    with file.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            far = progress.read_text() if progress.exists() else "no progress yet"
            return f"{path} is running ({lock.read()}): {far}"
    return None


def claim(path, wait):
    """Lock a path until this process ends or the lock is closed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lock = _file(path, "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        who = lock.read() or "another run"
        if not wait:
            raise RunningAlready(
                f"{path} is in use by {who}. Wait until it finishes, or stop it "
                "(Ctrl-C there), then run the same command again"
            ) from None
        print(
            f"Waiting for {path}, which is being made by {who}",
            file=sys.stderr,
            flush=True,
        )
        fcntl.flock(lock, fcntl.LOCK_EX)
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {os.uname().nodename}")
    lock.flush()
    return lock


def release_when_made(lock, tables):
    """Close the lock once all tables have been written after this call."""
    since = time.time()

    def is_made(table):
        made_at = Path(table).stat().st_mtime if Path(table).exists() else 0
        return since < made_at < time.time() - SETTLED

    def watch():
        while not all(map(is_made, tables)):
            time.sleep(1)
        lock.close()

    threading.Thread(target=watch, daemon=True).start()

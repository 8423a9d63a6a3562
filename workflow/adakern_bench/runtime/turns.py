"""Runs that share a folder: one at a time of each experiment and of each table.

Snakemake's own lock stays behind when Snakemake is killed, and holds every table that a
run has made until that run ends; so the profiles switch it off (``nolock``). These
locks belong to a process and end with it.
"""

import fcntl
import os
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote

__all__ = ["RunningAlready", "take_turn"]

FOLDER = Path(".snakemake/turns")
#: Seconds that a table has been there before others may count on it: Snakemake still
#: writes down how it was made.
SETTLED = 5.0


class RunningAlready(RuntimeError):
    """Another run of the same experiment works in this folder."""


def take_turn(results, tables, read_at):
    """Claim an experiment and the tables that it will make, for as long as need be.

    Where another run makes one of the tables, wait for it and then start this process
    over: its plan was to make that table too, and would take it away from the other
    run.

    Parameters
    ----------
    results : path-like
        Folder of the experiment; nobody else may claim it while this process lives.
    tables : sequence of path-like
        What this run is about to make. Others may claim each of them as soon as it is
        there.
    read_at : float
        Seconds since 1970 at which this process began to look what there is.

    Raises
    ------
    RunningAlready
        If another process has claimed the experiment.
    """
    _of_this_process.append(_claim(results, wait=False))
    out_of_date = False
    claims = {}
    for table in sorted(map(Path, tables)):  # in one order, so that no two runs block
        claims[table], waited = _claim(table, wait=True)
        out_of_date |= waited or _made_since(table, read_at)
    if out_of_date:
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(sys.executable, sys.orig_argv)
    threading.Thread(target=_release, args=(claims,), daemon=True).start()


#: Locked files that stay open until the process ends.
_of_this_process = []


def _claim(path, wait):
    """(the locked file, whether somebody else had it)."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    lock = (FOLDER / f"{quote(str(path), safe='')}.lock").open("a+")
    waited = False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        who = lock.read() or "another run"
        if not wait:
            raise RunningAlready(
                f"{path} belongs to {who}, which is still at work. Wait until it is "
                "done, or stop it (Ctrl-C there), then give the same command again"
            ) from None
        print(f"Waiting for {path}, which {who} makes", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        waited = True
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {os.uname().nodename}")
    lock.flush()
    return lock, waited


def _made_since(path, moment):
    return path.exists() and path.stat().st_mtime > moment


def _release(claims):
    """Give each table free when it is made."""
    since = time.time()
    while claims:
        time.sleep(1)
        for table in list(claims):
            if _made_since(table, since) and not _made_since(
                table, time.time() - SETTLED
            ):
                claims.pop(table).close()

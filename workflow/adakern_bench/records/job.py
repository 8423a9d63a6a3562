"""What every rule's script does first and last: its log, its errors, its end."""

import errno
import os
import threading
from contextlib import contextmanager
from pathlib import Path

import psutil

from adakern._utils.printable import printable
from adakern_bench.base import paths  # noqa: F401 - finds the modules that YAML files name

_running = threading.Event()


@contextmanager
def job(snakemake):
    """The block of a rule's script; its output goes to the log, an error to the
    terminal too. Within another job, as a step of it, it is that one's.
    """
    if _running.is_set():
        yield
        return
    _end_with_snakemake()
    _running.set()
    terminal = os.dup(2)
    try:
        if snakemake.log:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(snakemake.log[0], flags), 2)
        yield
    except Exception as error:
        os.write(terminal, printable(f"\n{_explain(error, snakemake)}\n\n").encode())
        raise
    finally:
        _running.clear()


def journal(snakemake):
    """Where a job keeps what it has finished, over all its attempts: beside its log."""
    return Path(snakemake.log[0]).with_suffix(".jsonl")


def _explain(error, snakemake):
    """The error in one line; a full disk with the way out, which it does not say."""
    message = f"{type(error).__name__} in {snakemake.rule}: {error}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        message += (
            f". The disk that holds {snakemake.output[0]} is full. "
            "Free some space and run the same command again: what is finished is kept"
        )
    return message


def _end_with_snakemake():
    """End this process when the outermost Snakemake above is gone; the inner one would
    go on.
    """

    def end_after(process):
        process.wait()
        os._exit(1)

    if above := list(filter(_is_snakemake, psutil.Process().parents())):
        threading.Thread(target=end_after, args=above[-1:], daemon=True).start()


def _is_snakemake(process):
    """Whether it is "python bin/snakemake", "python -m snakemake" or "adakern run"."""
    try:
        words = process.cmdline()[1:3]
    except psutil.Error:
        return False
    return any(Path(word).name in ("snakemake", "adakern") for word in words)

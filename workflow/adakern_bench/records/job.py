"""Context of every rule's script: log, error messages, termination."""

import os
import threading
from contextlib import contextmanager
from pathlib import Path

import psutil

from adakern._utils.printable import printable
from adakern_bench.base import paths  # noqa: F401 - finds the modules that YAML files name
from adakern_bench.base.locks import why_not_written

_running = threading.Event()


@contextmanager
def job(snakemake):
    """Redirect a script's output to its log, and also show errors on the terminal.

    A step within another job uses the log of that job.
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
            log = os.open(snakemake.log[0], flags)
            for stream in (1, 2):
                os.dup2(log, stream)
        yield
    except Exception as error:
        os.write(terminal, printable(f"\n{_explain(error, snakemake)}\n\n").encode())
        raise
    finally:
        _running.clear()


def journal(snakemake):
    """Path of the journal of finished fits over all attempts of a job."""
    return Path(snakemake.log[0]).with_suffix(".jsonl")


def _explain(error, snakemake):
    """Return the error in one line, with advice if the disk is full."""
    said = error
    if isinstance(error, OSError):
        said = why_not_written(error, snakemake.output[0])
    return f"{type(error).__name__} in {snakemake.rule}: {said}"


def _end_with_snakemake():
    """Exit when the outermost Snakemake process exits, since the inner one
    would not.
    """

    def end_after(process):
        process.wait()
        os._exit(1)

    if above := list(filter(_is_snakemake, psutil.Process().parents())):
        threading.Thread(target=end_after, args=above[-1:], daemon=True).start()


def _is_snakemake(process):
    """Whether the command is "bin/snakemake", "-m snakemake" or "adakern run"."""
    try:
        words = process.cmdline()[1:3]
    except psutil.Error:
        return False
    return any(Path(word).name in ("snakemake", "adakern") for word in words)

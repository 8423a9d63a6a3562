"""Runs one stage of ``adakern_bench.stages`` for the Snakemake rule that names it.

The rule's log gets everything the stage and its children print; an error is shown on
the terminal as well, in one line, before Snakemake's own account of the failed job.
"""

import errno
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module

from adakern_bench.report.wording import printable
from adakern_bench.runtime.orphans import end_with_snakemake


def explain(error):
    """The error in one line; a full disk with the way out, which it does not say."""
    message = f"{type(error).__name__} in {snakemake.rule}: {error}"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        message += (
            f". The disk that holds {snakemake.output[0]} is full. "
            "Free some space and run the same command again: what is finished is kept"
        )
    return message


end_with_snakemake()
terminal = os.dup(2)
try:
    if snakemake.log:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(snakemake.log[0], flags), 2)
    sys.path.append(os.getcwd())  # the project's own modules, as in the Snakefile
    module, _, function = snakemake.params.stage.partition(".")
    stage = import_module(f"adakern_bench.stages.{module}")
    getattr(stage, function or "run")(
        dict(snakemake.input.items()),
        dict(snakemake.output.items()),
        snakemake.params.settings | snakemake.params.get("aside", {}),
    )
except Exception as error:
    os.write(terminal, printable(f"\n{explain(error)}\n\n").encode())
    with suppress(OSError):  # the log may lie on the disk that is full
        traceback.print_exc()
    sys.exit(1)

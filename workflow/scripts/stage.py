"""Runs one stage of ``adakern.workflow`` for the Snakemake rule that names it.

The rule's log gets everything the stage and its children print; an error is shown on
the terminal as well, in one line, before Snakemake's own account of the failed job.
"""

import os
import sys
import traceback
from importlib import import_module

terminal = os.dup(2)
if snakemake.log:  # noqa: F821 - Snakemake defines `snakemake` in its scripts
    os.dup2(os.open(snakemake.log[0], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)  # noqa: F821

try:
    import_module(f"adakern.workflow.{snakemake.params.stage}").run(  # noqa: F821
        dict(snakemake.input.items()),  # noqa: F821
        dict(snakemake.output.items()),  # noqa: F821
        snakemake.params.settings,  # noqa: F821
    )
except Exception as error:
    traceback.print_exc()
    message = f"\n{type(error).__name__} in {snakemake.rule}: {error}\n\n"  # noqa: F821
    os.write(terminal, message.encode())
    sys.exit(1)

"""``adakern run``: an experiment, from its configuration to its comparison."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from adakern_bench.paths import CONF
from adakern_bench.records.dotted import ALLOW_OUTSIDE
from adakern_bench.report.origin import in_one

__all__ = ["run", "snakemake_command", "start"]


def snakemake_command(overrides, cores):
    """The command line that runs an experiment.

    >>> from adakern_bench.cli.run import snakemake_command
    >>> snakemake_command(["experiment=dank_uci", "protocol.repeats=3"], 2)[1:]
    ['--cores', '2', '--config', 'experiment=dank_uci', 'overrides=protocol.repeats=3']

    Parameters
    ----------
    overrides : list of str or str
        Of Hydra.
    cores : int
        Jobs at a time.
    """
    names = [o for o in overrides if o.startswith("experiment=")] or [
        "experiment=quickstart"
    ]
    said = ["allow_outside=true"] if ALLOW_OUTSIDE in overrides else []
    others = [
        o for o in overrides if not o.startswith("experiment=") and o != ALLOW_OUTSIDE
    ]
    beside = Path(sys.executable).with_name("snakemake")
    program = str(beside) if beside.exists() else shutil.which("snakemake")
    return [
        program or "snakemake",
        "--cores",
        str(cores or os.cpu_count()),
        "--config",
        names[-1],
        *said,
        f"overrides={in_one([re.sub(r', +', ',', o) for o in others])}",
    ]


def start(command):
    """A snakemake command as a process whose output ``follow`` of progress.py reads.

    Parameters
    ----------
    command : list of str
        The process to start.
    """
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1
    )


def run(overrides, cores=None, *, dry_run=False, conf=CONF):
    """Run an experiment and print what it found.

    Parameters
    ----------
    overrides : list of str
        Hydra overrides, ``experiment=...`` among them.
    cores : int, default=None
        All of them where None.
    dry_run : bool, default=False
        Print Snakemake's command and what it would do, and do nothing.
    conf : path, default=CONF
        The configuration folder, that of the working directory.

    Returns
    -------
    int
        Exit status.
    """
    command = snakemake_command(overrides, cores)
    if dry_run:
        print(shlex.join(command), flush=True)
        return subprocess.run([*command, "--dry-run", "--quiet", "rules"]).returncode
    begun = time.monotonic()
    with start(command) as process:
        try:
            # Loading takes a second or two, in which Snakemake loads the same.
            from adakern_bench.cli.progress import follow
            from adakern_bench.config.plan import load_plan
            from adakern_bench.report.show import show

            plan = load_plan(overrides, conf)
        except BaseException:
            process.terminate()
            raise
        status = follow(process, plan, start=begun)
    if status == 0:
        show(plan)
    return status

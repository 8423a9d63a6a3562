"""Run the script of a rule in this process, as Snakemake does."""

import runpy
import tempfile
from pathlib import Path
from types import SimpleNamespace

from adakern_bench.base.paths import SCRIPTS


class Files(dict):
    """A dictionary of files with access by attribute."""

    __getattr__ = dict.__getitem__


def run_script(rule, inputs, outputs, log=(), **params):
    """Run ``workflow/scripts/<rule>.py`` with these files and parameters."""
    for path in outputs.values():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    snakemake = SimpleNamespace(
        rule=rule,
        log=log,
        input=Files(inputs),
        output=Files(outputs),
        params=Files(params),
    )
    runpy.run_path(str(SCRIPTS / f"{rule}.py"), {"snakemake": snakemake})


def run_fits(rule, inputs, outputs, **params):
    """Run the script of a rule that fits, with a temporary journal."""
    limits = {"time_limit": 100, "attempt": 1}
    with tempfile.TemporaryDirectory() as folder:
        log = [Path(folder, f"{rule}.log")]
        run_script(rule, inputs, outputs, log, limits=limits, **params)

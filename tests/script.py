"""A rule's script run in this process, as Snakemake would run it."""

import runpy
from pathlib import Path
from types import SimpleNamespace

from adakern_bench.paths import SCRIPTS

__all__ = ["run_script"]


class Files(dict):
    """Names and files, by attribute too."""

    __getattr__ = dict.__getitem__


def run_script(rule, inputs, outputs, **params):
    """Run ``workflow/scripts/<rule>.py`` with these files and parameters."""
    for path in outputs.values():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    snakemake = SimpleNamespace(
        rule=rule, log=[], input=Files(inputs), output=Files(outputs), params=Files(params)
    )
    runpy.run_path(str(SCRIPTS / f"{rule}.py"), {"snakemake": snakemake})

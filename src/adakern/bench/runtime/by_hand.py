"""Run one stage by hand, for debugging: what the workflow does, without Snakemake.

    python -m adakern.bench.stages.solve experiment=dank_uci dataset=heart method=dank

The arguments are Hydra overrides. Files that the stage needs and that are missing are
made first; the stage itself always runs. The files are the workflow's own.
"""

import sys
from importlib import import_module

from adakern.bench.config.compose import ConfigError
from adakern.bench.config.plan import load_plan

__all__ = ["main"]

#: What each stage builds on.
NEEDS = {
    "data": [],
    "split": ["data"],
    "search": ["data", "split"],
    "solve": ["data", "split", "search"],
    "study": ["data"],
}


def main(stage, module_doc):
    """Run ``stage`` for everything that the command line selects."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(f"{module_doc}\n{__doc__}")
        return
    try:
        plan = load_plan(sys.argv[1:])
    except ConfigError as error:
        sys.exit(str(error))
    for name in [*NEEDS[stage], stage]:
        for inputs, outputs, settings in plan.jobs(name):
            if name == stage or not all(path.exists() for path in outputs.values()):
                import_module(f"adakern.bench.stages.{name}").run(
                    inputs, outputs, settings
                )
                print(*outputs.values())

"""Date, machine, commit and command of a report."""

import re
import shlex
from datetime import UTC, datetime

from adakern_bench.base.dotted import ALLOW_OUTSIDE
from adakern_bench.records.machine import commit, machine


def origin(config):
    """Date, machine, commit and command, as text for a report."""
    here = machine()
    experiment = config.get("experiment") or config["name"]
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{here['processor']}, {here['cores']} cores, {here['system']}",
        "commit": commit(),
        "command": make_command(experiment, config.get("overrides") or []),
    }


def make_command(experiment, overrides):
    """Return the command that runs an experiment with overrides.

    >>> from adakern_bench.report.origin import make_command
    >>> make_command("dank_uci", ["protocol.repeats=3"])
    'make run EXPERIMENT=dank_uci OVERRIDES=protocol.repeats=3'
    """
    settings = f" OVERRIDES={shlex.quote(in_one(overrides))}" if overrides else ""
    return f"make run EXPERIMENT={experiment}{settings}"


def selection(plan):
    """Arguments of Snakemake that select the experiment of a plan."""
    settings = [word for word in plan.config.overrides if word != ALLOW_OUTSIDE]
    chosen = ["--config", f"experiment={plan.config.experiment}"]
    chosen += ["allow_outside=true"] * (ALLOW_OUTSIDE in plan.config.overrides)
    return [*chosen, f"overrides={in_one(settings)}"] if settings else chosen


def in_one(overrides):
    """Join overrides into one value of ``--config``, quoting those with spaces.

    Spaces after commas are removed, except inside quotation marks.

    >>> from adakern_bench.report.origin import in_one
    >>> print(in_one(["title='Soil, wet'", "dataset=[heart, sonar]"]))
    'title='"'"'Soil, wet'"'"'' dataset=[heart,sonar]
    """
    plain = [o if re.search(r"['\"]", o) else re.sub(r", +", ",", o) for o in overrides]
    text = " ".join(shlex.quote(o) if re.search(r"[\s'\"]", o) else o for o in plain)
    # Snakemake would take a final quotation mark for the end of a quoted value.
    return f"{text} " if text.endswith("'") else text

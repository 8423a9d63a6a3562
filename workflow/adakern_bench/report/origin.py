"""When, where, from which code and by which command something was made."""

import re
import shlex
import subprocess
from datetime import UTC, datetime

from adakern_bench.records.machine import machine

__all__ = ["CODE", "git", "in_one", "make_command", "origin"]

#: What numbers depend on.
CODE = ("Snakefile", "workflow", "src", "conf", "requirements")


def origin(config):
    """Date, machine, commit and command, in words for a report.

    Parameters
    ----------
    config : mapping
        The resolved configuration.

    Returns
    -------
    dict of str to str
    """
    commit = git("rev-parse", "--short=10", "HEAD")
    if commit and git("status", "--porcelain", "--", *CODE):
        commit += " with uncommitted changes"
    here = machine()
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{here['processor']}, {here['cores']} cores, {here['system']}",
        "commit": commit or "unknown",
        "command": make_command(
            config.get("experiment") or config["name"], config.get("overrides") or []
        ),
    }


def make_command(experiment, overrides):
    """What to type to run an experiment with some overrides.

    >>> from adakern_bench.report.origin import make_command
    >>> make_command("dank_uci", ["protocol.repeats=3"])
    'make run EXPERIMENT=dank_uci OVERRIDES=protocol.repeats=3'

    Parameters
    ----------
    experiment : str
        Its name.
    overrides : list of str or str
        Of Hydra.
    """
    settings = f" OVERRIDES={shlex.quote(in_one(overrides))}" if overrides else ""
    return f"make run EXPERIMENT={experiment}{settings}"


def in_one(overrides):
    """Overrides as one value of ``--config``, quoted where they hold blanks.

    Parameters
    ----------
    overrides : list of str or str
        Of Hydra.
    """
    text = " ".join(
        shlex.quote(o) if re.search(r"[\s'\"]", o) else o for o in overrides
    )
    # Snakemake takes a quotation mark at the end for one around the value.
    return f"{text} " if text.endswith("'") else text


def git(*arguments):
    """Output of a git command; None where it fails or there is no git.

    Parameters
    ----------
    *arguments : str
        The command's words after "git".
    """
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout.rstrip("\n")

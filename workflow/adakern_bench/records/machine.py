"""What a result was measured on: machine, commit and versions of the packages."""

import json
import os
import platform
import subprocess
import time
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: What numbers depend on.
CODE = ("Snakefile", "workflow", "src", "conf", "methods", "requirements")
#: Behind the name of a commit.
UNCOMMITTED = " with uncommitted changes"
PACKAGES = (
    *("adakern", "numpy", "scipy", "scikit-learn"),
    # What baselines compute with.
    *("lightgbm", "torch", "xrfm", "pytabkit"),
    *("catboost", "xgboost", "xgboost-cpu", "interpret"),
)


@cache
def package_versions():
    """Name -> version, of Python and the packages that compute, where they are
    installed.
    """
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


@cache
def machine():
    """System, processor and number of cores; nothing that names the computer."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor():
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


@cache
def commit():
    """The commit that runs, and whether there are changes that it does not hold."""
    name = git("rev-parse", "HEAD")
    if name and uncommitted():
        name += UNCOMMITTED
    return name or "unknown"


def uncommitted():
    """Files that numbers depend on and that no commit holds as they are."""
    told = git("status", "--porcelain", "--untracked-files=all", "--", *CODE) or ""
    return [line[3:] for line in told.splitlines()]


def log_run(results, started, cores):
    """Append the duration of a call of the workflow to ``runs.jsonl``."""
    if not results.exists():
        return
    seconds = max(0.0, time.time() - started)  # the clock may be set back
    call = {"start": started, "seconds": seconds, "cores": cores}
    with open(results / "runs.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(call | {"commit": commit()}) + "\n")


def git(*arguments):
    """Output of a git command; None where it fails or there is no git."""
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout.rstrip("\n")

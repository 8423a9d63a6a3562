"""Provenance of results: machine, commit and package versions."""

import json
import os
import platform
import subprocess
import time
from functools import cache
from pathlib import Path

from adakern_bench.base.elsewhere_worker import versions

#: Files that affect results.
CODE = ("Snakefile", "workflow", "src", "conf", "methods", "requirements")
#: Appended to the name of a commit.
UNCOMMITTED = " with uncommitted changes"
PACKAGES = (
    *("adakern", "numpy", "scipy", "scikit-learn"),
    # Used by baselines.
    *("lightgbm", "torch", "xrfm", "pytabkit"),
    *("catboost", "xgboost", "xgboost-cpu", "interpret"),
)


@cache
def package_versions():
    """Name -> version of Python and of the installed numerical packages."""
    return versions(PACKAGES)


@cache
def machine():
    """System, processor and number of cores; nothing that identifies the computer."""
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
    """Name of the current commit, and whether there are uncommitted changes."""
    name = git("rev-parse", "HEAD")
    if name and uncommitted():
        name += UNCOMMITTED
    return name or "unknown"


def uncommitted():
    """Files with uncommitted changes that affect results."""
    told = git("status", "--porcelain", "--untracked-files=all", "--", *CODE) or ""
    return [line[3:] for line in told.splitlines()]


def log_run(results, started, cores):
    """Append the duration of a call of the workflow to ``runs.jsonl``."""
    if not results.exists():
        return
    seconds = max(0.0, time.time() - started)  # the clock may go back
    call = {"start": started, "seconds": seconds, "cores": cores}
    with open(results / "runs.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(call | {"commit": commit()}) + "\n")


def git(*arguments):
    """Output of a git command; None if it fails or git is not installed."""
    try:
        done = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    return None if done.returncode else done.stdout.rstrip("\n")

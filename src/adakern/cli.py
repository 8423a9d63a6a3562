"""The console command ``adakern``: what the installed packages bring to it."""

import sys
from importlib.metadata import entry_points

__all__ = ["main"]


def main():
    """Hand over to the workflow where it is installed."""
    for entry in entry_points(group="adakern.commands"):
        return entry.load()()
    print(
        "adakern's workflow is not installed here. Clone the repository and run "
        "`make env` there: it brings the commands that compare methods."
    )
    return 0 if sys.argv[1:] in ([], ["--help"], ["-h"]) else 2

"""``adakern diff BEFORE AFTER``: compare one run with another."""

import os
import sys
from pathlib import Path


def add_arguments(command):
    """Add the arguments of the command."""
    place = "folder of results/ or docs/results/, or FOLDER@COMMIT"
    command.add_argument("before", help=place)
    command.add_argument("after", help=place)
    command.add_argument(
        "--tolerance",
        type=float,
        default=0.1,
        metavar="SHARE",
        help="relative increase of the fit time that is tolerated (default: 0.1)",
    )
    command.add_argument(
        "--page", metavar="FILE", help="also write the comparison as an HTML page"
    )
    command.set_defaults(handle=run_diff)


def run_diff(arguments, overrides):
    """Print the comparison; return 1 if anything is worse, failed or slower."""
    from adakern._utils.files import write_text
    from adakern_bench.report import diff

    if not arguments.tolerance >= 0:
        sys.exit(f"--tolerance {arguments.tolerance} must be a number of at least 0")
    places = [
        _place(arguments.started_in, name)
        for name in (arguments.before, arguments.after)
    ]
    before, after = map(diff.read_run, places)
    found = diff.difference(before, after, arguments.tolerance)
    print(diff.sentence(found))
    for caption, table in diff.shown(found).items():
        if len(table):
            print(f"\n{caption}\n{table.to_string(index=False)}")
    if arguments.page:
        names = {"before": arguments.before, "after": arguments.after}
        page = diff.page(found, arguments.tolerance, **names)
        target = Path(arguments.started_in, arguments.page)
        write_text(target, page)
        print(f"\nPage: {target.resolve().as_uri()}")
    if not len(found.cells):
        return 2
    return int(any(table[diff.ALARMS].any(axis=None) for table in found[:2]))


def _place(started_in, name):
    """Resolve a folder relative to the working directory, else to the project."""
    here = os.path.join(started_in, name)
    return here if os.path.isdir(here) else name

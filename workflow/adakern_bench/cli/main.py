"""``adakern compare | run | show | describe | track | publish | leaderboard``."""

import argparse
import os
import re
import sys
from importlib import import_module

from adakern.cli import add_commands
from adakern_bench.cli.compare import add_arguments, comparison_of, run_compare
from adakern_bench.config.compose import ConfigError
from adakern_bench.data import DatasetError
from adakern_bench.paths import CONF
from adakern_bench.records.dotted import ALLOW_OUTSIDE

__all__ = ["main"]

_PASSED_ON = {
    "describe": ("adakern_bench.data.describe", "print what a data set's entry may state"),
    "track": ("adakern_bench.tracking.track", "make MLflow say what the files say"),
    "publish": ("adakern_bench.report.publish", "keep a run in docs/results"),
}
#: Commands of these whose names and folders are those of the repository.
_IN_REPOSITORY = ("describe", "publish")


def main(argv=None):
    """The console command; returns the exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv and argv[0] in _PASSED_ON:
        return _pass_on(argv[0], argv[1:])
    parser = _parser()
    # Settings may stand anywhere; argparse wants positional arguments together.
    setting = re.compile(rf"[+~]{{0,2}}[A-Za-z_][^/(]*=|{ALLOW_OUTSIDE}$")
    overrides = [word for word in argv if setting.match(word)]
    arguments = parser.parse_args([word for word in argv if word not in overrides])
    arguments.overrides = [*overrides, *getattr(arguments, "overrides", [])]
    if not hasattr(arguments, "handle"):
        parser.print_help()
        return 0
    # The Snakefile, conf/ and data/published belong together and lie in the repository.
    root = CONF.parent
    if not (root / "Snakefile").exists():
        sys.exit(
            "adakern's workflow needs the repository (Snakefile and conf/), and this "
            f"installation has none at {root}: clone it and run `make env` there."
        )
    try:
        return arguments.handle(arguments, root)
    except (ConfigError, DatasetError, FileNotFoundError) as error:
        sys.exit(str(error))


def _parser():
    parser = argparse.ArgumentParser(
        prog="adakern", description="Compare kernel methods, on your own table or in an experiment."
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_commands(commands)  # fit and predict, which the library runs
    compare = commands.add_parser("compare", help="compare methods on your own table")
    add_arguments(compare)
    compare.set_defaults(handle=run_compare)
    run = commands.add_parser("run", help="run an experiment of conf/experiment")
    run.add_argument("experiment", nargs="?", default="quickstart")
    run.set_defaults(handle=_run)
    show = commands.add_parser("show", help="print a finished comparison again")
    show.add_argument("experiment", nargs="?", default="quickstart")
    show.set_defaults(handle=_show)
    board = commands.add_parser("leaderboard", help="rank methods over data sets")
    board.add_argument("experiment", help="one that has been run, such as quickstart")
    board.set_defaults(handle=_leaderboard)
    for command in (compare, run, show, board):
        command.add_argument("overrides", nargs="*", help="settings, such as protocol.repeats=3")
        command.add_argument(  # read with the settings
            ALLOW_OUTSIDE, action="store_true", help="let results and data lie outside the project"
        )
    for command in (compare, run):
        command.add_argument("--cores", type=int, help="all by default")
        command.add_argument(
            "--dry-run", action="store_true", help="print Snakemake's command only"
        )
    for name, (_, text) in _PASSED_ON.items():
        commands.add_parser(name, help=text, add_help=False)
    return parser


def _run(arguments, root):
    from adakern_bench.cli.run import run

    os.chdir(root)
    return run(_overrides(arguments), arguments.cores, dry_run=arguments.dry_run)


def _show(arguments, root):
    from adakern_bench.report.show import main

    os.chdir(root)
    main(_overrides(arguments), root / "conf")
    return 0


def _leaderboard(arguments, root):
    import pandas as pd

    from adakern_bench.config.plan import load_plan
    from adakern_bench.report.leaderboard import leaderboard

    os.chdir(root)
    plan = load_plan(_overrides(arguments), root / "conf")
    records = plan.results / "records.parquet"
    if not records.exists():
        sys.exit(
            f"There are no results in {plan.results} yet. Run the experiment first: "
            f"adakern run {plan.config.experiment}"
        )
    for task, solves in pd.read_parquet(records).groupby("task"):
        print(f"\n{task.capitalize()}")
        print(leaderboard(solves).to_string(index=False, float_format="%.3g"))
    return 0


def _overrides(arguments):
    chosen = comparison_of(arguments.experiment, CONF.parent)
    return [*(chosen or [f"experiment={arguments.experiment}"]), *arguments.overrides]


def _pass_on(command, argv):
    """Call a module's own command line."""
    name, _ = _PASSED_ON[command]
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        sys.exit(f"adakern {command}: this version has no {name}")
    if command in _IN_REPOSITORY and (CONF.parent / "Snakefile").exists():
        os.chdir(CONF.parent)
    sys.argv = [f"adakern {command}", *argv]
    return module.main()


if __name__ == "__main__":
    sys.exit(main())

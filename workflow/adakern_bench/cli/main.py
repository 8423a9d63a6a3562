"""``adakern compare | run | show | describe | track | publish | leaderboard``."""

import argparse
import os
import re
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from adakern.cli import add_commands
from adakern_bench.cli.compare import add_arguments, comparison_of, run_compare
from adakern_bench.config.compose import ConfigError
from adakern_bench.data import DatasetError, load_table
from adakern_bench.data.entry import UNSTATED
from adakern_bench.paths import ROOT
from adakern_bench.records.dotted import ALLOW_OUTSIDE

__all__ = ["main"]

#: Commands with a command line of their own.
_PASSED_ON = {
    "track": ("adakern_bench.tracking.track", "make MLflow say what the files say"),
    "publish": ("adakern_bench.report.publish", "keep a run in docs/results"),
}


def main(argv=None):
    """The console command; returns the exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    # The Snakefile, conf/ and data/published belong together and lie in the repository.
    if not (ROOT / "Snakefile").exists():
        sys.exit(
            "adakern's workflow needs the repository (Snakefile and conf/), and this "
            f"installation has none at {ROOT}: clone it and run `make env` there."
        )
    started_in = Path.cwd()
    if argv[:1] != ["track"]:  # which is given a folder of results, wherever that is
        os.chdir(ROOT)
    if argv and argv[0] in _PASSED_ON:
        sys.argv = [f"adakern {argv[0]}", *argv[1:]]
        return import_module(_PASSED_ON[argv[0]][0]).main()
    parser = _parser()
    parser.set_defaults(started_in=started_in)
    # Settings may stand anywhere; argparse wants positional arguments together.
    setting = re.compile(rf"[+~]{{0,2}}[A-Za-z_][^/(]*=|{ALLOW_OUTSIDE}$")
    overrides = [word for word in argv if setting.match(word)]
    arguments = parser.parse_args([word for word in argv if word not in overrides])
    if not hasattr(arguments, "handle"):
        parser.print_help()
        return 0
    overrides += getattr(arguments, "overrides", [])
    try:
        return arguments.handle(arguments, overrides)
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
    run = commands.add_parser("run", help="run an experiment of conf/experiment")
    show = commands.add_parser("show", help="print a finished comparison again")
    board = commands.add_parser("leaderboard", help="rank methods over data sets")
    describe = commands.add_parser("describe", help="print what a data set's entry may state")
    describe.set_defaults(handle=_describe)
    describe.add_argument("name", help="of the data set")
    handles = {compare: run_compare, run: _run, show: _show, board: _leaderboard}
    for command, handle in handles.items():
        command.set_defaults(handle=handle)
        if command is not compare:
            command.add_argument("experiment", nargs="?", default="quickstart")
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


def _selected(arguments, overrides):
    chosen = comparison_of(arguments.experiment, ROOT)
    return [*(chosen or [f"experiment={arguments.experiment}"]), *overrides]


def _run(arguments, overrides):
    from adakern_bench.cli.run import run

    return run(_selected(arguments, overrides), arguments.cores, dry_run=arguments.dry_run)


def _describe(arguments, overrides):
    """Print what an entry may state of its table, ready to be pasted into its file."""
    import yaml

    from adakern_bench.config.compose import load_config

    name = arguments.name
    config, _ = load_config([f"dataset=[{name}]", *overrides])
    entry = replace(config.dataset[name], **UNSTATED)
    table = load_table(name, entry, cache_dir=f"{config.data.cache}/raw", mirror=config.data.mirror)
    content = {key: value for key, value in table.content().items() if value}
    if table.provenance["source"] == "generated":
        del content["fingerprint"]
    print(yaml.safe_dump(content, sort_keys=False), end="")
    return 0


def _show(arguments, overrides):
    from adakern_bench.report.show import main

    main(_selected(arguments, overrides))
    return 0


def _leaderboard(arguments, overrides):
    import pandas as pd

    from adakern_bench.config.plan import load_plan
    from adakern_bench.report.leaderboard import leaderboard

    plan = load_plan(_selected(arguments, overrides))
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


if __name__ == "__main__":
    sys.exit(main())

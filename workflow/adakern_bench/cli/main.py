"""``adakern compare | run | show | diff | describe | track | publish | ...``."""

import argparse
import os
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from adakern._utils.printable import as_written, one_line
from adakern._utils.wording import count
from adakern._version import __version__
from adakern.cli import add_commands, parsed
from adakern_bench.base.dotted import ALLOW_OUTSIDE, links_out
from adakern_bench.base.locks import RunningAlready, at_work, why_not_written
from adakern_bench.base.paths import CONF, ROOT
from adakern_bench.cli import diff
from adakern_bench.cli.compare import add_arguments, comparison_of, run_compare
from adakern_bench.config import openml
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.entry import UNSTATED, DatasetError
from adakern_bench.data.fetch import load_table


def main(argv=None):
    """Run the console command and return its exit status."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser, commands = _parser()
    parser.set_defaults(started_in=Path.cwd())
    # Settings may stand anywhere, whereas argparse wants all positional arguments
    # together.
    setting = re.compile(rf"[+~]{{0,2}}[A-Za-z_][^/(]*=|{ALLOW_OUTSIDE}$")
    overrides = [
        word for word in argv if setting.match(word) and not os.path.isfile(word)
    ]
    overrides = [] if argv[:1] == ["track"] else overrides
    os.chdir(ROOT)  # of the Snakefile, conf/ and data/published
    arguments = parsed(
        parser, commands, [word for word in argv if word not in overrides]
    )
    if not hasattr(arguments, "handle"):
        parser.print_help()
        return 0
    overrides += getattr(arguments, "overrides", [])
    try:
        return arguments.handle(arguments, overrides)
    except (ConfigError, DatasetError, RunningAlready) as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(why_not_written(error))


def _parser():
    parser = argparse.ArgumentParser(
        prog="adakern",
        description="Fit and compare models for tabular data, and run experiments.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    add_commands(commands)  # those of the library: fit and predict
    compare = commands.add_parser("compare", help="compare methods on your own table")
    add_arguments(compare)
    run = commands.add_parser("run", help="run an experiment of conf/experiment")
    show = commands.add_parser("show", help="print a finished comparison again")
    latex = "print LaTeX tables, and write figures, text and references for a paper"
    show.add_argument("--latex", action="store_true", help=latex)
    board = commands.add_parser("leaderboard", help="rank methods over data sets")
    diff.add_arguments(commands.add_parser("diff", help="compare two runs"))
    describe = commands.add_parser(
        "describe", help="print the settings of a data set that its table determines"
    )
    describe.set_defaults(handle=_describe)
    describe.add_argument("name", help="name of the data set")
    track = commands.add_parser("track", help="update MLflow from the result files")
    track.set_defaults(handle=_track)
    track.add_argument("results", help="folder of one experiment, or of several")
    publish = commands.add_parser("publish", help="publish a run in docs/results")
    publish.add_argument(
        "--with-failures", action="store_true", help="publish despite failed runs"
    )
    handles = {compare: run_compare, run: _run, show: _show, board: _leaderboard}
    handles[publish] = _publish
    for command, handle in handles.items():
        command.set_defaults(handle=handle)
        if command is not compare:
            experiment = (
                "name in conf/experiment (default: quickstart), or results/FOLDER"
            )
            command.add_argument(
                "experiment", nargs="?", default="quickstart", help=experiment
            )
        _add_settings(command)
    for command in (compare, run):
        command.add_argument("--cores", type=int, help="number of cores (default: all)")
        dry = "print Snakemake's command and jobs without running them"
        command.add_argument("--dry-run", action="store_true", help=dry)
    return parser, commands.choices


def _add_settings(command):
    command.add_argument(
        "overrides",
        nargs="*",
        default=[],  # without it, argparse calls them required
        help="settings, such as protocol.repeats=3",
    )
    command.add_argument(  # for --help; it is parsed with the settings
        ALLOW_OUTSIDE,
        action="store_true",
        help="allow results and data outside the project",
    )


def _selected(arguments, overrides, *, is_to_run=False):
    if any(override.startswith("experiment=") for override in overrides):
        return overrides
    name = arguments.experiment
    known, kept = comparison_of(name, ROOT), _of_results(name)
    chosen = known or kept if is_to_run else kept or known
    return [*(chosen or [f"experiment={name}"]), *overrides]


def _of_results(name):
    """Overrides of the run in a folder of results/, or of results that ``name=`` gave
    this name; [] if there are none.
    """
    import yaml

    is_folder = len(Path(name).parts) > 1
    kept = ROOT / ("" if is_folder else "results") / name / "run.yaml"
    if is_folder and not (kept.is_file() and kept.parents[1] == ROOT / "results"):
        sys.exit(
            f"{name} is not a folder with results: use a folder of results/, or the "
            "name of an experiment in conf/experiment"
        )
    is_known = not is_folder and (CONF / "experiment" / f"{name}.yaml").exists()
    if is_known or not kept.is_file():
        return []
    try:
        config = yaml.load(kept.read_text(encoding="utf-8"), yaml.CSafeLoader)
        chosen = ["experiment=" + config["experiment"], *config["overrides"]]
        "".join(chosen)  # raises a TypeError for other values than text
    except (yaml.YAMLError, LookupError, TypeError, ValueError) as error:
        sys.exit(f"{kept} is damaged ({one_line(str(error))}): name the experiment")
    folder = kept.parent.name.partition("~")[0]
    # A copied folder has another name than its run.
    return chosen + [f"name={folder}"] * (config.get("name", folder) != folder)


def _planned(arguments, overrides, *, is_to_run=False):
    from adakern_bench.config.plan import load_plan

    # Settings in a folder of results, which may be somebody else's, are not typed.
    selected = _selected(arguments, overrides, is_to_run=is_to_run)
    return load_plan(selected, typed=overrides, is_to_run=is_to_run)


def _check_finished(plan, file):
    """Exit with a message if the results of a plan do not contain a file."""
    if (plan.results / file).exists():
        return
    others = sorted(
        path.name for path in plan.results.parent.glob(f"{plan.results.name}~*")
    )
    said = (
        " There are results with other settings; to use them, repeat the settings: "
        f"{', '.join(others)}."
    )
    sys.exit(
        f"There are no results in {plan.results} yet. Run the experiment first: "
        f"adakern run {plan.config.experiment}.{said * bool(others)}"
    )


def _run(arguments, overrides):
    from adakern_bench.cli.run import run

    plan = _planned(arguments, overrides, is_to_run=True)
    return run(plan, arguments.cores, dry_run=arguments.dry_run)


def _describe(arguments, overrides):
    """Print the settings that a data set's table determines, for its YAML entry."""
    import yaml

    from adakern_bench.config.compose import load_config
    from adakern_bench.config.validate import check_places

    name = arguments.name
    if Path(name).is_file():
        sys.exit(
            f"{name} is a file, not the name of a data set: adakern compare {name} "
            "--target COLUMN --dry-run prints how its columns are read"
        )
    settings = [override for override in overrides if override != ALLOW_OUTSIDE]
    config = load_config([f"dataset=[{name}]", *settings])
    check_places(config, overrides)  # its file may contain an experiment
    if name not in config.dataset:
        sys.exit(f"{name} is not the name of a single data set of conf/dataset")
    openml.fill_in(config)
    entry = replace(config.dataset[name], **UNSTATED)
    table = load_table(
        name, entry, cache_dir=f"{config.data.cache}/raw", mirror=config.data.mirror
    )
    content = {key: value for key, value in table.content().items() if value}
    if table.provenance["source"] == "generated":
        del content["fingerprint"]
    print(yaml.safe_dump(content, sort_keys=False), end="")
    return 0


def _show(arguments, overrides):
    from adakern_bench.report.show import show, show_paper

    plan = _planned(arguments, overrides)
    if running := at_work(plan.results):
        print(running)
        if not (plan.results / "report.html").exists():
            return 0
    _check_finished(plan, "report.html")
    (show_paper if arguments.latex else show)(plan)
    return 0


def _leaderboard(arguments, overrides):
    from adakern_bench.report.compare import shared
    from adakern_bench.report.leaderboard import leaderboard
    from adakern_bench.report.tables import read_runs

    plan = _planned(arguments, overrides)
    _check_finished(plan, "records.parquet")
    runs = shared(read_runs(plan.results))
    for task, of_task in runs.groupby("task"):
        print(f"\n{task.capitalize()}")
        board = leaderboard(of_task, metric=plan.config.metric)
        # Published results are not ranked here.
        board = board.drop(columns=["task", "source", "rank_measured"])
        ratings = board.filter(like="elo").columns
        shown = board.to_string(
            index=False,
            float_format=partial(as_written, digits=4, zeros=True),
            formatters=dict.fromkeys(ratings, "{:.0f}".format),
        )
        print(shown)
    print(
        "\nelo: with 95 % interval; wins: data sets on which the method is best, ties "
        "shared; normalised_error: 0 is the best, 1 the median or worse"
    )
    print(
        "seconds: search and fit of one repeat on all data sets; on_front: no other "
        "method is better in both time and mean rank"
    )
    return 0


def _track(arguments, overrides):
    from adakern_bench.tracking.track import track

    results = arguments.started_in / arguments.results
    results = results if results.is_dir() else ROOT / arguments.results
    found = [results, *sorted(results.glob("*/"))]
    if not (folders := [folder for folder in found if (folder / "records").is_dir()]):
        sys.exit(
            f"{results} contains no records of an experiment; use a folder of results/"
        )
    for folder in folders:
        for link in links_out(folder):
            sys.exit(
                f"{link} is a symbolic link out of the results; replace it by a copy "
                "of its target"
            )
        try:
            n = track(folder)
        except (ValueError, OSError) as error:  # invalid records, unusable store
            sys.exit(str(error))
        written = f"{count(n.written, 'run')} written, {n.unchanged} up to date"
        print(f"{folder.name}: {written}, {n.removed} removed")
    return 0


def _publish(arguments, overrides):
    from adakern_bench.report.publish import publish

    plan = _planned(arguments, overrides)
    target = Path("docs/results") / plan.config.name
    publish(plan, target, arguments.with_failures)
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``adakern run``: run an experiment and print its comparison."""

import os
import shlex
from pathlib import Path

from adakern_bench.base.dotted import ALLOW_OUTSIDE
from adakern_bench.report.origin import in_one


def snakemake_config(overrides):
    """Configuration of Snakemake: the experiment, and other overrides as one text.

    >>> from adakern_bench.cli.run import snakemake_config
    >>> snakemake_config(["experiment=dank_uci", "dataset=[heart, sonar]"])
    {'experiment': 'dank_uci', 'overrides': 'dataset=[heart,sonar]'}
    """
    names = [o for o in overrides if o.startswith("experiment=")]
    others = [o for o in overrides if o not in (*names, ALLOW_OUTSIDE)]
    said = {"allow_outside": True} if ALLOW_OUTSIDE in overrides else {}
    return said | {
        "experiment": names[-1].partition("=")[2] if names else "quickstart",
        "overrides": in_one(others),
    }


def run(overrides, cores=None, *, dry_run=False):
    """Run an experiment in this folder and print its comparison.

    Returns the exit status. A dry run only prints Snakemake's command and its jobs.
    """
    from adakern_bench.config.plan import plan_from_snakemake
    from adakern_bench.report.show import show
    from adakern_bench.tracking.store import forget_lost

    config = snakemake_config(overrides)
    plan = plan_from_snakemake(
        config, config
    )  # errors of the configuration are reported in a sentence
    settings = [f"{key}={value}" for key, value in config.items()]
    arguments = ["--cores", str(cores or os.cpu_count()), "--config", *settings]
    if dry_run:
        print(shlex.join(["snakemake", *arguments]), flush=True)
        return _snakemake([*arguments, "--dry-run", "--quiet", "rules"])
    forget_lost(plan.results)
    if status := _snakemake(["--logger", "adakern", *arguments]):
        print(
            "Stopped. Finished jobs are kept: repeat the command to continue. "
            "Snakemake's own account is in .snakemake/log."
        )
        return status
    show(plan)
    return 0


def _snakemake(arguments):
    """Call Snakemake in this process; returns its exit status."""
    _find_cache()
    from snakemake.cli import args_to_api, parse_args
    from snakemake.exceptions import print_exception

    try:
        parser, settings = parse_args(arguments)
        # Its limit on started jobs a second wakes the scheduler once a second for each
        # job that ever ended: with a thousand jobs this process alone keeps a core
        # busy.
        settings.max_jobs_per_timespan = None
        return 0 if args_to_api(settings, parser) else 1
    except SystemExit as end:
        return int(end.code or 0)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        print_exception(error)
        return 1


def _find_cache():
    """Have caches beside the results where a home cannot be written, as on clusters."""
    named = os.environ.get("XDG_CACHE_HOME")
    cache = Path(named) if named else Path("~/.cache").expanduser()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        if os.access(cache, os.W_OK):
            return
    except OSError:
        pass
    os.environ["XDG_CACHE_HOME"] = str(Path(".snakemake/cache").absolute())

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


def settings_of(overrides, **limits):
    """The same as words of Snakemake's command line, with limits of this one call."""
    config = snakemake_config(overrides) | limits
    return [f"{key}={value}" for key, value in config.items()]


def planned(overrides):
    """The plan, composed once for this process; a wrong configuration is told."""
    from adakern_bench.config.plan import plan_from_snakemake

    config = snakemake_config(overrides)
    return plan_from_snakemake(config, config)


def run(overrides, cores=None, *, dry_run=False, **limits):
    """Run an experiment in this folder and print its comparison.

    Returns the exit status. A dry run only prints Snakemake's command and its jobs.
    `limits` are when fits end, and how many batches of repeats are run.
    """
    from adakern_bench.report.show import show
    from adakern_bench.tracking.store import forget_lost

    plan = planned(overrides)
    arguments = ["--cores", str(cores or os.cpu_count()), "--config"]
    arguments += settings_of(overrides, **limits)
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

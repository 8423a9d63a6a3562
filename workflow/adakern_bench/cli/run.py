"""``adakern run``: run an experiment and print its comparison."""

import os
import shlex
import tempfile
from pathlib import Path

from adakern_bench.base.locks import claim
from adakern_bench.config.run import write_run
from adakern_bench.report.origin import selection


def started(plan):
    """Write the file of a run, and return Snakemake's arguments that name it."""
    with claim(plan.results, wait=False):  # not while another run reads it
        return ["--config", f"run={write_run(plan)}"]


def run(plan, cores=None, *, dry_run=False):
    """Run an experiment in this folder, print its comparison, return the exit status.

    A dry run only prints Snakemake's command and its jobs.
    """
    from adakern_bench.report.show import show
    from adakern_bench.tracking.store import forget_lost

    on = ["--cores", str(cores or os.cpu_count())]
    if dry_run:
        print(shlex.join(["snakemake", *on, *selection(plan)]), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            told = f"run={write_run(plan, Path(folder, 'run.yaml'))}"
            dry = ["--dry-run", "--quiet", "rules"]
            return _snakemake([*on, "--config", told, *dry])
    forget_lost(plan.results)
    if status := _snakemake(["--logger", "adakern", *on, *started(plan)]):
        print(
            "Stopped. Finished jobs are kept: repeat the command to continue. "
            "Snakemake's log is in .snakemake/log."
        )
        return status
    show(plan)
    return 0


def _snakemake(arguments):
    """Call Snakemake in this process and return its exit status."""
    _find_cache()
    from snakemake.cli import args_to_api, parse_args
    from snakemake.exceptions import print_exception

    try:
        parser, settings = parse_args(arguments)
        # To limit the jobs started per second, Snakemake wakes its scheduler once a
        # second for each finished job: with a thousand jobs this keeps a core busy.
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
    """Use a cache in the project if that in the home folder is not writable, as on
    some clusters.
    """
    named = os.environ.get("XDG_CACHE_HOME")
    cache = Path(named) if named else Path("~/.cache").expanduser()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        if os.access(cache, os.W_OK):
            return
    except OSError:
        pass
    os.environ["XDG_CACHE_HOME"] = str(Path(".snakemake/cache").absolute())

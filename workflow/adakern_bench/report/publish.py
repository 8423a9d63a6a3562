"""Keep what a full run measured in ``docs/results/<experiment>/``.

    python -m adakern_bench.report.publish experiment=dank_uci

Copies the report, tables and figures of a finished run and writes where they come from
and the command that makes them again; a table of more than 4 MiB (the pairs of a sweep
of fifty points on twenty sets) is compressed. Nothing there is written by hand. A run
that is not complete, has solves without a result or comes from a tree with changes
that no commit holds is refused; ``--with-failures`` publishes solves without a result.
"""

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from adakern._utils.files import atomic_path, write_json
from adakern_bench.config.compose import ConfigError
from adakern_bench.config.plan import load_plan
from adakern_bench.records.dotted import ALLOW_OUTSIDE
from adakern_bench.records.machine import machine, package_versions
from adakern_bench.report.origin import CODE, git, in_one, make_command

__all__ = ["PublishError", "log_run", "main", "publish"]

KEPT = (
    *("report.html", "config.yaml", "summary.csv", "ttest.csv", "ranks.csv"),
    "published.csv",
)

#: Bytes of a table from which on it is kept compressed.
LARGE = 4 * 2**20


class PublishError(RuntimeError):
    """A run that is not fit to be published; the message says what is missing."""


def publish(plan, target, with_failures=False):
    """Copy an experiment's results to ``target`` and record their origin.

    Parameters
    ----------
    plan : Plan
        The whole experiment.
    target : Path
        Folder to write to.
    with_failures : bool, default=False
        Whether solves that failed may be published.

    Raises
    ------
    PublishError
        With everything that is missing, one a line.
    """
    missing = [*_uncommitted(), *_not_done(plan)]
    if not missing and not with_failures:
        missing = list(_without_result(plan))
    if missing:
        listed = "\n".join(f"  - {line}" for line in missing)
        raise PublishError(f"{plan.results} cannot be published:\n{listed}")
    origin = provenance(plan)  # before the tree is changed by the copies
    # Beside it, so that who is stopped on the way leaves the old folder whole.
    new, old = (target.with_name(f".{target.name}-{age}") for age in ("new", "old"))
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
    shown = [f"figures/{name}.svg" for name in plan.figures()]
    shown += [f"tables/{name}.csv" for name in plan.tables()]
    for name in [*KEPT, *shown]:
        if (plan.results / name).exists():
            _keep(plan.results / name, new / name)
    write_json(new / "provenance.json", origin)
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _keep(made, kept):
    if made.suffix == ".csv" and made.stat().st_size > LARGE:
        with atomic_path(kept.with_name(f"{kept.name}.gz")) as path:
            # No time stamp: the same table gives the same file.
            path.write_bytes(gzip.compress(made.read_bytes(), mtime=0))
        return
    with atomic_path(kept) as path:
        shutil.copyfile(made, path)


def _uncommitted():
    changes = git("status", "--porcelain", "--", *CODE)
    if changes is None:
        yield "this is no git repository: no commit says which code was run"
    elif changes:
        yield f"not committed: {', '.join(line[3:] for line in changes.splitlines())}"


def _not_done(plan):
    """What Snakemake would still do for the report."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1"]
    command += [str(plan.results / "report.html"), *_selection(plan)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        yield f"snakemake cannot say what is missing:\n{run.stdout}{run.stderr}"
        return
    _, _, stats = f"{run.stdout}\n{run.stderr}".partition("Job stats:")
    rows = [line.split() for line in stats.partition("\ntotal")[0].splitlines()]
    jobs = [f"{row[1]} x {row[0]}" for row in rows if row and row[-1].isdigit()]
    if jobs:
        yield (
            f"still to be done: {', '.join(jobs)}; first: "
            + make_command(plan.config.experiment, plan.config.overrides)
        )


def _without_result(plan):
    if not plan.cells:
        return
    records = _records(plan)
    failed = records[records["status"] != "ok"].groupby(["dataset", "method"])
    for (dataset, method), solves in failed:
        yield (
            f"{dataset} / {method}: {len(solves)} solves without a result "
            f"({solves['reason'].iloc[0]}); mend that, leave it out, or publish it so "
            "with --with-failures"
        )


def _records(plan):
    import pandas as pd

    return pd.read_parquet(plan.results / "records.parquet")


def _selection(plan):
    chosen = ["--config", f"experiment={plan.config.experiment}"]
    said = list(plan.config.overrides)
    if ALLOW_OUTSIDE in said:
        said.remove(ALLOW_OUTSIDE)
        chosen.append("allow_outside=true")
    overrides = in_one(said)
    return [*chosen, f"overrides={overrides}"] if overrides else chosen


def log_run(results, started, cores):
    """Append how long one call of the workflow took to ``runs.jsonl``.

    Parameters
    ----------
    results : Path
        Folder of the results.
    started : float
        Seconds since the epoch.
    cores : int
        Jobs at a time.
    """
    if not results.exists():
        return
    line = {"start": started, "seconds": max(0.0, time.time() - started), "cores": cores}
    with open(results / "runs.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _wall_seconds(results):
    path = results / "runs.jsonl"
    if not path.exists():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    return round(sum(json.loads(line)["seconds"] for line in lines), 1)


def provenance(plan):
    """Command, commit, versions, machine, date and time spent.

    Parameters
    ----------
    plan : Plan
        The whole experiment.
    """
    facts = {
        "experiment": plan.config.experiment,
        "overrides": plan.config.overrides,
        "command": shlex.join(
            ["snakemake", "--cores", str(os.cpu_count()), *_selection(plan)]
        ),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        "commit": git("rev-parse", "HEAD"),
        "wall_seconds": _wall_seconds(plan.results),
    }
    if not plan.cells:
        return facts | {"versions": package_versions()}
    records = _records(plan)
    versions = [c for c in records if c.startswith("version_")]
    seconds = records[["fit_seconds", "predict_seconds"]].sum().sum()
    return facts | {
        "versions": {c.removeprefix("version_"): records[c].iloc[0] for c in versions},
        "repeats": int(records["repeat"].nunique()),
        "solves": len(records),
        "solves_without_result": int((records["status"] != "ok").sum()),
        "solve_seconds": round(float(seconds), 1),
    }


def main(argv=None):
    """Command line.

    Parameters
    ----------
    argv : list of str, default=None
        Of the command line; sys.argv when None.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    with_failures = "--with-failures" in arguments
    overrides = [a for a in arguments if a != "--with-failures"]
    try:
        plan = load_plan(overrides)
        target = Path("docs/results") / plan.config.name
        publish(plan, target, with_failures)
    except (ConfigError, PublishError) as error:
        sys.exit(str(error))
    print(target)


if __name__ == "__main__":
    main()

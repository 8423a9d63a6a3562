"""Publish the results of a finished run in ``docs/results/<experiment>/``.

    adakern publish dank_uci

This copies the records, tables and figures, makes those for a paper, and records their
provenance and the command that reproduces them. Large tables are compressed; pages are
rendered from them when the documentation is built. Nothing in these folders is edited
manually. Runs are refused if they are incomplete, have failures (unless
``--with-failures`` is given), or come from several commits or uncommitted files. If
files were committed only after the run, and Snakemake would repeat no job with them,
the provenance names the later commit and says so.
"""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime

import pandas as pd

from adakern._utils.files import write_json
from adakern._utils.wording import count
from adakern_bench.base.plain_text import bullets
from adakern_bench.config.compose import ConfigError
from adakern_bench.records.machine import (
    UNCOMMITTED,
    commit,
    machine,
    package_versions,
    uncommitted,
)
from adakern_bench.records.read import nested
from adakern_bench.report.origin import make_command, selection
from adakern_bench.report.paper import write_paper

#: File of the results -> its name in the published folder.
KEPT = {"run.yaml": "config.yaml", "records.parquet": "records.parquet"}
KEPT |= {f"{t}.csv": f"{t}.csv" for t in ("summary", "ttest", "ranks", "published")}

#: Note on runs whose files were committed later.
_LATER = (
    "The runs were made before their files were committed; with this commit, none of "
    "them would be run again."
)

#: Size in bytes above which a table is compressed.
LARGE = 2**16


def publish(plan, target, with_failures=False):
    """Copy the results of an experiment to `target` with their provenance."""
    missing = list(_not_done(plan))
    records = None
    if not missing and plan.cells:
        records = pd.read_parquet(plan.results / "records.parquet")
        missing = [] if with_failures else list(_failed(records))
    missing = missing or list(_several_commits(plan, records))
    if missing:
        raise ConfigError(f"{plan.results} cannot be published:\n{bullets(missing)}")
    # Written to a sibling folder, so that an interruption leaves the old one intact.
    new, old = (target.with_name(f".{target.name}-{age}") for age in ("new", "old"))
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
    shown = [f"figures/{name}.svg" for name in plan.figures()]
    shown += [f"tables/{name}.csv" for name in plan.tables()]
    for name, kept in (KEPT | dict(zip(shown, shown, strict=True))).items():
        if (plan.results / name).exists():
            _keep(plan.results / name, new / kept)
    if records is not None:
        write_paper(plan.results, asdict(plan.config), new / "paper")
    write_json(new / "provenance.json", provenance(plan, records))
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _keep(made, kept):
    kept.parent.mkdir(parents=True, exist_ok=True)
    if made.suffix == ".csv" and made.stat().st_size > LARGE:
        # Without a time stamp, so that the same table gives the same file.
        kept.with_name(f"{kept.name}.gz").write_bytes(
            gzip.compress(made.read_bytes(), mtime=0)
        )
    else:
        shutil.copyfile(made, kept)


def _commits(plan, records):
    """Commit of each record or, without records, of each call of the workflow."""
    if records is not None:
        return records.reindex(columns=["commit"])["commit"].fillna("unknown")
    return pd.Series([call.get("commit", "unknown") for call in _calls(plan.results)])


def _several_commits(plan, records):
    ran = _commits(plan, records).value_counts()
    named = ", ".join(f"{name[:50]} ({n})" for name, n in ran.items())
    if len(ran) != 1 or "unknown" in ran:
        yield (
            "all runs must come from one commit without uncommitted changes, but they "
            f"come from {named or 'no known commit'}; remove {plan.results} and run "
            "the experiment again"
        )
    elif ran.index[0].endswith(UNCOMMITTED) and (files := uncommitted()):
        more = f" and {len(files) - 5} more" * (len(files) > 5)
        yield (
            f"the runs depend on uncommitted files: {', '.join(files[:5])}"
            f"{more}. Commit them (git add, git commit) and publish again; no run is "
            "repeated"
        )


def _not_done(plan):
    """Yield a problem if Snakemake would still run jobs for the report."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1"]
    command += [str(plan.results / "report.html"), *selection(plan)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        yield f"snakemake cannot list the missing jobs:\n{run.stdout}{run.stderr}"
        return
    # Snakemake prints the jobs twice.
    counts = dict(re.findall(r"^(\w+) +(\d+)$", run.stdout + run.stderr, re.MULTILINE))
    if jobs := [f"{n} x {rule}" for rule, n in counts.items() if rule != "total"]:
        yield (
            f"not all jobs have been run ({', '.join(jobs)}); first run "
            + make_command(plan.config.experiment, plan.config.overrides)
        )


def _failed(records):
    failed = records[records["status"] != "ok"].groupby(["dataset", "method"])
    for (dataset, method), runs in failed:
        yield (
            f"{dataset} / {method}: {count(len(runs), 'failed run')} "
            f"({runs['reason'].iloc[0]}); "
            "fix the cause, remove the method, or use --with-failures"
        )


def _calls(results):
    path = results / "runs.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def provenance(plan, records):
    """Command, commit, versions, machine, date and time of a run."""
    wall = [call["seconds"] for call in _calls(plan.results)]
    ran = _commits(plan, records).iloc[0]
    later = {"note": _LATER} if ran.endswith(UNCOMMITTED) else {}
    facts = {
        "experiment": plan.config.experiment,
        "overrides": plan.config.overrides,
        "command": shlex.join(
            ["snakemake", "--cores", str(os.cpu_count()), *selection(plan)]
        ),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": machine(),
        "commit": commit() if later else ran,
        **later,
        "wall_seconds": round(sum(wall), 1) if wall else None,
        "versions": package_versions(),
    }
    if records is not None:
        facts |= {
            "versions": nested(records, "version").iloc[0].to_dict(),
            "repeats": int(records["repeat"].nunique()),
            "runs": len(records),
            "failed_runs": int((records["status"] != "ok").sum()),
        }
    return facts

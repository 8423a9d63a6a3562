"""Keep what a full run measured in ``docs/results/<experiment>/``.

    python -m adakern.bench.report.publish experiment=dank_uci

Copies the tables and figures of a finished run and writes where they come from. Nothing
in that folder is written by hand.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from adakern._utils.files import atomic_path, write_json
from adakern.bench.config.compose import ConfigError
from adakern.bench.config.plan import load_plan
from adakern.bench.runtime.versions import package_versions

__all__ = ["log_run", "main", "publish"]

#: What the numbers depend on.
CODE = ("Snakefile", "workflow", "src", "conf", "requirements")

KEPT = ("summary.csv", "ttest.csv", "ranks.csv", "published.csv", "config.yaml")


def publish(plan, target):
    """Copy an experiment's results to ``target`` and record their origin.

    Raises
    ------
    FileNotFoundError
        If the run is not finished.
    """
    if not (plan.results / "report.html").exists():
        raise FileNotFoundError(
            f"{plan.results} holds no finished run; first: "
            f"make run EXPERIMENT={plan.config.name}"
        )
    origin = provenance(plan)  # before the tree is changed by the copies
    if target.exists():
        shutil.rmtree(target)
    own = [*plan.figures(), *plan.tables()]
    for source in [*(plan.results / name for name in KEPT), *own]:
        if source.exists():
            with atomic_path(target / source.relative_to(plan.results)) as path:
                shutil.copyfile(source, path)
    write_json(target / "provenance.json", origin)


def log_run(results, started, cores):
    """Append how long one call of the workflow took to ``runs.jsonl``."""
    if not started or not results.exists():
        return
    line = {"start": started[0], "seconds": time.time() - started[0], "cores": cores}
    with open(results / "runs.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _wall_seconds(results):
    path = results / "runs.jsonl"
    if not path.exists():
        return None
    lines = path.read_text(encoding="utf-8").splitlines()
    return round(sum(json.loads(line)["seconds"] for line in lines), 1)


def provenance(plan):
    """Commit, versions, cores, date and time spent."""
    facts = {
        "experiment": plan.config.name,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "cores": os.cpu_count(),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--", *CODE)),
        "wall_seconds": _wall_seconds(plan.results),
    }
    if not plan.cells:
        return facts | {"versions": package_versions()}
    import pandas as pd

    records = pd.read_parquet(plan.results / "records.parquet")
    versions = [c for c in records if c.startswith("version_")]
    seconds = records[["fit_seconds", "predict_seconds"]].sum().sum()
    return facts | {
        "versions": {c.removeprefix("version_"): records[c].iloc[0] for c in versions},
        "repeats": int(records["repeat"].nunique()),
        "solves": len(records),
        "solves_without_result": int((records["status"] != "ok").sum()),
        "solve_seconds": round(float(seconds), 1),
    }


def _git(*arguments):
    command = ["git", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def main():
    """Command line."""
    try:
        plan = load_plan(sys.argv[1:])
        target = Path("docs/results") / plan.config.name
        publish(plan, target)
    except (ConfigError, FileNotFoundError) as error:
        sys.exit(str(error))
    print(target)


if __name__ == "__main__":
    main()

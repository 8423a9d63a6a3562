"""Kill runs at random times and check that they recover as documented: ``make kills``.

    python tools/kills.py [--kills 30] [--table PAGE]

In each run of a small experiment, one process is killed by SIGKILL: Snakemake itself, a
job, the worker that fits, or the job that writes to the tracker. The command is then
repeated as documented. Except for times and memory use, tables, splits, searches,
records, comparisons and the content of the tracker must be equal, byte for byte, to
those of an undisturbed run. Two undisturbed runs are compared first.
"""

import argparse
import json
import os
import random
import re
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import psutil

from campaign import write_table
from project import TUNED, Project, without_measured

VICTIMS = ("main process", "job", "worker", "tracker")
#: Parts of the names of quantities that differ between any two runs.
MEASURED = ("second", "memory_bytes", "started_at")
OVERRIDES = (
    "method=[plain,tuned] tracking.enabled=true tracking.uri=sqlite:///mlflow.db"
)


def main():
    """Kill runs, let them recover, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--table", type=Path, help="page to write the table into")
    options = parser.parse_args()
    draw, tried, right = random.Random(0), Counter(), Counter()
    start = time.monotonic()
    with _project() as project:
        expected = _outcome_of_command(project)
    whole = time.monotonic() - start
    with _project() as project:
        if differ := _differ(expected, _outcome_of_command(project)):
            sys.exit(f"even two undisturbed runs differ: {differ}")
    for number in range(options.kills):
        victim = VICTIMS[number % len(VICTIMS)]
        at, hit = whole, ""
        while not hit:
            at = draw.uniform(0, at)  # earlier if no such process ran at this time
            with _project() as project:
                if hit := killed(project, victim, at):
                    differ = _differ(expected, _outcome_of_command(project))
        tried[victim] += 1
        right[victim] += not differ
        ending = f"differs: {differ}" if differ else "as undisturbed"
        print(f"{number + 1:3} {victim:13} {hit}  {ending}", flush=True)
    lines = ["| killed | landed | mended, byte for byte |", "|---|---:|---:|"]
    lines += [f"| {v} | {tried[v]} | {right[v]} |" for v in VICTIMS]
    table = "\n".join(lines)
    print(table)
    if options.table:
        write_table(options.table, "kills", table)
    sys.exit(right != tried)


@contextmanager
def _project():
    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder)
        project.add_classifier("tuned", TUNED)
        yield project


def _outcome_of_command(project):
    """Content after the documented recovery, which is to repeat the command."""
    run = project.start(overrides=OVERRIDES)
    failed = run.process.wait(3600)
    return {"output": run.output[-2000:]} if failed else outcome(project)


def _differ(expected, found):
    """Names of the files that differ, or the output of a failed run."""
    names = sorted(k for k in expected | found if expected.get(k) != found.get(k))
    return found.get("output", names)


def killed(project, victim, seconds):
    """Start a run and kill one process; return when and which, or "" if none."""
    run = project.start(overrides=OVERRIDES)
    start = time.monotonic()
    try:
        while time.monotonic() < start + seconds or not _kill_one(run, victim):
            if run.returncode is not None:
                return ""
            time.sleep(0.02)
        at = time.monotonic() - start
        run.process.wait(3600)  # its remaining processes must end by themselves
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(run.process.pid, signal.SIGKILL)
        raise
    lost = set(re.findall(r"Error in rule (\w+)", run.output))
    of = "Snakemake" if victim == "main process" else ", ".join(sorted(lost))
    return f"after {at:4.1f} s, {of or 'the run goes on'}"


def _is_script(process):
    """Whether a process runs the script of a rule."""
    return "/.snakemake/scripts/" in process.cmdline()[-1]


def _kind(process):
    if not _is_script(process):
        return None
    if _is_script(process.parent()):
        return "worker"
    return (
        "tracker" if any("mlflow.db" in f.path for f in process.open_files()) else "job"
    )


def _kill_one(run, victim):
    """Kill the first process of a kind; return whether there was one."""
    with suppress(psutil.Error, IndexError, AttributeError):  # the process has ended
        main = psutil.Process(run.process.pid)
        below = main.children(recursive=True)
        found = (
            [main]
            if victim == "main process"
            else (p for p in below if _kind(p) == victim)
        )
        for process in found:
            process.kill()
            return True
    return False


def outcome(project):
    """Content of every file of a run, without quantities that differ between runs."""
    results = project.root / "results" / "small"
    tables = project.root / "data" / "tables"
    found = {"tracker": _tracked(project.root / "mlflow.db")}
    for path in [*results.rglob("*"), *tables.glob("*.npz")]:
        if path.suffix == ".json" and path.name != "track.json":
            content = _unmeasured(json.loads(path.read_text()))
        elif path.suffix == ".npz":
            with np.load(path) as stored:
                content = {key: stored[key].tobytes() for key in stored.files}
        elif path.suffix == ".csv":
            content = without_measured(path.read_text())
        elif path.suffix == ".yaml":
            content = path.read_bytes()
        else:  # the report, which shows times; logs; copies of the records
            continue
        found[str(path.relative_to(project.root))] = content
    return found


def _unmeasured(content):
    if isinstance(content, list):
        return [_unmeasured(entry) for entry in content]
    if isinstance(content, dict):
        return {k: _unmeasured(v) for k, v in content.items() if not _is_measured(k)}
    return content


def _is_measured(name):
    return any(part in name for part in MEASURED)


def _tracked(database):
    """Key, parameters and metrics of every finished run in the tracker."""
    query = """
        select t.value, v.key, v.value
        from runs r join tags t using (run_uuid) join (
            select run_uuid, key, value from params
            union all select run_uuid, key, value from metrics
        ) v using (run_uuid)
        where r.lifecycle_stage = 'active' and r.status = 'FINISHED'
        and t.key = 'adakern.key'
    """
    with sqlite3.connect(database) as connection:
        rows = connection.execute(query).fetchall()
    return sorted(map(str, (row for row in rows if not _is_measured(row[1]))))


if __name__ == "__main__":
    main()

"""Kills at random times, and whether the documented command mends them: ``make kills``.

    python tests/kills.py [--kills 30] [--minutes 60] [--seed 0] [--table PAGE]

Each run of a small experiment loses one process to SIGKILL: Snakemake itself, a job,
the worker that fits, or the job that writes to the tracker. It is then called again as
the documentation says, and everything but times and the memory used must be, byte for
byte, what an undisturbed run wrote: tables, splits, searches, records, comparisons and
what the tracker holds. Two undisturbed runs are compared first.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from campaign import write_table
from project import TUNED, Project, without_measured

VICTIMS = ("main process", "job", "worker", "tracker")
#: Parts of the names of what no two runs share.
MEASURED = ("second", "memory_bytes", "started_at")
OVERRIDES = "method=[plain,tuned] tracking.enabled=true tracking.uri=sqlite:///mlflow.db"


def main():
    """Kill, mend, compare."""
    options = _options()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        start = time.monotonic()
        expected = _outcome_of_command(_project(root / "undisturbed"))
        whole = time.monotonic() - start
        if differ := _differ(expected, _outcome_of_command(_project(root / "again"))):
            sys.exit(f"two undisturbed runs differ already: {differ}")
        tried, right = Counter(), Counter()
        deadline = time.monotonic() + 60 * options.minutes
        for number in range(options.kills):
            if time.monotonic() > deadline:
                print(f"the time is over after {number} of {options.kills} kills")
                break
            victim = VICTIMS[number % len(VICTIMS)]
            at = draw.uniform(0, whole)
            project = _project(root / f"{number}")
            while not (hit := killed(project, victim, at)):
                at = draw.uniform(0, at)  # none lived so late in the run
                shutil.rmtree(project.root)
                project = _project(project.root)
            differ = _differ(expected, _outcome_of_command(project))
            shutil.rmtree(project.root)
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


def _options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", type=Path, help="page to write the table into")
    return parser.parse_args()


def _project(root):
    root.mkdir()
    project = Project(root)
    project.write("conf/method/tuned.yaml", TUNED)
    return project


def _outcome_of_command(project):
    """What there is after the documented way back, which is the same command."""
    run = project.run(overrides=OVERRIDES, timeout=3600)
    if run.returncode:
        return {"exit status": run.returncode, "output": run.output[-2000:]}
    return outcome(project)


def _differ(expected, found):
    return {k: found.get(k) for k in expected | found if expected.get(k) != found.get(k)}


def killed(project, victim, seconds):
    """Start a run and kill one process; which and when, empty if there was none."""
    run = project.start(overrides=OVERRIDES)
    start = time.monotonic()
    try:
        while run.returncode is None:
            found = None
            if time.monotonic() > start + seconds:
                found = _find(run, victim)
            if found is not None:
                with suppress(psutil.NoSuchProcess):
                    found.kill()
                    break
            time.sleep(0.02)
        else:
            return ""
        at = time.monotonic() - start
        run.process.wait(3600)  # what it leaves behind has to end by itself
        lost = set(re.findall(r"Error in rule (\w+)", run.output))
        of = "Snakemake" if victim == "main process" else ", ".join(sorted(lost))
        return f"after {at:4.1f} s, {of or 'the run goes on'}"
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(run.process.pid, signal.SIGKILL)
        raise


def _is_script(process):
    """Whether it runs the script of a rule."""
    return "/.snakemake/scripts/" in process.cmdline()[-1]


def _find(run, victim):
    if victim == "main process":
        return psutil.Process(run.process.pid)
    with suppress(psutil.Error, IndexError, AttributeError):  # it has just ended
        for process in psutil.Process(run.process.pid).children(recursive=True):
            if not _is_script(process):
                continue
            of_a_stage = _is_script(process.parent())
            writes = any("mlflow.db" in file.path for file in process.open_files())
            kind = "worker" if of_a_stage else "tracker" if writes else "job"
            if kind == victim:
                return process
    return None


def outcome(project):
    """Digest of every file that a run leaves, without what no two runs share."""
    results = project.root / "results" / "small"
    tables = project.root / "data" / "tables"
    found = {"tracker": _tracked(project.root / "mlflow.db")}
    for path in [*results.rglob("*"), *tables.glob("*.npz")]:
        if path.suffix == ".json" and "track" not in path.parts:
            content = json.dumps(_unmeasured(json.loads(path.read_text()))).encode()
        elif path.suffix == ".npz":
            with np.load(path) as stored:
                content = b"".join(stored[key].tobytes() for key in stored.files)
        elif path.suffix == ".csv":
            content = repr(without_measured(path.read_text())).encode()
        elif path.suffix == ".yaml":
            content = path.read_bytes()
        else:  # the report shows times; logs; the parquet file says what records say
            continue
        name = str(path.relative_to(project.root))
        found[name] = hashlib.sha256(content).hexdigest()
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
    """Of every finished run of the tracker: its key, its parameters, its metrics."""
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

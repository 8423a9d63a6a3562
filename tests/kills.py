"""Kills at random times, and whether the documented command mends them: ``make kills``.

    python tests/kills.py [--kills 30] [--minutes 60] [--seed 0] [--table PAGE]

Each run of a small experiment loses one process to SIGKILL: Snakemake itself, a job,
the worker that fits, or the job that writes to the tracker. It is then called again as
the documentation says, and everything but times and the memory used must be, byte for
byte, what an undisturbed run wrote.
"""

import argparse
import hashlib
import json
import os
import random
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
from project import Project, without_measured

VICTIMS = ("main process", "job", "worker", "tracker")
MEASURED = {"fit_seconds", "predict_seconds", "search_seconds", "peak_memory_bytes"}
OVERRIDES = (
    "method=[plain,tuned] tracking.enabled=true tracking.uri=sqlite:///mlflow.db"
)
TUNED = """\
# @package method.tuned
classifier:
  estimator: {_target_: sklearn.svm.SVC}
  grid: {C: [0.5, 2.0]}
"""


def main():
    """Kill, mend, compare."""
    options = _options()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        start = time.monotonic()
        expected = outcome(_mended(_project(root / "undisturbed")))
        whole = time.monotonic() - start
        tried, right = Counter(), Counter()
        deadline = time.monotonic() + 60 * options.minutes
        for number in range(options.kills):
            if time.monotonic() > deadline:
                print(f"the time is over after {number} of {options.kills} kills")
                break
            victim = VICTIMS[number % len(VICTIMS)]
            landed = False
            for attempt in range(3):  # what ended before it was hit is started anew
                project = _project(root / f"{number}-{attempt}")
                at = draw.uniform(0, whole) if attempt == 0 else 0.0
                if landed := killed(project, victim, at):
                    break
            found = outcome(_mended(project))
            shutil.rmtree(project.root)
            differ = [k for k in expected | found if expected.get(k) != found.get(k)]
            tried[victim] += landed
            right[victim] += landed and not differ
            ending = f"differs: {differ}" if differ else "as undisturbed"
            print(f"{number + 1:3} {victim:13} landed: {landed}  {ending}", flush=True)
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


def _mended(project):
    """The documented way back: the same command."""
    run = project.run(overrides=OVERRIDES, timeout=3600)
    if run.returncode:
        sys.exit(f"the run could not be mended:\n{run.output}")
    return project


def killed(project, victim, seconds):
    """Start a run and kill; whether there was such a process to kill."""
    run = project.start(overrides=OVERRIDES)
    try:
        deadline = time.monotonic() + seconds
        while run.returncode is None:
            found = _find(run, victim) if time.monotonic() > deadline else None
            if found is not None:
                with suppress(psutil.NoSuchProcess):
                    found.kill()
                    break
            time.sleep(0.02)
        else:
            return False
        run.process.wait(3600)  # what it leaves behind has to end by itself
        return True
    except BaseException:
        with suppress(ProcessLookupError):
            os.killpg(run.process.pid, signal.SIGKILL)
        raise


def _find(run, victim):
    if victim == "main process":
        return psutil.Process(run.process.pid)
    with suppress(psutil.Error, IndexError):
        for process in psutil.Process(run.process.pid).children(recursive=True):
            if not process.cmdline()[-1].endswith("stage.py"):
                continue
            of_a_stage = process.parent().cmdline()[-1].endswith("stage.py")
            writes = any("mlflow.db" in file.path for file in process.open_files())
            kind = "worker" if of_a_stage else "tracker" if writes else "job"
            if kind == victim:
                return process
    return None


def outcome(project):
    """Digest of every file that a run leaves, without what no two runs share."""
    results = project.root / "results" / "small"
    found = {}
    for path in sorted(results.rglob("*")):
        name = str(path.relative_to(results))
        if path.suffix == ".json" and name.startswith(("records", "search")):
            content = json.dumps(
                [
                    {k: v for k, v in entry.items() if k not in MEASURED}
                    for entry in json.loads(path.read_text())
                ]
            ).encode()
        elif path.suffix == ".npz":
            with np.load(path) as stored:
                content = b"".join(stored[key].tobytes() for key in stored.files)
        elif path.suffix == ".csv":
            content = repr(without_measured(path.read_text())).encode()
        else:
            continue
        found[name] = hashlib.sha256(content).hexdigest()
    found["tracker"] = _tracked(project.root / "mlflow.db")
    return found


def _tracked(database):
    """Runs of the tracker that are finished, with the names of their metrics."""
    query = (
        "select count(distinct r.run_uuid), count(*) from runs r join metrics m "
        "on m.run_uuid = r.run_uuid where r.lifecycle_stage = 'active' "
        "and r.status = 'FINISHED'"
    )
    with sqlite3.connect(database) as connection:
        return connection.execute(query).fetchone()


if __name__ == "__main__":
    main()

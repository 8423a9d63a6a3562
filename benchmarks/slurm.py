"""Overhead of small jobs on a real SLURM cluster.

    python benchmarks/slurm.py [--jobs 1000] [--group 8]

Starts a cluster of this machine (tests/install_debian.sh installs SLURM) and runs an
experiment of that many fits: with one fit per SLURM job, with these jobs in arrays, and
in groups. Prints the seconds per fit, the processor seconds that SLURM accounts for it,
and the requests to the scheduler per minute, also relative to one fit per job. Fits
take milliseconds, so the overhead of a job is measured.
"""

import re
import sys
import tempfile
import time
from pathlib import Path

import yaml

import timing

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from project import Project
from slurm import Cluster, reason_to_skip


def main():
    """Measure and print."""
    parser = timing.parser(__doc__, "16 jobs")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--group", type=int, default=8)
    options = parser.parse_args()
    if reason_to_skip():
        print(f"skipped: {reason_to_skip()}")
        return
    jobs = 16 if options.quick else options.jobs
    found = {
        "alone": measure(jobs),
        "in arrays": measure(jobs, arrays=True),
        f"by {options.group}": measure(jobs, group=options.group),
    }
    print(f"{'':28}" + "".join(f"{how:>12}" for how in found))
    for name, alone in found["alone"].items():
        values = [measured[name] for measured in found.values()]
        print(f"{name:28}" + "".join(f"{value:12.3g}" for value in values))
        print(f"{'  to alone':28}" + "".join(f"{v / alone:12.2f}" for v in values))


def measure(jobs, group=1, arrays=False):
    """Run this many fits, and measure their times and the load of the scheduler."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "cluster").mkdir()
        (root / "project").mkdir()
        with Cluster(root / "cluster") as cluster:
            project = Project(root / "project")
            project.environment |= cluster.environment
            profile = project.root / "profiles/slurm/config.yaml"
            settings = yaml.safe_load(profile.read_text())
            if group > 1:
                settings["group-components"] = [f"cells={group}"]
            else:
                del settings["groups"], settings["group-components"]
            profile.write_text(yaml.safe_dump(settings))
            project.profile = ["--workflow-profile", "profiles/slurm"]
            asked = count_requests(cluster)
            start = time.monotonic()
            how = ["--slurm-array-jobs", "all"] if arrays else []
            # Each repeat is a separate job, without batches.
            project.solve(
                *how,
                overrides=f"protocol.repeats={jobs} jobs.batch_rows=0 method=[plain]",
                timeout=24 * 3600,
            )
            seconds = time.monotonic() - start
            requests = count_requests(cluster) - asked
            submitted = len(cluster.jobs())
            processor = cluster.processor_seconds()
    return {
        "solves": jobs,
        "SLURM jobs": submitted,
        "seconds per solve": seconds / jobs,
        "of the processor": processor / jobs,
        "seconds per SLURM job": seconds / submitted,
        "requests a minute": 60 * requests / seconds,
    }


def count_requests(cluster):
    """Number of remote procedure calls that the controller has answered so far."""
    told = (
        cluster.says("sdiag")
        .partition("by message type")[2]
        .strip()
        .partition("\n\n")[0]
    )
    return sum(map(int, re.findall(r"count:\s*(\d+)", told)))


if __name__ == "__main__":
    main()

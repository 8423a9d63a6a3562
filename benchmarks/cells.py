"""Overhead of planning and running an experiment, by the number of cells.

    python benchmarks/cells.py                          # 100 and 1,000 cells
    python benchmarks/cells.py --cells 10000 --run 0    # only the plan
    python benchmarks/cells.py --slurm                  # as jobs of a cluster
    python benchmarks/cells.py --quick                  # only checks that it runs

A cell is a generated data set of 100 rows with the method "dummy". The plan is a dry
run of Snakemake, of which processor seconds and peak memory are measured. A run makes
the tables, splits and records of the groups with the first `--run` cells. Its overhead
is the processor time without that of the plan, per cell (the fit of a dummy takes
hardly any time) and as a ratio to the time of the child processes that fit. With
``--slurm`` each group is a job on a cluster of this machine, whose accounted time is
added. With ``--save FILE`` the measurements replace those in the CSV file for the same
number of cells, and the figure beside it (SVG) is drawn again.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pandas as pd

import timing
from adakern_bench.config.plan import FEWEST_GROUPS, GROUPED_FROM, MOST_CELLS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from project import Project
from slurm import Cluster, reason_to_skip

ENTRY = (
    "{task: classification, loader: {_target_: adakern.datasets.make_clowns, n: 100, "
    "random_state: %d}, n: 100}"
)


def main():
    """Measure, print and save."""
    parser = timing.parser(__doc__, "4 cells")
    parser.add_argument("--cells", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--run", type=int, default=100, metavar="CELLS")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--slurm", action="store_true")
    parser.add_argument("--save", type=Path, metavar="FILE")
    options = parser.parse_args()
    sizes, most = ([4], 2) if options.quick else (options.cells, options.run)
    if options.slurm and reason_to_skip():
        print(f"skipped: {reason_to_skip()}")
        return
    rows = []
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("cluster", "project"):
                (root / name).mkdir()
            project = Project(root / "project")
            where = Cluster(root / "cluster") if options.slurm else nullcontext()
            with where as cluster:
                found = measure(project, n, min(n, most), options.cores, cluster)
        rows.append({"where": "SLURM" if options.slurm else "here"} | found)
        print("  ".join(f"{name} {told(value)}" for name, value in rows[-1].items()))
    if options.save:
        keep(pd.DataFrame(rows), options.save)


def told(value):
    """Format a text, or a number with four digits."""
    return value if isinstance(value, str) else f"{value:.4g}"


def measure(project, n, n_run, cores, cluster=None):
    """Measure the plan of n cells and the run of the first ones."""
    sets = "\n".join(f"  s{k}: {ENTRY % k}" for k in range(n))
    project.write(
        "conf/experiment/small.yaml",
        "# @package _global_\n"
        "defaults: [{override /dataset: []}, {override /method: [dummy]}]\n"
        f"name: small\nprotocol: {{repeats: 1}}\ndataset:\n{sets}\n"
        "tracking: {enabled: false}\n",
    )
    project.profile = ["--quiet", "all", "--cores", str(cores)]
    pid = subprocess.Popen(
        project.command("--dry-run"),
        cwd=project.root,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ).pid
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"the plan of {n} cells ended with status {status}")
    scale = 1 if sys.platform == "darwin" else 1024
    found = {
        "cells": n,
        "plan_seconds": used.ru_utime + used.ru_stime,
        "plan_megabytes": used.ru_maxrss * scale / 1e6,
    }
    if not n_run:
        return found
    group = min(MOST_CELLS, n // FEWEST_GROUPS) if n >= GROUPED_FROM else 1
    files = [f"results/small/groups/{k}.cells" for k in range(-(-n_run // group))]
    if group == 1:
        files = [f"results/small/records/s{k}/dummy/0-0.json" for k in range(n_run)]
    if cluster:
        project.environment |= cluster.environment
        project.profile = ["--quiet", "all", "--workflow-profile", "profiles/slurm"]
    before = processor_seconds()
    project.run(*files, timeout=24 * 3600)
    spent = processor_seconds() - before
    if cluster:
        spent += cluster.processor_seconds()
    records = project.root.glob("results/small/records/*/*/*.json")
    seconds = [json.loads(file.read_text())[0]["run_seconds"] for file in records]
    n_run, fits = len(seconds), sum(seconds)
    overhead = spent - found["plan_seconds"]
    return found | {
        "run_cells": n_run,
        "overhead_seconds_a_cell": overhead / n_run,
        "ratio_to_fits": overhead / fits,
    }


def processor_seconds():
    """Processor seconds of all child processes that have ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def keep(rows, path):
    """Write measurements into the file, replacing those of the same sizes."""
    if path.exists():
        known = pd.read_csv(path)
        columns = ["where", "cells"]
        new = known.set_index(columns).index.isin(rows.set_index(columns).index)
        rows = pd.concat([known[~new], rows])
    rows = rows.sort_values(["where", "cells"])
    rows.to_csv(path, index=False, float_format="%.4g")
    draw(rows, path.with_suffix(".svg"))


def draw(rows, path):
    """Plot time and memory of the plan, and overhead per cell, against the cells."""
    import matplotlib.pyplot as plt

    labels = {
        "plan_seconds": "processor seconds of a plan",
        "plan_megabytes": "memory of a plan [MB]",
        "overhead_seconds_a_cell": "overhead of a cell [processor seconds]",
    }
    plt.rcParams["svg.fonttype"] = "none"
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for axis, (column, label) in zip(axes, labels.items(), strict=True):
        for where, of_place in rows.groupby("where"):
            name = where if where == "SLURM" else "one machine"
            axis.semilogx(of_place["cells"], of_place[column], "o-", label=name)
        axis.set(xlabel="cells", ylabel=label, ylim=(0, None))
    axes[0].legend()
    figure.savefig(path)


if __name__ == "__main__":
    main()

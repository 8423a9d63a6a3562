"""What the workflow itself costs: per job, with nothing to do, before 2,000 jobs.

    python benchmarks/workflow.py            # 40 jobs, a dry run of 2,000
    python benchmarks/workflow.py --quick    # 8 jobs, a dry run of 80

Works in a temporary copy of the configuration, on a generated data set of 40 rows whose
fit takes no time. The reference, timed in the same run before and after, is a Python
that imports scikit-learn's SVM: what a job costs at least. `make run` adds to the call
with nothing to do the printing of the comparison, which is included.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PARTS = ("Snakefile", "workflow", "conf", "profiles", "src", "data/published")
CORES = 2
EXPERIMENT = """\
# @package _global_
defaults:
  - override /dataset: [tiny]
  - override /method: [fast]
name: overhead
protocol: {repeats: 1}
sweep: {fast: {C: [POINTS]}}
tracking: {enabled: false}
"""
DATASET = """\
# @package dataset.tiny
task: classification
loader: {_target_: adakern.datasets.make_clowns, n: 40}
n: 40
"""
METHOD = """\
# @package method.fast
classifier: {estimator: {_target_: sklearn.svm.SVC, gamma: 1.0}}
"""


def prepare(folder, n_jobs):
    """A copy of the workflow with an experiment of so many solves."""
    for part in PARTS:
        source, target = REPOSITORY / part, folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)
    points = ", ".join(str(k) for k in range(1, n_jobs + 1))
    for path, text in (
        ("experiment/overhead.yaml", EXPERIMENT.replace("POINTS", points)),
        ("dataset/tiny.yaml", DATASET),
        ("method/fast.yaml", METHOD),
    ):
        (folder / "conf" / path).write_text(text)


def seconds(folder, *command):
    """Wall time of a command; its output is shown if it fails."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if run.returncode:
        sys.exit(run.stdout)
    return time.perf_counter() - start


def snakemake(folder, *arguments, overrides=""):
    command = ["-m", "snakemake", "--cores", str(CORES), "--quiet", "all"]
    config = ["--config", "experiment=overhead", f"overrides={overrides}"]
    return seconds(folder, *command, *arguments, *config)


def importing(folder):
    return seconds(folder, "-c", "import sklearn.svm")


def measure(folder, n_jobs, n_dry):
    """(what, seconds, target in seconds) of each measurement."""
    prepare(folder, n_jobs)
    snakemake(folder, "--until", "split")
    solves = snakemake(folder, "--until", "solve")
    snakemake(folder)
    again = snakemake(folder) + seconds(folder, "-m", "adakern_bench.cli.main", "show", "overhead")
    one_repeat_a_job = f"protocol.repeats={n_dry // n_jobs} jobs.batch_rows=0"
    dry = snakemake(folder, "--dry-run", overrides=one_repeat_a_job)
    yield f"overhead per job ({n_jobs} solves, {CORES} cores)", solves / n_jobs, 0.7
    yield "run again with nothing to do, table printed", again, 6.0
    yield f"dry run of {n_dry} jobs", dry, 10.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="8 jobs, 80 dry ones")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        importing(folder)
        before = importing(folder)
        results = list(measure(folder, 8 if quick else 40, 80 if quick else 2000))
        reference = (before + importing(folder)) / 2
    load = os.getloadavg()[0]
    print(f"load of the machine: {load:.1f} on {os.cpu_count()} cores (idle: below 1)")
    print(f"reference: a Python that imports scikit-learn's SVM: {reference:.2f} s")
    for what, value, target in results:
        verdict = "ok" if value <= target else "MISSED"
        print(
            f"{what}: {value:.2f} s, {value / reference:.2f} x the reference; "
            f"target {target:g} s: {verdict}"
        )


if __name__ == "__main__":
    main()

"""A copy of the repository in which a test runs the real workflow."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["Project"]

REPOSITORY = Path(__file__).resolve().parents[1]
PARTS = ("Snakefile", "workflow", "conf", "profiles", "src", "data/published")

EXPERIMENT = """\
# @package _global_
defaults:
  - override /dataset: [clowns]
  - override /method: [plain]
name: small
protocol: {repeats: 2}
search: {step: 5, folds: 2}
dataset: {clowns: {loader: {n: 60}}}
tracking: {enabled: false}
"""
PLAIN = """\
# @package method.plain
classifier:
  estimator: {_target_: sklearn.svm.SVC, C: 2.0}
"""


class Project:
    """The workflow, its configuration and its code, free to be changed and broken.

    Holds the experiment ``small``: data set ``clowns`` (60 rows), method ``plain``
    (an SVM with fixed parameters), two repeats.
    """

    def __init__(self, root):
        self.root = Path(root)
        for part in PARTS:
            source, target = REPOSITORY / part, self.root / part
            target.parent.mkdir(parents=True, exist_ok=True)
            # With the compiled files, whose time stamps stay right: start-up is short.
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, target)
        self.write("conf/experiment/small.yaml", EXPERIMENT)
        self.write("conf/method/plain.yaml", PLAIN)
        self.environment = {
            key: value
            for key, value in os.environ.items()
            if key not in ("ADAKERN_DATA_MIRROR", "PYTHONDONTWRITEBYTECODE")
        } | {
            "PYTHONPATH": os.pathsep.join(map(str, (self.root / "src", self.root))),
            "OMP_NUM_THREADS": "1",
            "HOME": str(self.root),
        }

    def write(self, path, text):
        """Write a file of the project; returns its path."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def command(self, *arguments, overrides="", config=()):
        """The command line of one run of the experiment ``small``."""
        settings = ["experiment=small", f"overrides={overrides}", *config]
        return [
            *(sys.executable, "-m", "snakemake", "--cores", "2", "--nocolor"),
            *arguments,
            *("--config", *settings),
        ]

    def start(self, *arguments, **settings):
        """Start a run that the test will disturb, in a process group of its own."""
        return subprocess.Popen(
            self.command(*arguments, **settings),
            cwd=self.root,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments, **settings):
        """Run to the end; the result has ``returncode`` and ``output``."""
        process = self.start(*arguments, **settings)
        process.output, _ = process.communicate(timeout=240)
        return process

    def solve(self, *arguments, **settings):
        """Run up to the records, without tables and report."""
        return self.run("--until", "solve", *arguments, **settings)

    def records(self, dataset="clowns", method="plain", experiment="small"):
        """All records of one cell."""
        folder = self.root / "results" / experiment / "records" / dataset / method
        files = sorted(folder.glob("*.json"))
        return [record for file in files for record in json.loads(file.read_text())]

    def left_over(self):
        """Temporary files that a writer did not clean up."""
        return [
            path
            for folder in ("results", "data")
            for path in (self.root / folder).rglob(".*")
        ]

"""A copy of the repository in which a test runs the workflow."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PARTS = (
    *("Snakefile", "pyproject.toml", "workflow", "methods", "conf", "profiles"),
    *("src", "data/published"),
)

EXPERIMENT = """\
# @package _global_
defaults: [{override /dataset: [clowns]}, {override /method: [plain]}]
name: small
protocol: {repeats: 2}
search: {step: 5, folds: 2}
tracking: {enabled: false}
"""
PLAIN = "{estimator: {_target_: sklearn.svm.SVC, C: 2.0}}"
#: A method with a search, for tests that add it.
TUNED = "{estimator: {_target_: sklearn.svm.SVC}, grid: {C: [0.5, 2.0]}}"


#: Writes a line to a file for each call of some functions in any process of a project.
COUNTING = """\
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder

COUNTED = {counted!r}

def wrapped(function):
    def counting(*arguments, **options):
        with open({file!r}, "a") as file:
            print(function.__name__, file=file)
        return function(*arguments, **options)
    return counting

class Finder(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in COUNTED:
            return None
        spec = PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module
        def exec_module(module):
            execute(module)
            function = getattr(module, COUNTED[name])
            setattr(module, COUNTED[name], wrapped(function))
        spec.loader.exec_module = exec_module
        return spec

import sys
sys.meta_path.insert(0, Finder())
"""


def without_measured(text):
    """The lines of a table except those with times and memory."""
    return [
        line
        for line in text.splitlines()
        if "second" not in line and "bytes" not in line
    ]


class Run:
    """One call of snakemake; as a context manager it is killed at the end."""

    def __init__(self, command, folder, environment, user=None):
        with tempfile.NamedTemporaryFile(
            dir=folder, prefix="run-", suffix=".txt", delete=False
        ) as file:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # Tests run by a shell in the background would ignore Ctrl-C.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                user=user,
                group=user,
            )
        self.log = Path(file.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def wait_for(self, condition, seconds=1000):
        """Wait for a condition while the run continues."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert self.returncode is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)

    def ends(self, status=0, seconds=550):
        """Wait for the end, check the exit status, and return this run."""
        self.process.wait(seconds)
        assert self.returncode == status, self.output
        return self

    @property
    def output(self):
        """The output so far."""
        return self.log.read_text()

    @property
    def returncode(self):
        """The exit status, None while it runs."""
        return self.process.poll()

    @property
    def jobs(self):
        """Rule -> number of jobs that Snakemake announced."""
        table = self.output.partition("Job stats:")[2].partition("total")[0]
        rows = [line.split() for line in table.splitlines()]
        return {row[0]: int(row[1]) for row in rows if row and row[-1].isdigit()}


class Project:
    """The workflow, its configuration and its code, which a test may modify. Contains
    the experiment ``small``: data set ``clowns``, method ``plain`` (an SVM with fixed
    parameters), two repeats.
    """

    #: Name of the runs and of the folder of their results.
    name = "small"

    def __init__(self, root):
        self.root = Path(root)
        for part in PARTS:
            source, target = REPOSITORY / part, self.root / part
            target.parent.mkdir(parents=True, exist_ok=True)
            # Compiled files are copied, too, with valid time stamps: start-up is fast.
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, target)
        self.write("conf/experiment/small.yaml", EXPERIMENT)
        self.add_classifier("plain", PLAIN)
        self.profile = ["--cores", "2"]
        paths = [str(self.root / part) for part in ("src", "workflow", ".")]
        own = {
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_NUM_THREADS": "1",
            "HOME": str(root),
        }
        self.environment = os.environ | own
        for name in ("ADAKERN_DATA_MIRROR", "PYTHONDONTWRITEBYTECODE"):
            self.environment.pop(name, None)

    def adakern(self, *arguments, status=0):
        """Run the command ``adakern`` and check its exit status."""
        script = "import sys; from adakern.cli import main; sys.exit(main())"
        options = {"env": self.environment, "capture_output": True, "text": True}
        run = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=self.root, **options
        )
        assert run.returncode == status, run.stdout + run.stderr
        return run

    def write(self, path, text):
        """Write a file of the project; returns its path."""
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def count(self, *functions):
        """Return a file to which each call of these functions is written, in any
        process of the project.
        """
        counted = dict(function.rsplit(".", 1) for function in functions)
        file = self.write("counted.txt", "")
        code = COUNTING.format(counted=counted, file=str(file))
        self.write("workflow/sitecustomize.py", code)
        return file

    def add_classifier(self, name, recipe):
        """Write the file of a method for classification."""
        self.write(f"conf/method/{name}.yaml", f"classifier: {recipe}\n")

    def command(self, *arguments, overrides="", config=()):
        """The command line of one run of the experiment ``small``."""
        settings = [
            "experiment=small",
            f"overrides=name={self.name} {overrides}",
            *config,
        ]
        snakemake = [sys.executable, "-m", "snakemake", "--nocolor", *self.profile]
        return [*snakemake, *arguments, "--config", *settings]

    def start(self, *arguments, **settings):
        """Start a run that the test will interrupt, in its own process group."""
        return Run(self.command(*arguments, **settings), self.root, self.environment)

    def run(self, *arguments, status=0, timeout=550, **settings):
        """Run to the end and check the exit status."""
        return self.start(*arguments, **settings).ends(status, timeout)

    def solve(self, *arguments, **settings):
        """Run up to the records, without tables and report."""
        return self.run("--until", "solve", *arguments, **settings)

    def records(self, dataset="clowns", method="plain", experiment="small"):
        """All records of one cell."""
        folder = self.root / "results" / experiment / "records" / dataset / method
        files = sorted(folder.glob("*.json"))
        return [record for file in files for record in json.loads(file.read_text())]

    def left_over(self):
        """Temporary files that were not removed."""
        return [
            path
            for folder in ("results", "data")
            for path in (self.root / folder).rglob(".*")
        ]

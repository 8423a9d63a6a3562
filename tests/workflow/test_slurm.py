"""The workflow on a real SLURM of three nodes, started and stopped here.

Whatever happens on the cluster, the summary is that of one machine, but for the rows
that could not be had, which say why.
"""

import pandas as pd
import pytest
import yaml

from project import Project
from slurm import Cluster, reason_to_skip

pytestmark = pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip())

SUMMARY = "results/small/summary.csv"
TWO_SETS = "dataset=[clowns,sk-wine] method=[plain,svm-cv]"

#: Estimators that need a cluster's patience, once.
TROUBLE = """\
import os, signal, time
import numpy as np
from pathlib import Path
from sklearn.svm import SVC

class Trouble(SVC):
    '''Waits, or eats memory, in the attempts `how` names; then it is as an SVM.'''
    def __init__(self, how="", C=1.0, gamma="scale"):
        super().__init__(C=C, gamma=gamma)
        self.how = how

    def fit(self, X, y):
        if self.how:
            with open(f"tried-{self.how}", "a") as file:
                file.write(os.environ.get("SLURM_JOB_ID", "none") + "\\n")
            first = len(Path(f"tried-{self.how}").read_text().split()) == 1
            if self.how == "hungry" and first:
                eaten = np.ones(150_000_000)  # 1.2 GB
                time.sleep(120)
            if self.how in ("killed", "cut-off") and first or self.how == "slow":
                time.sleep(600)
        return super().fit(X, y)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture
def project(tmp_path, cluster):
    """A project whose runs go to the cluster."""
    return on(cluster, Project(tmp_path))


def on(cluster, project):
    project.environment |= cluster.environment
    project.profile = [
        *("--workflow-profile", "profiles/slurm"),
        # Only here: no patience.
        *("--slurm-init-seconds-before-status-checks", "2"),
        *("--seconds-between-status-checks", "3", "--latency-wait", "10"),
    ]
    return project


def without_groups(project):
    """Every job of the workflow a job of the cluster."""
    profile = project.root / "profiles/slurm/config.yaml"
    settings = yaml.safe_load(profile.read_text())
    del settings["groups"], settings["group-components"]
    profile.write_text(yaml.safe_dump(settings))


@pytest.fixture(scope="module")
def one_machine(tmp_path_factory):
    """The summary of the same experiment without a cluster."""
    project = Project(tmp_path_factory.mktemp("one-machine"))
    run = project.run(SUMMARY, overrides=TWO_SETS)
    assert run.returncode == 0, run.output
    return summary(project)


def summary(project):
    """All columns but those of time and memory, which no two runs share."""
    frame = pd.read_csv(project.root / SUMMARY)
    measured = [c for c in frame if "seconds" in c or "memory" in c or "bytes" in c]
    assert measured
    return frame.drop(columns=measured)


def states(cluster, since):
    return [job["State"] for id, job in cluster.jobs().items() if id not in since]


@pytest.mark.parametrize("how", ["groups", "arrays"])
def test_summary_is_that_of_one_machine(project, cluster, one_machine, how):
    before = set(cluster.jobs())
    arguments = []
    if how == "arrays":
        without_groups(project)
        arguments = ["--slurm-array-jobs", "all"]
    run = project.run(SUMMARY, *arguments, overrides=TWO_SETS, timeout=400)
    assert run.returncode == 0, run.output
    pd.testing.assert_frame_equal(summary(project), one_machine)
    found = states(cluster, before)
    # Two searches and four solves; the group holds all of them, in two arrays.
    assert found == ["COMPLETED"] * (1 if how == "groups" else 6)
    if how == "arrays":
        assert run.output.count("Submitted array job") == 2

"""The workflow on a real SLURM of several nodes, started and stopped here.

Whatever happens on the cluster, the summary is that of one machine, but for the rows
that could not be had, which say why.
"""

import os
import signal
import time
from contextlib import contextmanager, suppress

import pytest
import yaml

from project import Project, Run, without_measured
from slurm import Cluster, reason_to_skip

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip()),
    # Half a minute each on a quiet machine.
    pytest.mark.timeout(1800),
]

#: Seconds for a run of the workflow, on a busy machine too.
PATIENCE = 1500

SUMMARY = "results/small/summary.csv"
TWO_SETS = "dataset=[clowns,sk-wine] method=[tuned]"
TUNED = """\
# @package method.tuned
classifier:
  estimator: {_target_: sklearn.svm.SVC}
  grid: {C: [0.5, 2.0]}
"""

#: Fits that need a cluster's patience: the n-th attempt of each does as `how` says.
TROUBLE = """\
import os, time
from pathlib import Path
import numpy as np
from sklearn.svm import SVC

class Trouble(SVC):
    def __init__(self, how="", C=2.0, gamma="scale"):
        super().__init__(C=C, gamma=gamma)
        self.how = how

    def fit(self, X, y):
        tried = Path(f"tried-{self.how}")
        with tried.open("a") as file:
            file.write(os.environ.get("SLURM_JOB_ID", "-") + "\\n")
        first = len(tried.read_text().split()) == 1
        if first and self.how == "hungry":
            eaten = np.ones(250_000_000)  # 2 GB
            time.sleep(300)
        if self.how == "slow" or first and self.how in ("killed", "cut-off"):
            time.sleep(600)
        return super().fit(X, y)
"""
TROUBLED = """\
# @package method.troubled
classifier:
  estimator: {_target_: methods.trouble.Trouble}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    # A node for each job of the test that kills one.
    with Cluster(tmp_path_factory.mktemp("slurm"), n_nodes=6) as cluster:
        yield cluster


@pytest.fixture
def project(tmp_path, cluster):
    """A project whose runs go to the cluster."""
    return on(cluster, Project(tmp_path))


def on(cluster, project):
    project.write("conf/method/tuned.yaml", TUNED)
    project.write("conf/method/troubled.yaml", TROUBLED)
    project.write("methods/trouble.py", TROUBLE)
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
    project.write("conf/method/tuned.yaml", TUNED)
    run = project.run(SUMMARY, overrides=TWO_SETS, timeout=PATIENCE)
    assert run.returncode == 0, run.output
    return summary(project)


def summary(project):
    """Means over the repeats, without the times, which no two runs share."""
    return without_measured((project.root / SUMMARY).read_text())


def states(cluster, since):
    return [job["State"] for id, job in cluster.jobs().items() if id not in since]


@pytest.mark.parametrize("how", ["groups", "arrays"])
def test_summary_is_that_of_one_machine(project, cluster, one_machine, how):
    before = set(cluster.jobs())
    arguments = []
    if how == "arrays":
        without_groups(project)
        arguments = ["--slurm-array-jobs", "all"]
        # Both searches are ready at the same moment.
        assert project.run("--until", "split", overrides=TWO_SETS).returncode == 0
    run = project.run(SUMMARY, *arguments, overrides=TWO_SETS, timeout=PATIENCE)
    assert run.returncode == 0, run.output
    assert summary(project) == one_machine
    found = states(cluster, before)
    # Two searches, then two solves: one group, or arrays.
    assert found == ["COMPLETED"] * (1 if how == "groups" else 4)
    if how == "arrays":
        assert "Submitted array job" in run.output


def wait_for(condition, run, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not condition():
        assert run.returncode is None, run.output
        assert time.monotonic() < deadline, run.output
        time.sleep(0.5)


def jobs_of(project, how):
    """SLURM's numbers of the jobs in which this trouble began."""
    tried = project.root / f"tried-{how}"
    return tried.read_text().split() if tried.exists() else []


def job_of(project, how):
    return "".join(jobs_of(project, how)[:1])


@contextmanager
def started(project, *arguments, **settings):
    run = project.start(*arguments, **settings)
    try:
        yield run
    finally:
        with suppress(ProcessLookupError):
            os.killpg(run.process.pid, signal.SIGKILL)
        run.process.wait()


def test_what_a_cluster_does_to_jobs(project, cluster):
    """Over its time, over its memory, killed, on a node that dies: all in one run."""
    without_groups(project)
    before = set(cluster.jobs())
    with started(
        project,
        SUMMARY,
        overrides=(
            "method=[plain,troubled] ++sweep.troubled.how=[slow,hungry,killed,cut-off] "
            "protocol.repeats=1 jobs.memory_mb=1500"
        ),
    ) as run:
        begun = ("slow", "killed", "cut-off")
        wait_for(lambda: all(job_of(project, how) for how in begun), run)
        wait_for(lambda: len(jobs_of(project, "hungry")) == 2, run)
        cluster.kill_job(job_of(project, "killed"))
        node = cluster.jobs()[job_of(project, "cut-off")]["NodeList"]
        cluster.kill_node(node)
        # SLURM's shortest limit is a minute: once over its time, once killed.
        slow = job_of(project, "slow")
        cluster.says("scontrol", "update", f"JobId={slow}", "TimeLimit=1")
        wait_for(lambda: len(jobs_of(project, "slow")) == 2, run)
        cluster.kill_job(jobs_of(project, "slow")[1])
        run.process.wait(PATIENCE)
    cluster.start_node(node)
    assert run.returncode == 0, run.output

    ended = {id: job for id, job in cluster.jobs().items() if id not in before}
    first = {how: ended[job_of(project, how)] for how in ("slow", "hungry", "killed")}
    assert first["slow"]["State"] == "TIMEOUT"
    assert first["killed"]["State"] == "FAILED"
    assert (first["hungry"]["ReqMem"], first["hungry"]["State"]) == ("1500M", "FAILED")
    again = jobs_of(project, "hungry")[1]
    assert (ended[again]["ReqMem"], ended[again]["State"]) == ("3000M", "COMPLETED")
    assert ended[job_of(project, "cut-off")]["State"] == "NODE_FAIL"
    records = {
        how: project.records(method=f"troubled@how={how}")[0]
        for how in ("slow", "hungry", "killed", "cut-off")
    }
    (plain,) = project.records(method="plain")
    for how in ("hungry", "killed", "cut-off"):
        assert records[how]["status"] == "ok"
        assert records[how]["metrics"] == plain["metrics"]
    assert records["slow"]["status"] == "failed"
    reason = records["slow"]["reason"]
    assert "lost 2 times: TIMEOUT (SLURM job" in reason and ", then FAILED (" in reason


def test_cancelled_and_killed_runs_are_gone_on_with(project, cluster, one_machine):
    def begun():
        return "has been submitted with SLURM jobid" in run.output

    with started(project, SUMMARY, overrides=TWO_SETS) as run:
        wait_for(begun, run)
        run.process.send_signal(signal.SIGINT)  # as Ctrl-C does: it cancels its jobs
        run.process.wait(PATIENCE)
    assert run.returncode != 0
    assert cluster.is_idle_within(PATIENCE)

    with started(project, SUMMARY, overrides=TWO_SETS) as run:
        wait_for(begun, run)
        run.process.kill()
    cluster.cancel_all()
    run = project.run(SUMMARY, overrides=TWO_SETS, timeout=PATIENCE)
    assert run.returncode == 0, run.output
    assert summary(project) == one_machine


def test_two_experiments_at_once(project, cluster):
    project.write(
        "conf/experiment/other.yaml",
        (project.root / "conf/experiment/small.yaml")
        .read_text()
        .replace("name: small", "name: other"),
    )
    with started(project, SUMMARY) as run:
        command = [part.replace("small", "other") for part in project.command(SUMMARY)]
        beside = Run(command, project.root, project.environment)
        try:
            run.process.wait(PATIENCE)
            beside.process.wait(PATIENCE)
        finally:
            beside.process.kill()
    assert run.returncode == 0 and beside.returncode == 0, run.output + beside.output
    other = (project.root / SUMMARY.replace("small", "other")).read_text()
    assert without_measured(other) == summary(project)


def test_another_executor(tmp_path):
    """cluster-generic with a command that runs what it is given in the background."""
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    project = Project(tmp_path)
    submit = project.write(
        "submit.sh", '#!/bin/sh\nsh "$1" > "$1.out" 2>&1 &\necho $!\n'
    )
    submit.chmod(0o755)
    project.profile = [
        *("--executor", "cluster-generic", "--jobs", "4", "--latency-wait", "20"),
        *("--cluster-generic-submit-cmd", str(submit)),
    ]
    run = project.run(SUMMARY, timeout=PATIENCE)
    assert run.returncode == 0, run.output
    assert "Submitted" in run.output
    assert [r["status"] for r in project.records()] == ["ok", "ok"]

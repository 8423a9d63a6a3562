"""The workflow on a real SLURM cluster of several nodes, started by the tests. Whatever
happens on the cluster, the summary equals that of one machine, except for failed runs,
which state the reason.
"""

import signal

import pytest
import yaml

from project import TUNED, Project, without_measured
from slurm import Cluster, reason_to_skip

SKIP_REASON = reason_to_skip()  # for example, SLURM is not installed
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(SKIP_REASON), reason=SKIP_REASON),
    # One or two minutes each on a quiet machine.
    pytest.mark.timeout(1200),
]

#: Time limit in seconds of a run of the workflow, also on a busy machine.
TIMEOUT = 1000

SUMMARY = "results/small/summary.csv"
BOTH = "method=[plain,tuned]"

#: Fits that cause faults on a cluster, depending on `how` and the attempt.
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
TROUBLES = ("slow", "hungry", "killed", "cut-off")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    # One node per job for the test that kills a node.
    with Cluster(tmp_path_factory.mktemp("slurm"), n_nodes=6) as cluster:
        yield cluster


@pytest.fixture
def project(tmp_path, cluster):
    """A project whose runs go to the cluster."""
    yield use_cluster(cluster, Project(tmp_path))
    cluster.recover()


def use_cluster(cluster, project):
    project.add_classifier("tuned", TUNED)
    project.add_classifier(
        "troubled", "{estimator: {_target_: methods.trouble.Trouble}}"
    )
    project.write("methods/trouble.py", TROUBLE)
    project.environment |= cluster.environment
    project.profile = [
        *("--workflow-profile", "profiles/slurm"),
        # Short waits, only in the tests.
        *("--slurm-init-seconds-before-status-checks", "2"),
        *("--seconds-between-status-checks", "3", "--latency-wait", "10"),
    ]
    return project


def disable_groups(project):
    """Submit every job of the workflow as a separate job of the cluster."""
    profile = project.root / "profiles/slurm/config.yaml"
    settings = yaml.safe_load(profile.read_text())
    del settings["groups"], settings["group-components"]
    profile.write_text(yaml.safe_dump(settings))


@pytest.fixture(scope="module")
def one_machine(tmp_path_factory):
    """A project that has run without a cluster."""
    project = Project(tmp_path_factory.mktemp("one-machine"))
    project.add_classifier("tuned", TUNED)
    project.run(SUMMARY, overrides=BOTH, timeout=TIMEOUT)
    return project


def summary(project, method=""):
    """Summary of the results without times and memory."""
    lines = without_measured((project.root / SUMMARY).read_text())
    return lines[:1] + [line for line in lines[1:] if method in line]


def states(cluster, since):
    return [job["State"] for id, job in cluster.jobs().items() if id not in since]


def test_grouped_jobs_equal_one_machine(project, cluster, one_machine):
    before = set(cluster.jobs())
    project.run(SUMMARY, overrides=BOTH, timeout=TIMEOUT)
    assert summary(project) == summary(one_machine)
    assert states(cluster, before) == ["COMPLETED"]  # one search and two fits


def test_array_jobs_equal_one_machine(project, cluster, one_machine):
    before = set(cluster.jobs())
    disable_groups(project)
    arrays = (SUMMARY, "--slurm-array-jobs", "all")
    run = project.run(
        *arrays, overrides="jobs.batch_rows=0", timeout=TIMEOUT
    )  # one job per repeat
    assert summary(project) == summary(one_machine, "plain")
    assert states(cluster, before) == ["COMPLETED"] * 2
    assert "Submitted array job" in run.output


def job_ids(project, how):
    """SLURM job IDs in which this fault started."""
    tried = project.root / f"tried-{how}"
    return tried.read_text().split() if tried.exists() else []


def first_job_id(project, how):
    return "".join(job_ids(project, how)[:1])


def test_cluster_faults(project, cluster, one_machine):
    """Time limit, memory limit, a killed job and a failed node in one run."""
    disable_groups(project)
    before = set(cluster.jobs())
    with project.start(
        SUMMARY,
        overrides=(
            f"method=[troubled] ++sweep.troubled.how=[{','.join(TROUBLES)}] "
            "protocol.repeats=1 jobs.memory_mb=1500"
        ),
    ) as run:
        run.wait_for(lambda: all(first_job_id(project, how) for how in TROUBLES))
        # Move its end to now: SLURM's shortest time limit is a minute.
        slow = first_job_id(project, "slow")
        cluster.says("scontrol", "update", f"JobId={slow}", "EndTime=now+1seconds")
        cluster.kill_job(first_job_id(project, "killed"))
        cluster.kill_node(cluster.node_of(first_job_id(project, "cut-off")))
        run.wait_for(lambda: len(job_ids(project, "slow")) == 2)
        cluster.kill_job(job_ids(project, "slow")[1])
        run.ends(seconds=TIMEOUT)

    ended = {id: job for id, job in cluster.jobs().items() if id not in before}
    first = {
        how: ended[first_job_id(project, how)] for how in ("slow", "hungry", "killed")
    }
    assert first["slow"]["State"] == "TIMEOUT"
    assert first["killed"]["State"] == "FAILED"
    assert first["hungry"]["ReqMem"] == "1500M"
    assert first["hungry"]["State"] in ("FAILED", "OUT_OF_MEMORY")
    again = job_ids(project, "hungry")[1]
    assert (ended[again]["ReqMem"], ended[again]["State"]) == ("3000M", "COMPLETED")
    assert ended[first_job_id(project, "cut-off")]["State"] == "NODE_FAIL"
    records = {
        how: project.records(method=f"troubled@how={how}")[0] for how in TROUBLES
    }
    plain = one_machine.records(method="plain")[0]
    for how in ("hungry", "killed", "cut-off"):
        assert records[how]["status"] == "ok"
        assert records[how]["metrics"] == plain["metrics"]
    assert records["slow"]["status"] == "failed"
    reason = records["slow"]["reason"]
    assert "lost 2 times: TIMEOUT (SLURM job" in reason and ", then FAILED (" in reason


def test_cancelled_and_killed_runs_are_resumed(project, cluster, one_machine):
    # Ctrl-C does not cancel jobs whose status Snakemake is querying, and Snakemake
    # itself ends at the next query; the test does not wait for that.
    ask_late = ("--slurm-init-seconds-before-status-checks", str(TIMEOUT))

    def is_running():
        submitted = "has been submitted with SLURM jobid" in run.output
        return submitted and cluster.says("squeue", "-h", "--states=RUNNING")

    before = set(cluster.jobs())
    with project.start(SUMMARY, *ask_late) as run:
        run.wait_for(is_running)
        run.process.send_signal(signal.SIGINT)
        run.wait_for(lambda: "CANCELLED" in str(states(cluster, before)))
    cluster.cancel_all()

    with project.start(SUMMARY, *ask_late) as run:
        run.wait_for(is_running)
        run.process.kill()
    cluster.cancel_all()
    run = project.run(SUMMARY, timeout=TIMEOUT)
    assert summary(project) == summary(one_machine, "plain")


def set_default_resources(project, **resources):
    """Set resources of all jobs in the profile."""
    profile = project.root / "profiles/slurm/config.yaml"
    settings = yaml.safe_load(profile.read_text())
    settings["default-resources"] += [f"{k}={v}" for k, v in resources.items()]
    profile.write_text(yaml.safe_dump(settings))


def test_rejected_submission_is_reported_and_resumed(project, cluster, one_machine):
    """Also for grouped jobs, for which Snakemake does not print the reason."""
    before = set(cluster.jobs())
    set_default_resources(project, slurm_partition="nowhere")
    with project.start(SUMMARY, overrides=BOTH) as run:
        run.ends(status=1, seconds=TIMEOUT)
    assert run.output.count("invalid partition specified: nowhere") == 3
    assert not project.records() and set(cluster.jobs()) == before
    set_default_resources(project, slurm_partition="test")
    project.run(SUMMARY, overrides=BOTH, timeout=TIMEOUT)
    assert summary(project) == summary(one_machine)


def test_other_executor(tmp_path):
    """cluster-generic with a command that runs each job in the background. Each job is
    a separate Snakemake process, which loads the run and composes nothing.
    """
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    project = Project(tmp_path)
    calls = project.count(
        "adakern_bench.config.compose.load_config",
        "adakern_bench.config.validate.validate",
    )
    run_it = 'sh "$1" > "$1.out" 2>&1 &\necho $!\n'
    submit = project.write("submit.sh", f"#!/bin/sh\n{run_it}")
    submit.chmod(0o755)
    project.profile = [
        *("--executor", "cluster-generic", "--jobs", "4", "--latency-wait", "20"),
        *("--cluster-generic-submit-cmd", str(submit)),
    ]
    run = project.run(SUMMARY, timeout=TIMEOUT)
    assert "Submitted" in run.output
    assert [r["status"] for r in project.records()] == ["ok", "ok"]
    assert calls.read_text().split() == ["load_config", "validate"]
    # The job of a group needs only its part of the run.
    submit.write_text(f"#!/bin/sh\nrm results/small/run.yaml\n{run_it}")
    run = project.run(SUMMARY, overrides="jobs.cells=2 protocol.repeats=3")
    assert run.jobs == {"tables": 1, "cells": 1, "compare": 1}
    assert [r["status"] for r in project.records()[-3:]] == ["ok"] * 3

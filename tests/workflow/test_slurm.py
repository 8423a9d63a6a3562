"""The workflow on a real SLURM of one node, started and stopped here.

Needs Debian's slurmctld, slurmd, slurm-client and munge, root, and a machine that is in
no cluster yet; elsewhere it is skipped with the reason.
"""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

CONFIGURATION = Path("/etc/slurm/slurm.conf")
TOOLS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "munged")


def reason_to_skip():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"SLURM is not installed: {', '.join(missing)}"
    if os.geteuid() != 0:
        return "starting SLURM needs root"
    if CONFIGURATION.exists():
        return f"this machine belongs to a cluster: {CONFIGURATION} exists"
    return ""


REASON = reason_to_skip()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)


def slurm_conf(folder):
    host = socket.gethostname().partition(".")[0]
    return f"""\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=9000
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture
def slurm(tmp_path_factory):
    """A cluster of this machine alone."""
    folder = tmp_path_factory.mktemp("slurm")
    for name in ("state", "spool"):
        (folder / name).mkdir()
    CONFIGURATION.parent.mkdir(exist_ok=True)
    CONFIGURATION.write_text(slurm_conf(folder))
    Path("/run/munge").mkdir(exist_ok=True)
    shutil.chown("/run/munge", "munge", "munge")
    started_munge = not Path("/run/munge/munge.socket.2").is_socket()
    if started_munge:
        subprocess.run(["su", "-s", "/bin/sh", "munge", "-c", "munged"], check=True)
    try:
        for daemon in ("slurmctld", "slurmd"):
            subprocess.run([daemon], check=True)
        deadline = time.monotonic() + 60
        while "idle" not in slurm_says("sinfo", "--noheader", "--format=%T"):
            assert time.monotonic() < deadline, (folder / "slurmctld.log").read_text()
            time.sleep(0.2)
        yield folder
    finally:
        subprocess.run(["scontrol", "shutdown"], check=False)
        CONFIGURATION.unlink()
        if started_munge:
            pid = int(Path("/run/munge/munged.pid").read_text())
            os.kill(pid, 15)


def slurm_says(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def test_experiment_on_slurm(project, slurm):
    project.profile = [
        *("--workflow-profile", "profiles/slurm"),
        # Only here: a cluster without accounting, and no patience.
        *("--slurm-no-account", "--slurm-status-command", "squeue"),
        *("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"),
    ]
    # A job that asks for less than it needs, and is then given what it asked for twice.
    project.write("misbehaving.py", NEEDS_A_SECOND_ATTEMPT)
    project.write(
        "conf/method/hungry.yaml",
        "# @package method.hungry\n"
        "classifier: {estimator: {_target_: misbehaving.Hungry}}\n",
    )
    run = project.solve(
        overrides="dataset=[clowns,sk-wine] method=[plain,svm-cv,hungry]",
        timeout=500,
    )
    assert run.returncode == 0, run.output
    for dataset in ("clowns", "sk-wine"):
        for method in ("plain", "svm-cv", "hungry"):
            records = project.records(dataset, method)
            assert [r["status"] for r in records] == ["ok", "ok"]

    jobs = slurm_says("scontrol", "show", "job", "--oneliner").splitlines()
    states = [field for job in jobs for field in job.split() if "JobState" in field]
    # Eight jobs, two of which wait for another: grouped into one, tried twice.
    assert sorted(states) == ["JobState=COMPLETED", "JobState=FAILED"], jobs
    first, second = (
        next(f for f in job.split() if f.startswith("MinMemoryNode")) for job in jobs
    )
    assert first == "MinMemoryNode=4000M" and second == "MinMemoryNode=8000M"


NEEDS_A_SECOND_ATTEMPT = """\
import os
from sklearn.svm import SVC

class Hungry(SVC):
    '''Takes its job down, as a cluster does with one that is out of memory, once.'''
    def fit(self, X, y):
        if not os.path.exists("tried"):
            open("tried", "w").close()
            os.kill(os.getppid(), 9)
        return super().fit(X, y)
"""

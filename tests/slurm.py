"""A SLURM cluster of this machine alone: controller, accounting, several nodes.

Everything lies in one folder: configuration, key, sockets, database, logs. The system's
own configuration, of SLURM, MUNGE and MariaDB alike, is neither read nor written, and
`stop` leaves no process behind. `tests/install_debian.sh` installs what is needed.
"""

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

__all__ = ["Cluster", "reason_to_skip"]

TOOLS = (
    *("slurmctld", "slurmd", "slurmdbd", "munged"),
    *("sbatch", "sacct", "sacctmgr", "scontrol", "squeue"),
    *("mariadbd", "mariadb-install-db"),
)

COMMANDS = (
    *("slurmctld", "slurmd", "slurmdbd"),
    *(
        "sbatch",
        "srun",
        "scancel",
        "sacct",
        "sacctmgr",
        "scontrol",
        "sinfo",
        "squeue",
        "sdiag",
    ),
)
#: Variable of every process of a cluster's jobs: its folder.
MARK = "TEST_CLUSTER"

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
PlugStackConfig={folder}/plugstack.conf
# What a job has started is found by its parents, its memory measured every second.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={database_port}
AccountingStoragePass={folder}/munge.socket
SelectType=select/cons_tres
# The node with the least to do is next.
SelectTypeParameters=CR_Core_Memory,CR_LLN
SchedulerParameters=defer,batch_sched_delay=1,sched_interval=2,bf_interval=2
# A node that does not answer is down at once, its jobs end; one second of grace.
SlurmdTimeout=8
InactiveLimit=0
KillWait=2
OverTimeLimit=0
JobRequeue=0
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
{nodes}
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {size}"
ACCOUNTING = """\
DbdHost={host}
DbdAddr=127.0.0.1
DbdPort={database_port}
SlurmUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser={user}
StorageLoc=accounting
CommitDelay=0
"""


def reason_to_skip():
    """Why there can be no cluster here, empty if there can."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return (
            f"SLURM is not installed ({', '.join(missing)} missing); on Debian, as "
            "root: tests/install_debian.sh"
        )
    return ""


class Cluster:
    """Controller, accounting and nodes, started and stopped.

    Parameters
    ----------
    folder : path
        Empty; all that the cluster writes goes there.
    n_nodes : int
    cores, memory_mb : int
        What each node says it has; work of SLURM, not of this machine.
    """

    def __init__(self, folder, n_nodes=3, cores=4, memory_mb=20_000):
        self.folder = Path(folder)
        self.nodes = [f"node{k}" for k in range(1, n_nodes + 1)]
        self._daemons = {}
        host = socket.gethostname().partition(".")[0]
        controller_port, database_port, *node_ports = _free_ports(2 + n_nodes)
        size = f"CPUs={cores} RealMemory={memory_mb}"
        nodes = [
            NODE.format(name=name, host=host, port=port, size=size)
            for name, port in zip(self.nodes, node_ports, strict=True)
        ]
        self._user = getpass.getuser()
        settings = {
            "user": self._user,
            "host": host,
            "folder": self.folder,
            "controller_port": controller_port,
            "database_port": database_port,
            "nodes": "\n".join(nodes),
        }
        self._write("slurm.conf", CONFIGURATION.format(**settings))
        self._write("slurmdbd.conf", ACCOUNTING.format(**settings))
        self._write("plugstack.conf", "")
        self._write_commands()
        self.environment = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "MYSQL_UNIX_PORT": str(self.folder / "mariadb.socket"),
            MARK: str(self.folder),
        }

    def _write_commands(self):
        """SLURM's commands with this cluster's configuration.

        A variable would not do: Snakemake's plugin takes all of SLURM's away in a job.
        """
        (self.folder / "bin").mkdir()
        for name in COMMANDS:
            command = self.folder / "bin" / name
            command.write_text(
                f"#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf\nexport SLURM_CONF\n"
                f'exec {shutil.which(name)} "$@"\n'
            )
            command.chmod(0o755)

    def _write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)  # as SLURM demands of the file of its database

    def start(self):
        """Start every daemon and wait until each node is idle."""
        try:
            self._start_munge()
            self._start_database()
            self._start_daemon("slurmdbd", "slurmdbd", "-D")
            self._wait(self._accounts, "the accounting does not answer")
            self.says("sacctmgr", "-i", "add", "cluster", "test")
            (self.folder / "state").mkdir()
            self._start_daemon("slurmctld", "slurmctld", "-D", "-i")
            for node in self.nodes:
                self.start_node(node)
            self.wait_for_nodes(len(self.nodes))
        except BaseException:
            self.stop()
            raise

    def _start_munge(self):
        folder = self.folder
        (folder / "munge.key").write_bytes(secrets.token_bytes(128))
        (folder / "munge.key").chmod(0o400)
        self._start_daemon(
            *("munge", "munged", "--foreground", "--force"),
            f"--socket={folder}/munge.socket",
            f"--key-file={folder}/munge.key",
            f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munge.log",
            f"--seed-file={folder}/munge.seed",
        )

    def _start_database(self):
        data = self.folder / "database"
        subprocess.run(
            [
                *("mariadb-install-db", "--no-defaults", f"--user={self._user}"),
                *("--auth-root-authentication-method=normal", "--skip-test-db"),
                f"--datadir={data}",
            ],
            check=True,
            capture_output=True,
        )
        self._start_daemon(
            *("database", "mariadbd", "--no-defaults", f"--user={self._user}"),
            "--skip-grant-tables",
            *("--skip-networking", "--innodb-flush-log-at-trx-commit=0"),
            f"--datadir={data}",
            f"--socket={self.folder}/mariadb.socket",
            f"--pid-file={self.folder}/mariadb.pid",
        )
        self._wait(
            (self.folder / "mariadb.socket").is_socket, "the database does not start"
        )

    def start_node(self, node):
        """Start one node's daemon."""
        (self.folder / f"spool.{node}").mkdir(exist_ok=True)
        self._start_daemon(node, "slurmd", "-D", "-N", node)

    def kill_node(self, node):
        """As if its power were cut: the daemon and all that runs on the node."""
        daemon = self._daemons.pop(node)
        _kill([daemon.pid, *self._processes_of_jobs(SLURMD_NODENAME=node)])
        daemon.wait()

    def kill_job(self, job):
        """As the kernel kills what took too much: all processes of a job."""
        _kill(self._processes_of_jobs(watchers=False, SLURM_JOB_ID=job))

    def _processes_of_jobs(self, watchers=True, **variables):
        """Those below a process with these variables, and SLURM's own above it."""
        mine = ({MARK: str(self.folder)} | variables).items()
        found = set()
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.pid != os.getpid() and mine <= process.environ().items():
                    below = process.children(recursive=True)
                    above = [p for p in process.parents() if p.name() == "slurmstepd"]
                    found |= {p.pid for p in [process, *below, *above * watchers]}
        return found

    def _start_daemon(self, name, *command):
        with open(self.folder / f"{name}.out", "w") as file:
            self._daemons[name] = subprocess.Popen(
                command,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def says(self, *command):
        """What a command of SLURM prints."""
        return subprocess.run(
            command,
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    def wait_for_nodes(self, number):
        """Wait until so many nodes answer and are idle."""
        self._wait(
            lambda: self.says("sinfo", "-hN", "-o%T").split().count("idle") == number,
            "the nodes do not answer",
        )

    def jobs(self):
        """Job id -> fields, of every job since the start, from the accounting."""
        names = (
            "JobIDRaw,State,ReqMem,Timelimit,NodeList,ReqCPUS,ExitCode,Submit,Start,End"
        )
        table = self.says("sacct", "-XnP", f"--format={names}")
        rows = [line.split("|") for line in table.splitlines()]
        return {row[0]: dict(zip(names.split(","), row, strict=True)) for row in rows}

    def cancel_all(self):
        """Cancel every job."""
        self.says("scancel", "--full", f"--user={self._user}")

    def is_idle_within(self, seconds):
        """Whether no job is left after at most so many seconds."""
        deadline = time.monotonic() + seconds
        while self.says("squeue", "-h").strip():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def stop(self):
        """End every job and every daemon."""
        if "slurmctld" in self._daemons:
            self.cancel_all()
            self.is_idle_within(10)
        for node in self.nodes:
            _kill(self._processes_of_jobs(SLURMD_NODENAME=node))
        for process in reversed(self._daemons.values()):
            process.terminate()
        for process in reversed(self._daemons.values()):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._daemons.clear()

    def _accounts(self):
        command = ("sacctmgr", "-n", "show", "cluster")
        environment = os.environ | self.environment
        return not subprocess.run(
            command, env=environment, capture_output=True
        ).returncode

    def _wait(self, condition, complaint, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            dead = [n for n, p in self._daemons.items() if p.poll() is not None]
            if dead or time.monotonic() > deadline:
                raise RuntimeError(f"{complaint}; ended: {dead}\n{self.log()}")
            time.sleep(0.1)

    def log(self):
        """The last lines of every daemon's log."""
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(
            f"== {file.name}\n{file.read_text(errors='replace')[-1500:]}"
            for file in files
        )

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()


def _kill(processes):
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _free_ports(number):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports

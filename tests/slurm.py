"""A SLURM cluster on this machine: controller, accounting, several nodes. Everything is
in one folder: configuration, key, sockets, database and logs. The system configuration
of SLURM, MUNGE and MariaDB is neither read nor written, and no process remains at the
end. `tests/install_debian.sh` installs the requirements.
"""

import getpass
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil

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
TOOLS = (*COMMANDS, "munged", "mariadbd", "mariadb-install-db")
#: Environment variable of every process of the cluster: its folder.
MARK = "TEST_CLUSTER"
#: Timeout in seconds for responses, which are immediate on an idle machine.
TIMEOUT = 300
#: Outgoing connections use ports from 32768 on.
PORTS = range(10_000, 32_768)

#: SLURM allocates the declared resources of each node, whatever this machine has.
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 "
    "RealMemory=20000"
)


def reason_to_skip():
    """Why no cluster can be started here; empty if it can."""
    missing = ", ".join(tool for tool in TOOLS if shutil.which(tool) is None)
    mend = "on Debian, as root: tests/install_debian.sh"
    return f"SLURM is not installed ({missing} missing); {mend}" if missing else ""


class Cluster:
    """Controller, accounting and nodes, started and stopped.

    Parameters
    ----------
    folder : path
        Empty; all that the cluster writes goes there.
    n_nodes : int
    """

    def __init__(self, folder, n_nodes=3):
        self.folder = Path(folder)
        self.nodes = [f"node{k}" for k in range(1, n_nodes + 1)]
        self._daemons = {}
        host = socket.gethostname().partition(".")[0]
        controller_port, database_port, *node_ports = _free_ports(2 + n_nodes)
        nodes = [
            NODE.format(name=name, host=host, port=port)
            for name, port in zip(self.nodes, node_ports, strict=True)
        ]
        self._user = getpass.getuser()
        settings = {
            "user": self._user,
            "host": host,
            "folder": self.folder,
            "controller_port": controller_port,
            "database_port": database_port,
            "patience": TIMEOUT,
            "nodes": "\n".join(nodes),
        }
        (self.folder / "tmp").mkdir()
        for name in ("slurm.conf", "slurmdbd.conf"):
            text = (Path(__file__).parent / name).read_text()
            self._write(name, text.format(**settings))
        self._write("plugstack.conf", "")
        self._write_commands()
        self.environment = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "MYSQL_UNIX_PORT": str(self.folder / "mariadb.socket"),
            # Concurrent databases would overwrite each other's temporary tables.
            "TMPDIR": str(self.folder / "tmp"),
            MARK: str(self.folder),
        }

    def _write_commands(self):
        """SLURM's commands with the configuration of this cluster. A variable does not
        suffice: Snakemake's plugin removes those of SLURM in a job.
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
        path.chmod(0o600)  # required by SLURM for the file of its database

    def __enter__(self):
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
            self._wait_for_nodes()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_munge(self):
        folder = self.folder
        (folder / "munge.key").write_bytes(secrets.token_bytes(128))
        (folder / "munge.key").chmod(0o400)
        files = [
            f"--{kind}-file={folder}/munge.{kind}"
            for kind in ("key", "pid", "log", "seed")
        ]
        self._start_daemon(
            *("munge", "munged", "--foreground", "--force"),
            *(f"--socket={folder}/munge.socket", *files),
        )
        self._wait((folder / "munge.socket").is_socket, "MUNGE does not start")

    def _start_database(self):
        data = self.folder / "database"
        self.says(
            *("mariadb-install-db", "--no-defaults", f"--user={self._user}"),
            *("--auth-root-authentication-method=normal", "--skip-test-db"),
            f"--datadir={data}",
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
        """Simulate a power cut: kill the daemon and all processes of the node. The
        controller is informed, because it would wait long before it marks the node as
        down.
        """
        daemon = self._daemons.pop(node)
        _kill([daemon.pid, *self._processes(SLURMD_NODENAME=node)])
        daemon.wait()
        self.says("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=dead")

    def kill_job(self, job):
        """Kill all processes of a job, as the kernel does when memory is exhausted."""
        _kill(self._processes(watchers=False, SLURM_JOB_ID=job))

    def _processes(self, watchers=True, **variables):
        """Processes of the cluster's jobs with these variables, their children, and
        SLURM's own processes above them.
        """
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
                # Daemons end even if the test run is killed.
                ("setpriv", "--pdeathsig", "TERM", *command),
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def says(self, *command):
        """The output of a command that must succeed."""
        env = os.environ | self.environment
        run = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=TIMEOUT
        )
        if run.returncode:
            raise RuntimeError(
                f"{' '.join(command)}: {run.stdout}{run.stderr}\n{self.log()}"
            )
        return run.stdout

    def _wait_for_nodes(self):
        self._wait(
            lambda: (
                self.says("sinfo", "-hN", "-o%T").split() == ["idle"] * len(self.nodes)
            ),
            "the nodes do not answer",
        )

    def jobs(self):
        """Job id -> fields, for every job since the start, from the accounting."""
        names = (
            "JobIDRaw,State,ReqMem,Timelimit,NodeList,ReqCPUS,ExitCode,Submit,Start,End"
        )
        table = self.says("sacct", "-XnP", f"--format={names}")
        rows = [line.split("|") for line in table.splitlines()]
        return {row[0]: dict(zip(names.split(","), row, strict=True)) for row in rows}

    def processor_seconds(self):
        """Processor time of all jobs according to SLURM,
        ``[days-][hours:]minutes:seconds``.
        """
        total = 0.0
        for line in self.says("sacct", "-nP", "--format=JobID,TotalCPU").split():
            job, _, text = line.partition("|")
            if "." in job:  # a step, included in its job
                continue
            days, _, clock = text.rpartition("-")
            parts = enumerate(reversed(clock.split(":")))
            total += 86_400 * int(days or 0) + sum(
                60**power * float(part) for power, part in parts
            )
        return total

    def node_of(self, job):
        """Name of the node on which a job runs."""
        return self.says("squeue", "-h", f"--jobs={job}", "--format=%N").strip()

    def cancel_all(self):
        """Cancel every job and wait until all have ended."""
        self.says("scancel", "--full", f"--user={self._user}")
        self._wait(lambda: not self.says("squeue", "-h").strip(), "jobs do not end")

    def recover(self):
        """Cancel all jobs and restart missing nodes, after any test."""
        for node in self.nodes:
            if node not in self._daemons:
                self.start_node(node)
        self.cancel_all()
        self._wait_for_nodes()

    def __exit__(self, *_):
        """End all jobs, daemons and remaining processes."""
        if "slurmctld" in self._daemons:
            with suppress(RuntimeError):  # a daemon has already ended
                self.cancel_all()
        for process in reversed(self._daemons.values()):
            process.terminate()
        for process in reversed(self._daemons.values()):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._daemons.clear()
        _kill(self._processes())

    def _accounts(self):
        with suppress(RuntimeError):
            self.says("sacctmgr", "-n", "show", "cluster")
            return True

    def _wait(self, condition, complaint):
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            dead = [n for n, p in self._daemons.items() if p.poll() is not None]
            if dead or time.monotonic() > deadline:
                raise RuntimeError(f"{complaint}; ended: {dead}\n{self.log()}")
            time.sleep(0.2)

    def log(self):
        """The last lines of every daemon's log."""
        files = sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")])
        return "\n".join(
            f"== {f.name}\n{f.read_text(errors='replace')[-1500:]}" for f in files
        )


def _kill(processes):
    """Kill all processes at once, so that none can report that another ended."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, number)


def _free_ports(number):
    free = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        with suppress(OSError), socket.create_server(("", port)):
            free.append(port)
        if len(free) == number:
            break
    return free

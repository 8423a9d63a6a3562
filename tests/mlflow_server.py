"""An `mlflow ui` server, and processes that log to it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

LOG = """
import json, sys
from adakern_bench.tracking.track import log_records
records = json.load(open(sys.argv[1]))
log_records(records, experiment="demo", tracking_uri=sys.argv[2])
"""


def start_logging(records, uri):
    return subprocess.Popen([sys.executable, "-c", LOG, str(records), uri])


def free_port():
    """A port that is not in use."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serve(uri, folder, arguments=("ui",)):
    """Start the server on a database in a folder; yields its address."""
    port = free_port()
    command = [sys.executable, "-m", "mlflow", *arguments, "--backend-store-uri", uri]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--workers", "1"],
        cwd=folder,
        env=os.environ
        | {
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # saves six processes
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/health", process)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def _wait_for(url, process, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"{url} did not answer; exit status {process.poll()}")

"""The benchmarks of ``make bench`` run and print a ratio."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: What a benchmark calls its ratio.
RATIOS = {
    "cells": "ratio_to_fits",
    "dank": "/ SVC",
    "lab": "plain loop /",
    "nystrom": "exact /",
    "search": "ratio",
    "serve": "of the simple blend",
    "targets": "/ 1 target",
}
#: Take minutes also with --quick.
LONGER = {"adaptive_time", "busy", "gpu", "slurm"}


def test_make_bench_lists_every_benchmark():
    (listed,) = re.findall(r"for name in ([\w ]+); do", (ROOT / "Makefile").read_text())
    assert set(listed.split()) == set(RATIOS) | LONGER


@pytest.mark.slow
@pytest.mark.parametrize("name", RATIOS)
def test_a_benchmark_prints_a_ratio(name):
    command = [sys.executable, ROOT / "benchmarks" / f"{name}.py", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert RATIOS[name] in done.stdout

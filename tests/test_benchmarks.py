"""The benchmarks of ``make bench`` run and print a ratio."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
#: Label of the ratio that a benchmark prints.
RATIOS = {
    "cells": "ratio_to_fits",
    "dank": "/ SVC",
    "lab": "plain loop /",
    "nystrom": "exact /",
    "search": "ratio",
    "serve": "of the simple blend",
    "targets": "/ 1 target",
    "texts": "linear",
}
#: Take minutes also with --quick.
LONGER = {"adaptive_time", "busy", "gpu", "slurm"}


def test_make_bench_lists_every_benchmark():
    (listed,) = re.findall(r"for name in ([\w ]+); do", (ROOT / "Makefile").read_text())
    assert set(listed.split()) == set(RATIOS) | LONGER


@pytest.mark.slow
@pytest.mark.parametrize("name", RATIOS)
def test_benchmark_prints_a_ratio(name):
    command = [sys.executable, ROOT / "benchmarks" / f"{name}.py", "--quick"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert RATIOS[name] in run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("classify", [False, True])
def test_stored_members_of_small_tables_equal_the_flagship(
    tmp_path, monkeypatch, rng, classify
):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import leave_out
    import small_tables

    X = rng.standard_normal((90, 3))
    y = X[:, 0] - X[:, 1] ** 2 + 0.3 * rng.standard_normal(90)
    y = y > 0 if classify else y
    arrays = small_tables.kept(classify, X[:60], y[:60], X[60:], y[60:], 0)
    np.savez(tmp_path / "made.60.0.npz", **arrays)
    draw = leave_out.Kept(tmp_path / "made.60.0.npz")
    whole = draw.loss(list(range(len(draw.names))))
    np.testing.assert_allclose(whole, draw.error(arrays["flagship"]), rtol=1e-10)
    without = [draw.loss([m]) for m in range(len(draw.names))]
    assert not np.allclose(without, whole, rtol=1e-3)

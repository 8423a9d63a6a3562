"""Altered model files do no harm: a part of tools/fuzz_models.py."""

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import fuzz_models

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])
def test_altered_files_are_refused_or_used_without_harm(seed):
    command = [sys.executable, "tools/fuzz_models.py", "--files", "60"]
    run = subprocess.run(
        [*command, "--seed", str(seed)], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "refused" in run.stdout


@pytest.mark.parametrize(
    ("end", "expected"), [(0, 0), (fuzz_models.REFUSED, 3), ("signal", "signal 9")]
)
def test_exit_of_child_process_is_reported(end, expected):
    def child():
        if end == "signal":
            os.kill(os.getpid(), 9)
        return end

    assert fuzz_models.in_child(child)[0] == expected


def test_endless_child_process_is_a_hang():
    def child():
        while True:
            pass

    assert fuzz_models.in_child(child, limit=1)[0] == "hang"


def test_altered_files_differ():
    """Each kind of alteration changes the file, depending on the seed."""
    buffer = io.BytesIO()
    array = io.BytesIO()
    np.save(array, np.arange(80.0))
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", '{"content": [{"a": 1}, {"b": [2]}]}')
        archive.writestr("x.npy", array.getvalue())
    whole, kinds = buffer.getvalue(), set()
    for seed in range(40):
        data, kind = fuzz_models.altered(whole, np.random.default_rng(seed))
        again, _ = fuzz_models.altered(whole, np.random.default_rng(seed))
        assert data == again
        assert data != whole
        kinds.add(kind.split()[0])
    assert kinds == {"bytes", "cut", "array", "header", "schema"}

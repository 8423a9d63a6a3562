"""The project stays one that a newcomer can read."""

import importlib.util
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def size():
    path = ROOT / "benchmarks" / "size.py"
    spec = importlib.util.spec_from_file_location("size", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_code_is_neither_blank_nor_comment_nor_docstring():
    text = '"""A\nmodule."""\n\n# Why.\nx = (\n    1,  # One.\n)\n\n\n'
    text += 'def f():\n    """B."""\n'
    assert size().code_lines(text) == 4


@pytest.mark.parametrize("name", size().BUDGET)
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="counts what git knows")
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_budget_is_kept(name):
    module = size()
    assert module.measured()[name] <= module.BUDGET[name]

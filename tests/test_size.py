"""The project stays one that a newcomer can read."""

import runpy
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


SIZE = runpy.run_path(str(ROOT / "benchmarks" / "size.py"))


def test_code_is_neither_blank_nor_comment_nor_docstring():
    text = '"""A\nmodule."""\n\n# Why.\nx = (\n    1,  # One.\n)\n\n\n'
    text += 'def f():\n    """B."""\n'
    assert SIZE["code_lines"](text) == 4


@pytest.mark.parametrize("name", SIZE["BUDGET"])
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="counts what git knows")
@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_budget_is_kept(name):
    assert SIZE["measured"]()[name] <= SIZE["BUDGET"][name]

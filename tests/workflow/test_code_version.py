"""The code version of a result covers exactly the definitions that it runs."""

import sys

import pytest

from adakern_bench.base.paths import SCRIPTS
from adakern_bench.config import code_version as module

NETWORK = "adakern.baselines.ResNetRegressor"
SVC = "sklearn.svm.SVC"
SOLVE, SEARCH = SCRIPTS / "solve.py", SCRIPTS / "search.py"
NAMES = (NETWORK, SVC, SOLVE, SEARCH)


def clear_caches():
    for cached in (
        module.code_version,
        module._module,
        module._source,
        module._version,
    ):
        getattr(cached, "cache_clear", int)()


@pytest.fixture(autouse=True)
def clear_caches_around_test():
    """Clear the cached code versions before and after each test."""
    clear_caches()
    yield
    clear_caches()


def versions(names):
    clear_caches()
    return {name: module.code_version(name) for name in names}


def names_changed_by(change, names=NAMES):
    before = versions(names)
    change()
    after = versions(names)
    return {name for name in names if before[name] != after[name]}


@pytest.mark.parametrize(
    ("upgraded", "changed"),
    [
        ("torch", {NETWORK}),
        ("sklearn", set(NAMES)),
        ("threadpoolctl", {SVC, SOLVE, SEARCH}),
        ("pandas", {SOLVE, SEARCH}),
        ("snakemake", set()),
    ],
)
def test_package_upgrade_changes_dependent_code(monkeypatch, upgraded, changed):
    real = module._version
    newer = {upgraded: "99.0"}

    def upgrade():
        monkeypatch.setattr(module, "_version", lambda p: newer.get(p) or real(p))

    assert names_changed_by(upgrade) == changed


def test_code_version_imports_nothing():
    module.code_version("snakefmt.Formatter")
    assert "snakefmt" not in sys.modules


OWN = """\
import math as m
from dataclasses import dataclass
from functools import partial
from own_starred import scale
from own_parts import unused
LIMIT = 3
def helper(x):
    return x + LIMIT
@dataclass
class Model:
    '''A docstring.'''
    size: int
    rate: float = 1.0
    def fit(self, X, y=helper(1)) -> "Model":
        z: int = m.floor(2.5)
        return scale(X)
def neighbour():
    return 1
if __name__ == "__main__":
    neighbour()
"""
STARRED = "from own_parts import *\n"
PARTS = """\
def scale(X):
    return X
def unused():
    return 2
"""


@pytest.fixture
def is_code_change(tmp_path, monkeypatch):
    """Return ``is_code_change(old, new)`` for a module in the project."""
    monkeypatch.syspath_prepend(tmp_path)
    files = {"own_model": OWN, "own_parts": PARTS, "own_starred": STARRED}

    def write(changes):
        for name, text in files.items():
            for old, new in changes:
                text = text.replace(old, new)
            (tmp_path / f"{name}.py").write_text(text)

    def counts(old, new):
        assert any(old in text for text in files.values())
        write([])
        return bool(names_changed_by(lambda: write([(old, new)]), ["own_model.Model"]))

    return counts


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("A docstring.", "Another one.", False),
        ("def neighbour():\n    return 1", "def neighbour():\n    return 7", False),
        ("    neighbour()", "    print()", False),
        ("return 2", "return 5", False),
        ("LIMIT = 3\n", "LIMIT = 3  # A comment.\n", False),
        ("return x + LIMIT", "return (\n        x + LIMIT\n    )", False),
        ("from functools import partial\n", "", False),
        ("LIMIT = 3", "LIMIT = 4", True),
        ("x + LIMIT", "x - LIMIT", True),
        ("helper(1)", "helper(2)", True),
        ("    size: int\n", "", True),
        ("@dataclass\n", "", True),
        ("floor(2.5)", "ceil(2.5)", True),
        ("return X", "return 2 * X", True),
        ("class Model:", "class Model(dict):", True),
    ],
)
def test_code_version_depends_on_executed_code(is_code_change, old, new, expected):
    assert is_code_change(old, new) == expected

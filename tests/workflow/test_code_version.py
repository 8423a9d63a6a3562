"""A result's code version follows exactly the definitions that it runs."""

import ast
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import adakern
import adakern_bench
from adakern_bench.config import code_version as module
from adakern_bench.paths import SCRIPTS

PACKAGES = {p.__name__: Path(p.__file__).parent for p in (adakern, adakern_bench)}
KNPL = "adakern.KNPLClassifier"
NYSTROM = "adakern.nystrom.NystromKernelSelector"
UNIFORM = "adakern.baselines.mkl.UniformMKLClassifier"
NETWORK = "adakern.baselines.ResNetRegressor"
SVC = "sklearn.svm.SVC"
SOLVE, SEARCH = SCRIPTS / "solve.py", SCRIPTS / "search.py"
NAMES = (KNPL, NYSTROM, UNIFORM, NETWORK, SVC, SOLVE, SEARCH)


def forget():
    for cached in (module.code_version, module._module, module._source, module._version):
        getattr(cached, "cache_clear", int)()


@pytest.fixture(autouse=True)
def fresh():
    """No answer of another test is remembered, and none of this one."""
    forget()
    yield
    forget()


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """The folder of copies of our packages that a test may edit."""
    specs, real = {}, module.find_spec
    for name, folder in PACKAGES.items():
        copy = tmp_path / name
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
        specs[name] = SimpleNamespace(origin=str(copy / "__init__.py"))
    monkeypatch.setattr(module, "find_spec", lambda name: specs.get(name) or real(name))
    return tmp_path


def versions(names=NAMES):
    forget()
    return {name: module.code_version(name) for name in names}


def changed_by(change, names=NAMES):
    before = versions(names)
    change()
    after = versions(names)
    return {name for name in names if before[name] != after[name]}


def edit(path):
    """Another first statement in every function."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body.append(ast.parse("added = 1").body[0])
    path.write_text(ast.unparse(tree))


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("adakern/knpl/solver.py", {KNPL}),
        # The search shares Gram matrices.
        ("adakern/kernels.py", {KNPL, NYSTROM, UNIFORM, SEARCH}),
        ("adakern/baselines/kernel_svm.py", set()),
        ("adakern/baselines/logdet.py", set()),
        ("adakern/baselines/mkl.py", {UNIFORM}),
        ("adakern_bench/records/prepare.py", {SOLVE, SEARCH}),
        ("adakern/evaluation/metrics.py", {SOLVE}),
        ("adakern/_utils/files.py", {SOLVE, SEARCH}),
    ],
)
def test_only_what_runs_the_edited_file_changes(packages, edited, changed):
    assert changed_by(lambda: edit(packages / edited)) == changed


@pytest.mark.parametrize(
    ("upgraded", "changed"),
    [
        ("torch", {NETWORK}),
        ("sklearn", set(NAMES)),
        ("threadpoolctl", {SVC, SOLVE, SEARCH}),
        ("pandas", set()),
        ("snakemake", set()),
    ],
)
def test_an_upgraded_package_changes_what_runs_on_it(monkeypatch, upgraded, changed):
    real = module._version
    newer = {upgraded: "99.0"}

    def upgrade():
        monkeypatch.setattr(module, "_version", lambda p: newer.get(p) or real(p))

    assert changed_by(upgrade) >= changed
    if not changed:
        assert changed_by(upgrade) == set()


def test_nothing_is_imported():
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
def own(tmp_path, monkeypatch):
    """A module of the project's own: ``own(old, new)`` says whether a change counts."""
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
        return bool(changed_by(lambda: write([(old, new)]), ["own_model.Model"]))

    return counts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A docstring.", "Another one."),
        ("def neighbour():\n    return 1", "def neighbour():\n    return 7"),
        ("    neighbour()", "    print()"),
        ("return 2", "return 5"),
        ("LIMIT = 3\n", "LIMIT = 3  # A comment.\n"),
        ("return x + LIMIT", "return (\n        x + LIMIT\n    )"),
        ("from functools import partial\n", ""),
    ],
)
def test_a_change_that_does_not_count(own, old, new):
    assert not own(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("x + LIMIT", "x - LIMIT"),
        ("helper(1)", "helper(2)"),
        ("    size: int\n", ""),
        ("@dataclass\n", ""),
        ("floor(2.5)", "ceil(2.5)"),
        ("return X", "return 2 * X"),
        ("class Model:", "class Model(dict):"),
    ],
)
def test_a_change_that_counts(own, old, new):
    assert own(old, new)

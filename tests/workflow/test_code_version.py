"""A result's code version follows exactly the sources that it runs."""

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import adakern
from adakern.bench.runtime import code_version as module

PACKAGE = Path(adakern.__file__).parent
KNPL = "adakern.knpl.KNPLClassifier"
NYSTROM = "adakern.nystrom.NystromKernelSelector"
UNIFORM = "adakern.baselines.uniform_mkl.UniformMKLClassifier"
SVC = "sklearn.svm.SVC"
SOLVE = "adakern.bench.stages.solve"


@pytest.fixture
def versions(tmp_path, monkeypatch):
    """Code versions of names, from a copy of the package that a test may edit."""
    copy = tmp_path / "adakern"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    origin = SimpleNamespace(origin=str(copy / "__init__.py"))
    monkeypatch.setattr(module, "find_spec", lambda name: origin)

    def ask(*names):
        clear_caches()
        return {name: module.code_version(name) for name in names}

    ask.package = copy
    yield ask
    clear_caches()


def clear_caches():
    module.code_version.cache_clear()
    module._source.cache_clear()


def edit(path):
    path.write_text(path.read_text() + "\n# A change.\n")


@pytest.mark.parametrize(
    ("edited", "changed"),
    [
        ("knpl/solver.py", {KNPL}),
        ("kernels.py", {KNPL, NYSTROM, UNIFORM}),
        ("baselines/easymkl.py", set()),
        ("baselines/uniform_mkl.py", {UNIFORM}),
        ("bench/stages/report.py", set()),
        ("bench/stages/prepare.py", {SOLVE}),
        ("_utils/files.py", {SOLVE}),
        ("bench/report/tracking.py", set()),
    ],
)
def test_only_what_runs_the_edited_file_changes(versions, edited, changed):
    names = (KNPL, NYSTROM, UNIFORM, SVC, SOLVE)
    before = versions(*names)
    edit(versions.package / edited)
    after = versions(*names)
    assert {name for name in names if before[name] != after[name]} == changed


def test_a_name_re_exported_at_the_top_is_followed(versions):
    (versions.package / "__init__.py").write_text(
        "from adakern.knpl import KNPLClassifier\n"
    )
    before = versions("adakern.KNPLClassifier", SVC)
    edit(versions.package / "knpl" / "classifier.py")
    after = versions("adakern.KNPLClassifier", SVC)
    assert before["adakern.KNPLClassifier"] != after["adakern.KNPLClassifier"]
    assert before[SVC] == after[SVC]


def test_packages_count_with_their_version(versions):
    found = versions(SVC, "sklearn.svm.SVR", "snakefmt.Formatter", SOLVE)
    assert found[SVC] == found["sklearn.svm.SVR"]
    assert len({found[SVC], found["snakefmt.Formatter"], found[SOLVE]}) == 3
    assert all(len(version) == 12 for version in found.values())
    assert "snakefmt" not in sys.modules, "nothing is imported"

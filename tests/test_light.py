"""Distributions hold the library: they need what pyproject.toml declares, no more."""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import adakern

ROOT = Path(__file__).parents[1]

#: Run by a Python that has the library and its dependencies alone.
PROGRAM = """
import importlib, importlib.util, pkgutil
import adakern
for name in ("pandas", "skops", "snakemake", "hydra", "mlflow", "matplotlib", "torch"):
    assert importlib.util.find_spec(name) is None, name
modules = [m.name for m in pkgutil.walk_packages(adakern.__path__, "adakern.")]
for name in modules:
    importlib.import_module(name)
for name in adakern.__all__:
    getattr(adakern, name)
X, y = importlib.import_module("adakern.datasets").make_clowns(n=60, random_state=0)[:2]
for model in (adakern.AdaptiveKernelClassifier(), adakern.DANKClassifier()):
    assert model.fit(X, y).score(X, y) > 0.5
print(adakern.__file__, len(modules))
"""


def call(*command, **options):
    """What a command prints; it is to end without an error."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with what ``make dist`` makes."""
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, ROOT / "tools" / "dist.py", "--output", folder)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("file", ["adakern-*.whl", "adakern-*.tar.gz"])
def test_a_distribution_in_an_empty_environment(file, built, tmp_path):
    (distribution,) = built.glob(file)
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", distribution)
    assert declared() <= names(call(python, "-m", "pip", "freeze").splitlines())
    adakern_there = tmp_path / "empty" / "bin" / "adakern"
    assert "fit" in call(adakern_there, "--help", cwd=tmp_path)
    imported, modules = call(python, "-c", PROGRAM, cwd=tmp_path).split()
    assert str(tmp_path) in imported and int(modules) > 50
    (tmp_path / "my.csv").write_text("a,b\n1,2\n3,4\n")
    command = [adakern_there, "fit", "my.csv", "--target", "b"]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 1 and 'pip install "adakern[table]"' in said.stderr


def test_every_file_names_the_same_version():
    assert project("workflow")["version"] == adakern.__version__
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {adakern.__version__}\n" in cited
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert changes.partition("\n## ")[2].startswith(f"{adakern.__version__}, ")


def names(requirements):
    """Normalised names of the packages in a list of requirements."""
    found = (re.match("[A-Za-z0-9._-]+", line).group() for line in requirements)
    return {re.sub("[-_.]+", "-", name).lower() for name in found}


def project(folder="."):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def declared():
    """Names of the library's own dependencies."""
    return names(project()["dependencies"])


@pytest.mark.parametrize(
    ("lock", "workflow", "extras"),
    [("workflow", True, []), ("test", True, ["test"]), ("oldest", False, [])],
)
def test_every_declared_package_is_in_the_lock_file(lock, workflow, extras):
    needed = declared()
    for extra in extras:
        needed |= names(project()["optional-dependencies"][extra])
    if workflow:
        needed |= names(project("workflow")["dependencies"]) - {"adakern"}
    lines = (ROOT / "requirements" / f"{lock}.txt").read_text().splitlines()
    assert needed <= names(line for line in lines if "==" in line and line[0] != " ")

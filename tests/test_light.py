"""The wheel is the library: it needs what pyproject.toml declares, and nothing else."""

import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Run by a Python that has the wheel and its dependencies alone.
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


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_wheel_in_an_empty_environment(tmp_path):
    def call(*command):
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    for name in (
        "src",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    ):  # a build leaves files
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    built = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path)
    call(sys.executable, "-m", "pip", *built, tmp_path)
    (wheel,) = tmp_path.glob("adakern-*.whl")
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", wheel)
    assert declared() <= names(call(python, "-m", "pip", "freeze").splitlines())
    adakern_there = tmp_path / "empty" / "bin" / "adakern"
    assert "fit" in call(adakern_there, "--help")
    file, modules = call(python, "-c", PROGRAM).split()
    assert str(tmp_path) in file and int(modules) > 50
    (tmp_path / "my.csv").write_text("a,b\n1,2\n3,4\n")
    command = [adakern_there, "fit", "my.csv", "--target", "b"]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 1 and 'pip install "adakern[table]"' in said.stderr


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

"""Distributions contain the library and need only the declared dependencies."""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import adakern

ROOT = Path(__file__).parents[1]

#: Run in an environment with only the library and its dependencies.
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


def run_command(*command, **options):
    """The output of a command that must succeed."""
    run = subprocess.run(command, capture_output=True, text=True, **options)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The folder written by ``make dist``."""
    folder = tmp_path_factory.mktemp("dist")
    run_command(sys.executable, ROOT / "tools" / "dist.py", "--output", folder)
    return folder


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("file", ["adakern-*.whl", "adakern-*.tar.gz"])
def test_distribution_in_an_empty_environment(file, distributions, tmp_path):
    (distribution,) = distributions.glob(file)
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    run_command(python, "-m", "pip", "install", "--quiet", distribution)
    assert declared_dependencies() <= package_names(
        run_command(python, "-m", "pip", "freeze").splitlines()
    )
    adakern_there = tmp_path / "empty" / "bin" / "adakern"
    assert "fit" in run_command(adakern_there, "--help", cwd=tmp_path)
    imported, modules = run_command(python, "-c", PROGRAM, cwd=tmp_path).split()
    assert str(tmp_path) in imported and int(modules) > 50
    (tmp_path / "my.csv").write_text("a,b\n1,2\n3,4\n")
    command = [adakern_there, "fit", "my.csv", "--target", "b"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 1 and 'pip install "adakern[table]"' in run.stderr


def test_all_files_have_the_same_version():
    assert project_table("workflow")["version"] == adakern.__version__
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {adakern.__version__}\n" in cited
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert changes.partition("\n## ")[2].startswith(f"{adakern.__version__}, ")


def package_names(requirements):
    """Normalised names of the packages in a list of requirements."""
    matches = (re.match("[A-Za-z0-9._-]+", line).group() for line in requirements)
    return {re.sub("[-_.]+", "-", name).lower() for name in matches}


def project_table(folder="."):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def declared_dependencies():
    """Names of the dependencies of the library."""
    return package_names(project_table()["dependencies"])


@pytest.mark.parametrize(
    ("lock", "workflow", "extras"),
    [("workflow", True, []), ("test", True, ["test"]), ("oldest", False, [])],
)
def test_declared_packages_are_in_the_lock_file(lock, workflow, extras):
    needed = declared_dependencies()
    for extra in extras:
        needed |= package_names(project_table()["optional-dependencies"][extra])
    if workflow:
        needed |= package_names(project_table("workflow")["dependencies"]) - {"adakern"}
    lines = (ROOT / "requirements" / f"{lock}.txt").read_text().splitlines()
    assert needed <= package_names(
        line for line in lines if "==" in line and line[0] != " "
    )

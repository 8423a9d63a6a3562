"""The library needs what pyproject.toml declares for it, and nothing else."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import adakern

PACKAGE = Path(adakern.__file__).parent

PROGRAM = """
import importlib
import pkgutil
import re
import sys
from importlib.metadata import packages_distributions, requires

def with_requirements(distributions):
    # Normalised names of distributions and of all that they require.
    found, pending = set(), list(distributions)
    while pending:
        name = re.sub("[-_.]+", "-", pending.pop()).lower()
        if name in found:
            continue
        found.add(name)
        pending += [
            re.match("[A-Za-z0-9._-]+", requirement).group()
            for requirement in requires(name) or []
            if "extra ==" not in requirement
        ]
    return found

KEPT = with_requirements({declared})
ABSENT = {
    name
    for name, distributions in packages_distributions().items()
    if name != "adakern"
    and not name.startswith("_")
    and not KEPT & {re.sub("[-_.]+", "-", d).lower() for d in distributions}
}

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ABSENT & set(sys.modules):  # what the start-up of Python brought along
    del sys.modules[name]
sys.meta_path.insert(0, Refuse())
for name in ("snakemake", "hydra", "mlflow", "pandas", "matplotlib", "torch"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        continue
    raise AssertionError(f"{name} can be imported")

import adakern

library = [
    module.name for module in pkgutil.walk_packages(adakern.__path__, "adakern.")
]
for name in library:
    importlib.import_module(name)
for name in getattr(adakern, "__all__", []):
    getattr(adakern, name)

from adakern.baselines import UniformMKLClassifier
from adakern.datasets import make_clowns

X, y = make_clowns(n=60, random_state=0)[:2]
assert UniformMKLClassifier().fit(X, y).score(X, y) > 0.5
print(len(library))
"""


def normalised(name):
    return re.sub("[-_.]+", "-", name).lower()


ROOT = PACKAGE.parents[1]


def names(requirements):
    """Normalised names of the packages in a list of requirements."""
    return {normalised(re.match("[A-Za-z0-9._-]+", r).group()) for r in requirements}


def project(folder="."):
    return tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]


def declared():
    """Names of the library's own dependencies."""
    return names(project()["dependencies"])


def test_every_import_of_the_library_is_a_declared_dependency():
    distributions, undeclared = packages_distributions(), {}
    for file in PACKAGE.rglob("*.py"):
        for statement in ast.parse(file.read_text()).body:
            if isinstance(statement, ast.ImportFrom):
                modules = [statement.module]
            else:
                modules = [a.name for a in getattr(statement, "names", [])]
            for name in {module.partition(".")[0] for module in modules}:
                owners = map(normalised, distributions.get(name, [name]))
                if (
                    name != "adakern"
                    and name not in sys.stdlib_module_names
                    and not declared() & set(owners)
                ):
                    undeclared[str(file.relative_to(PACKAGE))] = name
    assert not undeclared


def test_library_without_the_workflow_extras():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{declared}", repr(sorted(declared())))],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 10


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

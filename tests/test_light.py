"""The library needs NumPy, SciPy, scikit-learn and array-api-compat, nothing else."""

import subprocess
import sys

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

KEPT = with_requirements(["numpy", "scipy", "scikit-learn", "array-api-compat"])
ABSENT = {
    name
    for name, distributions in packages_distributions().items()
    if name != "adakern"
    and not name.startswith("_")
    and not KEPT & {re.sub("[-_.]+", "-", d).lower() for d in distributions}
}
assert {"snakemake", "hydra", "mlflow", "pandas", "matplotlib", "torch"} <= ABSENT

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ABSENT & set(sys.modules):  # what the start-up of Python brought along
    del sys.modules[name]
sys.meta_path.insert(0, Refuse())

import adakern

library = [
    module.name
    for module in pkgutil.walk_packages(adakern.__path__, "adakern.")
    if not module.name.startswith("adakern.bench")
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


def test_library_without_the_workflow_extras():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 10

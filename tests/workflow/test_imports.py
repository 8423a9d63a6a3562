"""Imports run one way: base, config, data, records, report, tracking, cli."""

import ast

import pytest

from project import REPOSITORY

PACKAGES = ["base", "config", "data", "records", "report", "tracking", "cli"]
WORKFLOW = REPOSITORY / "workflow" / "adakern_bench"


def imported(path):
    """Dotted names of what a file imports, inside of functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_of_the_workflow_imports_a_later_one(package):
    later = PACKAGES[PACKAGES.index(package) + 1 :]
    back = {
        f"{path.relative_to(WORKFLOW)} imports {name}"
        for path in (WORKFLOW / package).rglob("*.py")
        for name in imported(path)
        if name.split(".")[0] == "adakern_bench" and name.split(".")[1] in later
    }
    assert not back


def test_every_module_of_the_workflow_is_in_one_of_the_packages():
    loose = {path.parts[0] for path in map(_place, WORKFLOW.rglob("*.py"))}
    assert loose == {*PACKAGES, "__init__.py"}


def _place(path):
    return path.relative_to(WORKFLOW)


def test_the_library_imports_no_workflow():
    tools = {"adakern_bench", "snakemake", "hydra", "omegaconf", "mlflow"}
    for path in (REPOSITORY / "src").rglob("*.py"):
        assert tools.isdisjoint(name.split(".")[0] for name in imported(path)), path

"""Imports go in one direction: base, config, data, records, report, tracking, cli."""

import ast

import pytest

from project import REPOSITORY

PACKAGES = ["base", "config", "data", "records", "report", "tracking", "cli"]
WORKFLOW = REPOSITORY / "workflow" / "adakern_bench"


def imported(path):
    """Dotted names of the imports of a file, including those within functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("package", PACKAGES)
def test_package_does_not_import_later_packages(package):
    later = PACKAGES[PACKAGES.index(package) + 1 :]
    backward_imports = {
        f"{path.relative_to(WORKFLOW)} imports {name}"
        for path in (WORKFLOW / package).rglob("*.py")
        for name in imported(path)
        if name.split(".")[0] == "adakern_bench" and name.split(".")[1] in later
    }
    assert not backward_imports


def test_every_module_belongs_to_a_package():
    top_level = {path.parts[0] for path in map(_place, WORKFLOW.rglob("*.py"))}
    assert top_level == {*PACKAGES, "__init__.py"}


def _place(path):
    return path.relative_to(WORKFLOW)


def test_library_does_not_import_the_workflow():
    tools = {"adakern_bench", "snakemake", "hydra", "omegaconf", "mlflow"}
    for path in (REPOSITORY / "src").rglob("*.py"):
        assert tools.isdisjoint(name.split(".")[0] for name in imported(path)), path

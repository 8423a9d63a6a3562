"""Docstrings of the API pages describe all parameters."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

docscrape = pytest.importorskip("numpydoc.docscrape")

API = Path(__file__).parent.parent / "docs" / "api.rst"
NAMES = re.findall(r"^   ([\w.]+)$", API.read_text(), re.MULTILINE)


def documented_members(name):
    """The class or function of this name, and the public methods of a class."""
    module, _, last = f"adakern.{name}".rpartition(".")
    thing = getattr(importlib.import_module(module), last)
    yield name, thing
    if inspect.isclass(thing):
        for method, member in inspect.getmembers(thing, inspect.isroutine):
            own = (getattr(member, "__module__", None) or "").startswith("adakern.")
            if own and not method.startswith("_"):
                yield f"{name}.{method}", member


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_described(name):
    wanting = {}
    for path, thing in documented_members(name):
        arguments = set(inspect.signature(thing).parameters) - {"self", "cls", "_"}
        sections = docscrape.NumpyDocString(inspect.getdoc(thing) or "")
        documented = {
            part.strip(" *")
            for section in ("Parameters", "Attributes")
            for parameter in sections[section]
            for part in parameter.name.split(",")
        }
        if missing := arguments - documented:
            wanting[path] = sorted(missing)
    assert not wanting

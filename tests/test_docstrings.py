"""Every public function with arguments says what they are."""

import importlib
import inspect
import pkgutil

import pytest

import adakern

docscrape = pytest.importorskip("numpydoc.docscrape")


def is_private(module):
    return any(part.startswith("__") for part in module.split("."))


def functions_of(module):
    """Public functions and methods written in this module, with their names."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", "") != module.__name__:
            continue
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            for method, member in vars(value).items():
                function = getattr(member, "__func__", member)
                if not method.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{method}", getattr(value, method)


MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(adakern.__path__, "adakern.")
    if not is_private(name)
]


@pytest.mark.parametrize("name", MODULES)
def test_parameters_are_described(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    wanting = {}
    for function, value in functions_of(module):
        arguments = set(inspect.signature(value).parameters) - {"self", "cls", "_"}
        sections = docscrape.NumpyDocString(inspect.getdoc(value) or "")
        documented = {
            part.strip(" *")
            for parameter in sections["Parameters"]
            for part in parameter.name.split(",")
        }
        if missing := arguments - documented:
            wanting[function] = sorted(missing)
    assert not wanting

"""Finds every public estimator of adakern, so that none escapes a shared test."""

import importlib
import importlib.util
import inspect
import pkgutil

import adakern


def all_estimators():
    """The estimator classes that ``adakern`` and its rooms export, by name."""
    rooms = [adakern]
    for module in pkgutil.iter_modules(adakern.__path__, "adakern."):
        if module.ispkg:
            rooms.append(importlib.import_module(module.name))
    exported = {name: room for room in rooms for name in dir(room) if name[0].isupper()}
    members = [getattr(exported[name], name) for name in sorted(exported)]
    return [member for member in members if _can_be_fitted(member)]


def _can_be_fitted(member):
    """Whether it is an estimator without required arguments whose packages are here.

    A search needs an estimator: tests/test_estimators.py gives it some.
    """
    if not (inspect.isclass(member) and hasattr(member, "fit")):
        return False
    parameters = inspect.signature(member).parameters.values()
    if any(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters):
        return False
    packages = getattr(member, "_required_packages", ())
    return all(importlib.util.find_spec(package) for package in packages)

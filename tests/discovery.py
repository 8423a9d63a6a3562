"""Discovery of the public estimators of adakern, for the common tests."""

import importlib
import importlib.util
import inspect
import pkgutil

import adakern


def all_estimators():
    """The estimator classes exported by ``adakern`` and its packages,
    sorted by name.
    """
    packages = [adakern]
    for module in pkgutil.iter_modules(adakern.__path__, "adakern."):
        if module.ispkg:
            packages.append(importlib.import_module(module.name))
    exported = {
        name: package
        for package in packages
        for name in dir(package)
        if name[0].isupper()
    }
    members = [getattr(exported[name], name) for name in sorted(exported)]
    return [member for member in members if _can_be_fitted(member)]


def _can_be_fitted(member):
    """Whether it is an estimator without required arguments whose packages are
    installed. A search needs an estimator: tests/test_estimators.py adds some.
    """
    if not (inspect.isclass(member) and hasattr(member, "fit")):
        return False
    parameters = inspect.signature(member).parameters.values()
    if any(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters):
        return False
    packages = getattr(member, "_required_packages", ())
    return all(importlib.util.find_spec(package) for package in packages)

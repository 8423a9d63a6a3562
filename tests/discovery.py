"""Finds every public estimator of adakern, so that none escapes a shared test."""

import importlib
import importlib.util
import inspect
import pkgutil

from sklearn.base import BaseEstimator

import adakern


def all_estimators():
    """Public, concrete estimator classes defined anywhere below ``adakern``."""
    found = {}
    for module in pkgutil.walk_packages(adakern.__path__, "adakern."):
        try:
            contents = importlib.import_module(module.name)
        except ModuleNotFoundError:  # the extra "workflow" is not installed
            if not module.name.startswith("adakern_bench."):
                raise
            continue
        for name, member in inspect.getmembers(contents):
            if (
                inspect.isclass(member)
                and issubclass(member, BaseEstimator)
                and member.__module__.startswith("adakern.")
                and not name.startswith("_")
                and not inspect.isabstract(member)
                and hasattr(member, "fit")
                and _can_be_fitted(member)
            ):
                found[member.__qualname__] = member
    return [found[name] for name in sorted(found)]


def _can_be_fitted(estimator):
    """Whether it needs no argument and the packages that it names are installed.

    A search needs an estimator; tests/test_model_selection.py has scikit-learn's checks
    of it.
    """
    required = [
        parameter
        for parameter in inspect.signature(estimator).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind != parameter.VAR_KEYWORD
    ]
    if required:
        return False
    packages = getattr(estimator, "_required_packages", ())
    return all(importlib.util.find_spec(package) for package in packages)

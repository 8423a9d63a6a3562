"""Docstrings of the API pages describe all parameters."""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import is_classifier

from discovery import all_estimators

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


@pytest.mark.parametrize("kind", all_estimators())
def test_fitted_attributes_are_described(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(40)
    estimator = kind()
    before = set(vars(estimator))
    estimator.fit(X, (y > 0).astype(int) if is_classifier(estimator) else y)
    fitted = {
        name
        for name in vars(estimator)
        if name.endswith("_") and not name.startswith("_")
    }
    sections = docscrape.NumpyDocString(inspect.getdoc(kind))
    documented = {
        part.strip()
        for attribute in sections["Attributes"]
        for part in attribute.name.split(",")
    }
    # scikit-learn's developer guide describes these.
    assert fitted - before - documented <= {"n_features_in_", "feature_names_in_"}

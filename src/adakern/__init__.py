"""Kernels that adapt to the data: scikit-learn compatible learned-kernel estimators."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from adakern._utils.warn import warn_user
from adakern._version import __version__ as __version__

# A family is imported when one of its names is first used: what plans a thousand jobs,
# or solves with one family, does without the others.
if TYPE_CHECKING:
    from adakern.adaptive import AdaptiveKernelClassifier, AdaptiveKernelRegressor
    from adakern.dank import DANKClassifier, DANKRegressor
    from adakern.knpl import KNPLClassifier
    from adakern.lab import AsymmetricKernelRidge, LABRBFRegressor
    from adakern.nystrom import (
        CriterionNystroem,
        NystromKernelSelector,
        SelectedKernelRidgeClassifier,
    )

__all__ = [
    "AdaptiveKernelClassifier",
    "AdaptiveKernelRegressor",
    "AsymmetricKernelRidge",
    "CriterionNystroem",
    "DANKClassifier",
    "DANKRegressor",
    "KNPLClassifier",
    "LABRBFRegressor",
    "NystromKernelSelector",
    "SelectedKernelRidgeClassifier",
]

_FAMILIES = {
    "AdaptiveKernelClassifier": "adaptive",
    "AdaptiveKernelRegressor": "adaptive",
    "AsymmetricKernelRidge": "lab",
    "CriterionNystroem": "nystrom",
    "DANKClassifier": "dank",
    "DANKRegressor": "dank",
    "KNPLClassifier": "knpl",
    "LABRBFRegressor": "lab",
    "NystromKernelSelector": "nystrom",
    "SelectedKernelRidgeClassifier": "nystrom",
}


def __getattr__(name):
    """A public name, a room, or a baseline at its place of version 0.1."""
    if name in _FAMILIES:
        value = getattr(import_module(f"adakern.{_FAMILIES[name]}"), name)
        globals()[name] = value  # asked for once
        return value
    if find_spec(f"adakern.{name}"):
        return import_module(f"adakern.{name}")
    baselines = import_module("adakern.baselines")
    if name in baselines.__all__:
        warn_user(
            f"adakern.{name} is deprecated and will be gone in version 0.3; "
            f"use adakern.baselines.{name}",
            FutureWarning,
        )
        return getattr(baselines, name)
    raise AttributeError(f"module 'adakern' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})

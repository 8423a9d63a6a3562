"""Kernels that adapt to the data: scikit-learn compatible learned-kernel estimators."""

from importlib import import_module

from adakern._utils.warn import warn_user
from adakern._version import __version__ as __version__
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


def __getattr__(name):
    """The methods that the papers compare with, at the place of version 0.1."""
    baselines = import_module("adakern.baselines")
    if name in baselines.__all__:
        warn_user(
            f"adakern.{name} is deprecated and will be gone in version 0.3; "
            f"use adakern.baselines.{name}",
            FutureWarning,
        )
        return getattr(baselines, name)
    raise AttributeError(f"module 'adakern' has no attribute {name!r}")

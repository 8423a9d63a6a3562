"""Kernels that adapt to the data: scikit-learn compatible learned-kernel estimators."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adakern._version import __version__ as __version__

# Planning a thousand jobs takes no estimator: they are imported, which is slow because
# of scikit-learn, when one of them is first used.
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


def __getattr__(name: str) -> Any:
    """Import the estimators or a subpackage on first use."""
    if name in __all__:
        for family in ("adaptive", "dank", "knpl", "lab", "nystrom"):
            found = vars(import_module(f"adakern.{family}"))
            globals().update({each: found[each] for each in __all__ if each in found})
        return globals()[name]
    if find_spec(f"adakern.{name}"):
        return import_module(f"adakern.{name}")
    raise AttributeError(f"module 'adakern' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Kernels that adapt to the data: scikit-learn compatible learned-kernel estimators."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adakern._version import __version__ as __version__

# Planning a thousand jobs takes no estimator: they are imported, which is slow because
# of scikit-learn, when one of them is first used.
if TYPE_CHECKING:
    from adakern.adaptive import AdaptiveKernelClassifier as AdaptiveKernelClassifier
    from adakern.adaptive import AdaptiveKernelRegressor as AdaptiveKernelRegressor
    from adakern.dank import DANKClassifier as DANKClassifier
    from adakern.dank import DANKRegressor as DANKRegressor
    from adakern.knpl import KNPLClassifier as KNPLClassifier
    from adakern.lab import AsymmetricKernelRidge as AsymmetricKernelRidge
    from adakern.lab import LABRBFRegressor as LABRBFRegressor
    from adakern.nystrom import CriterionNystroem as CriterionNystroem
    from adakern.nystrom import NystromKernelSelector as NystromKernelSelector
    from adakern.nystrom import (
        SelectedKernelRidgeClassifier as SelectedKernelRidgeClassifier,
    )

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

__all__ = list(_FAMILIES)


def __getattr__(name: str) -> Any:
    """Import the estimators or a subpackage on first use."""
    if name in _FAMILIES:
        for each, family in _FAMILIES.items():
            globals()[each] = getattr(import_module(f"adakern.{family}"), each)
        return globals()[name]
    if find_spec(f"adakern.{name}"):
        return import_module(f"adakern.{name}")
    raise AttributeError(f"module 'adakern' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FAMILIES})

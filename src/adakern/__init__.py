"""Kernels that adapt to the data: scikit-learn compatible learned-kernel estimators."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from adakern._version import __version__ as __version__

# A family of estimators is imported when one of its names is first used. Planning a
# thousand jobs, or using one family, does not import the others.
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
    """Import a public name or a subpackage on first use."""
    if name in _FAMILIES:
        value = getattr(import_module(f"adakern.{_FAMILIES[name]}"), name)
        globals()[name] = value  # later uses do not call this function
        return value
    if find_spec(f"adakern.{name}"):
        return import_module(f"adakern.{name}")
    raise AttributeError(f"module 'adakern' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FAMILIES})

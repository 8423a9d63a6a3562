"""The flagship: for people who bring a table and do not want to choose."""

from adakern.adaptive.base import DEFAULTS_VERSION
from adakern.adaptive.classifier import AdaptiveKernelClassifier
from adakern.adaptive.plan import MEMBERS
from adakern.adaptive.plot import plot_adaptive
from adakern.adaptive.regressor import AdaptiveKernelRegressor

__all__ = [
    "DEFAULTS_VERSION",
    "MEMBERS",
    "AdaptiveKernelClassifier",
    "AdaptiveKernelRegressor",
    "plot_adaptive",
]

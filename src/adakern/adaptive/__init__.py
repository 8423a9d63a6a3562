"""The flagship: for people who bring a table and do not want to choose."""

from adakern.adaptive.base import DEFAULTS_VERSION as DEFAULTS_VERSION
from adakern.adaptive.classifier import (
    AdaptiveKernelClassifier as AdaptiveKernelClassifier,
)
from adakern.adaptive.members.plan import MEMBERS as MEMBERS
from adakern.adaptive.plot import plot_adaptive as plot_adaptive
from adakern.adaptive.regressor import (
    AdaptiveKernelRegressor as AdaptiveKernelRegressor,
)

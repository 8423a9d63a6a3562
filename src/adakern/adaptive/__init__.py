"""Adaptive estimators: blends for tabular data that need no tuning."""

from adakern.adaptive.base import DEFAULTS_VERSION as DEFAULTS_VERSION
from adakern.adaptive.classifier import (
    AdaptiveKernelClassifier as AdaptiveKernelClassifier,
)
from adakern.adaptive.explain import Explanation as Explanation
from adakern.adaptive.members import REGISTRY
from adakern.adaptive.plot import plot_adaptive as plot_adaptive
from adakern.adaptive.regressor import (
    AdaptiveKernelRegressor as AdaptiveKernelRegressor,
)
from adakern.adaptive.shift import ShiftReport as ShiftReport

#: Names of the members, in decreasing order of usefulness for their time.
MEMBERS = tuple(REGISTRY)

"""DANK: data-adaptive nonparametric kernels in support vector machines."""

from adakern.dank._classifier import DANKClassifier
from adakern.dank._regressor import DANKRegressor

__all__ = ["DANKClassifier", "DANKRegressor"]

"""DANK: data-adaptive nonparametric kernels in support vector machines."""

from adakern.dank.classifier import DANKClassifier
from adakern.dank.regressor import DANKRegressor

__all__ = [
    "DANKClassifier",
    "DANKRegressor",
]

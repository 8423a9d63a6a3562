"""DANK: data-adaptive nonparametric kernels in support vector machines."""

from adakern.dank.classifier import DANKClassifier as DANKClassifier
from adakern.dank.regressor import DANKRegressor as DANKRegressor

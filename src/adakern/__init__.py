"""Kernels that adapt to the data: scikit-learn compatible learned-kernel estimators."""

from adakern.baselines import (
    EasyMKL,
    SimpleMKLClassifier,
    SimpleMKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from adakern.knpl import KNPLClassifier
from adakern.nystrom import CriterionNystroem, NystromKernelSelector

__version__ = "0.1.0"
__all__ = [
    "CriterionNystroem",
    "EasyMKL",
    "KNPLClassifier",
    "NystromKernelSelector",
    "SimpleMKLClassifier",
    "SimpleMKLRegressor",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
]

"""Kernels that adapt to the data: scikit-learn compatible learned-kernel estimators."""

from adakern.baselines import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ClusterwiseClassifier,
    DeepMKL,
    EasyMKL,
    LogDetKernel,
    MetricNadarayaWatson,
    RandomFeatureAlignment,
    SimpleMKLClassifier,
    SimpleMKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
)
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.knpl import KNPLClassifier
from adakern.lab import AsymmetricKernelRidge, LABRBFRegressor
from adakern.nystrom import CriterionNystroem, NystromKernelSelector

__version__ = "0.1.0"
__all__ = [
    "AsymmetricKernelRidge",
    "BayesianMKLClassifier",
    "BayesianMKLRegressor",
    "ClusterwiseClassifier",
    "CriterionNystroem",
    "DANKClassifier",
    "DANKRegressor",
    "DeepMKL",
    "EasyMKL",
    "KNPLClassifier",
    "LABRBFRegressor",
    "LogDetKernel",
    "MetricNadarayaWatson",
    "NystromKernelSelector",
    "RandomFeatureAlignment",
    "SimpleMKLClassifier",
    "SimpleMKLRegressor",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
]

"""Kernels that adapt to the data: scikit-learn compatible learned-kernel estimators."""

from adakern._version import __version__ as __version__
from adakern.adaptive import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.baselines import (
    BayesianMKLClassifier,
    BayesianMKLRegressor,
    ClusterwiseClassifier,
    DeepMKL,
    EasyMKL,
    EigenProRegressor,
    FalkonRegressor,
    LogDetKernel,
    MetricNadarayaWatson,
    RandomFeatureAlignment,
    ResNetRegressor,
    RFMRegressor,
    SimpleMKLClassifier,
    SimpleMKLRegressor,
    UniformMKLClassifier,
    UniformMKLRegressor,
    WideNetworkRegressor,
)
from adakern.dank import DANKClassifier, DANKRegressor
from adakern.knpl import KNPLClassifier
from adakern.lab import AsymmetricKernelRidge, LABRBFRegressor
from adakern.nystrom import (
    CriterionNystroem,
    NystromKernelSelector,
    SelectedKernelRidgeClassifier,
)

__all__ = [
    "AdaptiveKernelClassifier",
    "AdaptiveKernelRegressor",
    "AsymmetricKernelRidge",
    "BayesianMKLClassifier",
    "BayesianMKLRegressor",
    "ClusterwiseClassifier",
    "CriterionNystroem",
    "DANKClassifier",
    "DANKRegressor",
    "DeepMKL",
    "EasyMKL",
    "EigenProRegressor",
    "FalkonRegressor",
    "KNPLClassifier",
    "LABRBFRegressor",
    "LogDetKernel",
    "MetricNadarayaWatson",
    "NystromKernelSelector",
    "RFMRegressor",
    "RandomFeatureAlignment",
    "ResNetRegressor",
    "SelectedKernelRidgeClassifier",
    "SimpleMKLClassifier",
    "SimpleMKLRegressor",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
    "WideNetworkRegressor",
]

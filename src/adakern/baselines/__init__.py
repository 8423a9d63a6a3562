"""Baselines: the methods that the papers compare with."""

from adakern.baselines.alignment import RandomFeatureAlignment
from adakern.baselines.bayesian_mkl import BayesianMKLClassifier, BayesianMKLRegressor
from adakern.baselines.clusterwise import ClusterwiseClassifier
from adakern.baselines.deep_mkl import DeepMKL
from adakern.baselines.eigenpro import EigenProRegressor
from adakern.baselines.falkon import FalkonRegressor
from adakern.baselines.kernel_bank import KernelBank
from adakern.baselines.kernel_svm import KernelSVC, KernelSVR
from adakern.baselines.logdet import LogDetKernel
from adakern.baselines.loo_ridge import (
    LOOKernelRidgeClassifier,
    LOOKernelRidgeRegressor,
)
from adakern.baselines.mkl import EasyMKL, SimpleMKLRegressor, UniformMKLClassifier
from adakern.baselines.nadaraya_watson import MetricNadarayaWatson
from adakern.baselines.neural import ResNetRegressor
from adakern.baselines.rfm import RFMClassifier, RFMRegressor
from adakern.baselines.simple_blend import SimpleBlendClassifier, SimpleBlendRegressor

__all__ = [
    "BayesianMKLClassifier",
    "BayesianMKLRegressor",
    "ClusterwiseClassifier",
    "DeepMKL",
    "EasyMKL",
    "EigenProRegressor",
    "FalkonRegressor",
    "KernelBank",
    "KernelSVC",
    "KernelSVR",
    "LOOKernelRidgeClassifier",
    "LOOKernelRidgeRegressor",
    "LogDetKernel",
    "MetricNadarayaWatson",
    "RFMClassifier",
    "RFMRegressor",
    "RandomFeatureAlignment",
    "ResNetRegressor",
    "SimpleBlendClassifier",
    "SimpleBlendRegressor",
    "SimpleMKLRegressor",
    "UniformMKLClassifier",
]

"""Baselines: the methods that the papers compare with."""

from adakern.baselines.alignment import RandomFeatureAlignment as RandomFeatureAlignment
from adakern.baselines.bayesian_mkl import (
    BayesianMKLClassifier as BayesianMKLClassifier,
)
from adakern.baselines.bayesian_mkl import BayesianMKLRegressor as BayesianMKLRegressor
from adakern.baselines.clusterwise import ClusterwiseClassifier as ClusterwiseClassifier
from adakern.baselines.deep_mkl import DeepMKL as DeepMKL
from adakern.baselines.eigenpro import EigenProRegressor as EigenProRegressor
from adakern.baselines.falkon import FalkonRegressor as FalkonRegressor
from adakern.baselines.kernel_bank import KernelBank as KernelBank
from adakern.baselines.kernel_svm import KernelSVC as KernelSVC
from adakern.baselines.kernel_svm import KernelSVR as KernelSVR
from adakern.baselines.logdet import LogDetKernel as LogDetKernel
from adakern.baselines.loo_ridge import (
    LOOKernelRidgeClassifier as LOOKernelRidgeClassifier,
)
from adakern.baselines.loo_ridge import (
    LOOKernelRidgeRegressor as LOOKernelRidgeRegressor,
)
from adakern.baselines.mkl import EasyMKL as EasyMKL
from adakern.baselines.mkl import SimpleMKLRegressor as SimpleMKLRegressor
from adakern.baselines.mkl import UniformMKLClassifier as UniformMKLClassifier
from adakern.baselines.nadaraya_watson import (
    MetricNadarayaWatson as MetricNadarayaWatson,
)
from adakern.baselines.neural import ResNetRegressor as ResNetRegressor
from adakern.baselines.rfm import RFMClassifier as RFMClassifier
from adakern.baselines.rfm import RFMRegressor as RFMRegressor
from adakern.baselines.simple_blend import (
    SimpleBlendClassifier as SimpleBlendClassifier,
)
from adakern.baselines.simple_blend import SimpleBlendRegressor as SimpleBlendRegressor

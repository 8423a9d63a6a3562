"""The methods that the papers compare with."""

from adakern.baselines.kernel_bank import KernelBank
from adakern.baselines.uniform_mkl import UniformMKLClassifier, UniformMKLRegressor

__all__ = [
    "KernelBank",
    "UniformMKLClassifier",
    "UniformMKLRegressor",
]

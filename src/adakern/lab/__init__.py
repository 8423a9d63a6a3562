"""LAB RBF: asymmetric kernel ridge regression with locally adaptive bandwidths."""

from adakern.lab.asymmetric import AsymmetricKernelRidge
from adakern.lab.kernel import lab_gram_matrix
from adakern.lab.regressor import LABRBFRegressor

__all__ = [
    "AsymmetricKernelRidge",
    "LABRBFRegressor",
    "lab_gram_matrix",
]

"""LAB RBF: asymmetric kernel ridge regression with locally adaptive bandwidths."""

from adakern.lab.asymmetric import AsymmetricKernelRidge as AsymmetricKernelRidge
from adakern.lab.kernel import lab_gram_matrix as lab_gram_matrix
from adakern.lab.regressor import LABRBFRegressor as LABRBFRegressor

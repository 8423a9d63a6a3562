"""Recursive feature machines, from the package xrfm."""

import contextlib
import io
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from adakern._utils.arrays import as_numpy
from adakern._utils.base import parameters
from adakern._utils.constraints import POSITIVE, constraints
from adakern.baselines.base import BaselineClassifier, StandardisedRegressor
from adakern.baselines.optional import require
from adakern.kernels import require_gram_memory

#: Fraction of the rows on which the iterate is chosen.
VALIDATION_FRACTION = 0.2


@parameters
class _FeatureMachine:
    """Kernel ridge regression on several targets with a learned metric."""

    kernel: str = "l2"
    bandwidth: float = 10.0
    alpha: float = 1e-3
    diagonal: bool = False
    max_iter: int = 5
    random_state: Any = None

    _required_packages = ("torch", "xrfm")

    _parameter_constraints = constraints(
        "max_iter",
        "random_state",
        kernel=[StrOptions({"l2", "l1_kermac", "lpq_kermac"})],
        bandwidth=POSITIVE,
        alpha=POSITIVE,
        diagonal=["boolean"],
    )

    def _fit(self, X, y):
        Y = self._targets(y)
        name = type(self).__name__
        torch = require("torch", name)
        xrfm = require("xrfm", name)
        rng = check_random_state(self.random_state)
        self._scaler = StandardScaler().fit(X)
        n = len(X)
        order = rng.permutation(n)
        size = max(1, int(VALIDATION_FRACTION * n))
        # A single row is used for both training and validation.
        train = order[size:] if n > 1 else order
        validation = order[:size]
        require_gram_memory(len(train), len(train))
        self.model_ = xrfm.RFM(
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            diag=self.diagonal,
            iters=self.max_iter,
            device="cpu",
            tuning_metric="mse",
            verbose=False,
        )
        X, Y = torch.tensor(self._scaler.transform(X)), torch.tensor(Y).double()
        train, validation = ((X[rows], Y[rows]) for rows in (train, validation))
        with (
            torch.random.fork_rng(devices=[]),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            torch.manual_seed(int(rng.randint(2**31)))
            self.model_.fit(train, validation, reg=self.alpha, return_best_params=True)
        self.n_iter_ = self.max_iter

    def _outputs(self, X):
        """Predictions of the k regressions."""
        torch = require("torch", type(self).__name__)
        outputs = self.model_.predict(torch.tensor(self._scaler.transform(X)))
        return as_numpy(outputs).astype(np.float64)


class RFMRegressor(_FeatureMachine, StandardisedRegressor):
    """Kernel regression with a learned Mahalanobis metric.

    Alternates kernel ridge regression with ``exp(-(|x - z|_M / bandwidth))`` and
    M = the average gradient outer product of its predictor. The iterate that is best on
    a fifth of the rows is kept. Requires the extra ``torch`` (PyTorch and xrfm).

    Parameters
    ----------
    kernel : {"l2", "l1_kermac", "lpq_kermac"}, default="l2"
        Kernel, by its name in xrfm; "l2" is the Laplacian kernel ``exp(-|x - z|_M /
        bandwidth)``.
    bandwidth : float, default=10.0
        Bandwidth, for standardised features.
    alpha : float, default=1e-3
        Ridge, positive.
    diagonal : bool, default=False
        Whether to learn feature weights instead of the full matrix, whose updates take
        minutes with thousands of features.
    max_iter : int, default=5
        Number of updates of the metric.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    model_ : xrfm.RFM
    n_iter_ : int

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin. Mechanism for feature learning in neural
    networks and backpropagation-free machine learning models. Science 383, 2024.
    """


class RFMClassifier(_FeatureMachine, BaselineClassifier):
    """Classification by kernel regression with a learned Mahalanobis metric.

    One regression per class on the indicator of that class, all with the metric of
    :class:`RFMRegressor`; the class with the largest output is predicted. Requires the
    extra ``torch`` (PyTorch and xrfm).

    Parameters
    ----------
    kernel, bandwidth, alpha, diagonal, max_iter, random_state
        As in :class:`RFMRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    model_ : xrfm.RFM
    n_iter_ : int
    """

    _values = _FeatureMachine._outputs

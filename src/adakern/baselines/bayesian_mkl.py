"""Bayesian efficient multiple kernel learning, for classification and regression."""

from contextlib import contextmanager
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from adakern._utils.threads import one_scipy_thread
from adakern._utils.warn import warn_user
from adakern.baselines.kernel_bank import BankClassifier, BankModel, BankRegressor
from adakern.baselines.variational import (
    FixedPrecision,
    GammaFactor,
    GaussianTarget,
    MeanField,
    TruncatedTarget,
)

__all__ = ["BayesianMKLClassifier", "BayesianMKLRegressor"]

_POSITIVE = Interval(Real, 0, None, closed="neither")


class BayesianMKLClassifier(BankClassifier):
    """Bayesian multiple kernel learning with a probit-like classifier.

    Every kernel gives an intermediate output with sample weights that all kernels
    share; their linear combination has to clear a margin on the side of the label.
    Weights of samples and of kernels have Gaussian priors with Gamma-distributed
    precisions, and a mean-field posterior is found in closed-form steps, each of which
    raises the lower bound of the evidence. Starts from the prior: nothing is random.

    Parameters
    ----------
    gammas : array-like of float, default=None
        Gaussian kernels of the bank. None is 1/(2 sigma^2) for the eleven widths
        sigma = 2^-5, ..., 2^5, made for features scaled to [0, 1].
    degrees : array-like of int, default=()
        Normalised polynomial kernels of the bank.
    shape, scale : float, default=1.0
        Of the Gamma priors of all precisions; (1e-10, 1e10) asks for sparsity.
    output_scale : float, default=0.1
        Standard deviation of the intermediate outputs, positive.
    margin : float, default=1.0
        Of the low-density region around the boundary; not negative.
    max_iter : int, default=200
        Most rounds through all factors.
    tol : float, default=1e-3
        Relative change of the lower bound at which the rounds end.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    bank_ : KernelBank
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_pairs, n_kernels)
        Posterior means; may be negative.
    objective_ : float
        Lower bound reached, summed over the pairs of classes.
    models_ : list
        Each with its ``history["lower_bound"]``.
    support_ : ndarray
    n_iter_ : int
        Rounds, over all pairs.

    Warns
    -----
    ConvergenceWarning
        Where ``max_iter`` rounds do not suffice; it tells the last change.

    References
    ----------
    Gonen, Bayesian efficient multiple kernel learning, ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from adakern.baselines import BayesianMKLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> BayesianMKLClassifier().fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints = {
        **BankClassifier._bank_constraints,
        "shape": [_POSITIVE],
        "scale": [_POSITIVE],
        "output_scale": [_POSITIVE],
        "margin": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [_POSITIVE],
    }

    def __init__(
        self,
        *,
        gammas=None,
        degrees=(),
        shape=1.0,
        scale=1.0,
        output_scale=0.1,
        margin=1.0,
        max_iter=200,
        tol=1e-3,
    ):
        self.gammas = gammas
        self.degrees = degrees
        self.shape = shape
        self.scale = scale
        self.output_scale = output_scale
        self.margin = margin
        self.max_iter = max_iter
        self.tol = tol

    def _fit_binary(self, X, y):
        with _refusing_extremes():
            field = MeanField(
                self.bank_.stack(X),
                TruncatedTarget(y, self.margin),
                FixedPrecision(self.output_scale**-2.0),
                self.shape,
                self.scale,
            )
        history = _raise_bound(field, self.max_iter, self.tol)
        return _model(field, self.bank_, X, history)


class BayesianMKLRegressor(BankRegressor):
    """Bayesian multiple kernel regression.

    The counterpart of :class:`BayesianMKLClassifier` with Gaussian noise on the target.
    The precisions of the noise and of the intermediate outputs are learned too. The
    target is brought to mean 0 and variance 1 first, since the priors have a scale.

    Parameters
    ----------
    gammas : array-like of float, default=None
        Gaussian kernels of the bank, as in :class:`BayesianMKLClassifier`.
    degrees : array-like of int, default=()
        Normalised polynomial kernels of the bank.
    shape, scale : float, default=1.0
        Of the Gamma priors of all precisions.
    max_iter : int, default=200
        Most rounds through all factors.
    tol : float, default=1e-3
        Relative change of the lower bound at which the rounds end.

    Attributes
    ----------
    bank_ : KernelBank
    kernel_weights_ : ndarray of shape (n_kernels,)
    objective_ : float
        Lower bound reached.
    model_ : object
        With its ``history["lower_bound"]``.
    support_ : ndarray
    n_iter_ : int

    Warns
    -----
    ConvergenceWarning
        Where ``max_iter`` rounds do not suffice; it tells the last change.

    References
    ----------
    Gonen, Bayesian efficient multiple kernel learning, ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.baselines import BayesianMKLRegressor
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> BayesianMKLRegressor().fit(X, y).score(X, y) > 0.99
    True
    """

    _parameter_constraints = {
        **BankRegressor._bank_constraints,
        "shape": [_POSITIVE],
        "scale": [_POSITIVE],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [_POSITIVE],
    }

    def __init__(
        self,
        *,
        gammas=None,
        degrees=(),
        shape=1.0,
        scale=1.0,
        max_iter=200,
        tol=1e-3,
    ):
        self.gammas = gammas
        self.degrees = degrees
        self.shape = shape
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol

    def _fit_function(self, X, y):
        mean, size = y.mean(), y.std() or 1.0
        with _refusing_extremes():
            field = MeanField(
                self.bank_.stack(X),
                GaussianTarget((y - mean) / size, self.shape, self.scale),
                GammaFactor(self.shape, self.scale, count=len(self.bank_) * len(y)),
                self.shape,
                self.scale,
            )
        history = _raise_bound(field, self.max_iter, self.tol)
        model = _model(field, self.bank_, X, history)
        model.dual_coef = size * model.dual_coef
        model.intercept = mean + size * model.intercept
        return model


@contextmanager
def _refusing_extremes():
    """Say what to do where the numbers of a factor are beyond floating point."""
    try:
        yield
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ValueError(
            "a factor of the posterior cannot be computed: take parameters (margin, "
            "output_scale, shape, scale) of a more usual size"
        ) from error


def _raise_bound(field, max_iter, tol):
    """Go through the factors until the lower bound settles; its values, by round."""
    bounds = []
    for _ in range(max_iter):
        with _refusing_extremes(), one_scipy_thread(len(field.a)):
            for update in field.updates:
                update()
        bounds.append(field.lower_bound())
        change = abs(bounds[-1] - bounds[-2]) if len(bounds) > 1 else np.inf
        if change <= tol * abs(bounds[-1]):
            break
    else:
        warn_user(
            f"the lower bound still changed by {change:.2e}, to {bounds[-1]:.6g}, in "
            f"round max_iter={max_iter}; raise max_iter or tol={tol}",
            ConvergenceWarning,
        )
    return {"lower_bound": bounds}


def _model(field, bank, X, history):
    """The posterior mean of the score: e'g(x) + b with g_m(x) = a'k_m(x)."""
    bounds = history["lower_bound"]
    return BankModel.expand(
        bank,
        field.be[1:],
        X,
        field.a,
        float(field.be[0]),
        n_iter=len(bounds),
        objective=bounds[-1],
        history=history,
    )

"""Bayesian efficient multiple kernel learning, by mean-field inference (Gonen 2012).

The model, for kernels m = 1..P and rows i = 1..n with Gram columns k_mi:

    a_i ~ N(0, 1/lambda_i)              sample weights, shared by the kernels
    g_mi ~ N(a'k_mi, 1/upsilon)         one intermediate output for each kernel
    b ~ N(0, 1/gamma), e_m ~ N(0, 1/omega_m)
    f_i ~ N(e'g_i + b, 1/noise)         latent value of the target

with Gamma priors on the precisions. Every factor has a closed form given the others,
and each update increases the lower bound of the evidence.
"""

from dataclasses import KW_ONLY

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dtrtri
from scipy.special import digamma, gammaln, log_ndtr

from adakern._utils.base import parameters
from adakern._utils.resources import one_blas_thread
from adakern._utils.warn import warn_unconverged
from adakern.baselines.base import OneVsOneBaseline
from adakern.baselines.kernel_bank import BankMixin, BankRegressor, bank_constraints

LOG_2PI = np.log(2 * np.pi)

#: As in the paper: standard deviation of the classifier's intermediate outputs, and
#: margin of the low-density region around its boundary.
OUTPUT_SCALE, MARGIN = 0.1, 1.0


@parameters
class _BayesianMKL(BankMixin):
    _: KW_ONLY
    max_iter: int = 200
    tol: float = 1e-3
    _parameter_constraints = bank_constraints("max_iter", "tol")

    def _infer(self, X, target, upsilon):
        """Update the factors until the lower bound converges; return their model."""
        field = MeanField(self.bank_.stack(X), target, upsilon)
        bounds = []
        for _ in range(self.max_iter):
            with one_blas_thread(len(X)):
                for update in field.updates:
                    update()
            bounds.append(field.lower_bound())
            change = abs(bounds[-1] - bounds[-2]) if len(bounds) > 1 else np.inf
            if change <= self.tol * abs(bounds[-1]):
                break
        else:
            warn_unconverged(
                self,
                f"a lower bound of {bounds[-1]:.6g} that still changed by {change:.2e}",
            )
        # The score is e'g(x) + b with g_m(x) = a'k_m(x).
        return self._expand(
            field.be[1:],
            X,
            field.a,
            float(field.be[0]),
            n_iter=len(bounds),
            objective=bounds[-1],
            history={"lower_bound": bounds},
        )


class BayesianMKLClassifier(_BayesianMKL, OneVsOneBaseline):
    """Bayesian multiple kernel learning for classification, with a probit-like model.

    Every kernel has an intermediate output, with sample weights shared by all kernels;
    the linear combination of the outputs has to exceed a margin on the side of the
    label. Weights have Gaussian priors with Gamma(1, 1)-distributed precisions. The
    mean-field updates of the posterior are in closed form and increase the lower bound
    of the evidence. The method is deterministic.

    Parameters
    ----------
    gammas, degrees
        As in :class:`UniformMKLClassifier`.
    max_iter : int, default=200
        Maximum number of passes over all factors; a ConvergenceWarning is issued if it
        is reached.
    tol : float, default=1e-3
        Relative change of the lower bound below which the updates stop.

    Attributes
    ----------
    classes_, bank_, kernel_weights_, models_, pair_rows_, support_
        As in :class:`UniformMKLClassifier`; the weights are posterior means and can be
        negative, and each model has a ``history["lower_bound"]``.
    objective_ : float
        Lower bound reached, summed over the pairs of classes.
    n_iter_ : int
        Number of passes, over all pairs.

    References
    ----------
    Gonen, Bayesian efficient multiple kernel learning, ICML 2012.
    """

    def _fit_model(self, X, y):
        return self._infer(
            X, TruncatedTarget(y, MARGIN), FixedPrecision(OUTPUT_SCALE**-2.0)
        )


class BayesianMKLRegressor(_BayesianMKL, BankRegressor):
    """Bayesian multiple kernel regression.

    :class:`BayesianMKLClassifier` with Gaussian noise on the standardised target. The
    precisions of the noise and of the intermediate outputs are also learned.

    Parameters
    ----------
    gammas, degrees, max_iter, tol
        As in :class:`BayesianMKLClassifier`.

    Attributes
    ----------
    bank_, kernel_weights_, objective_, models_, support_, n_iter_
        As in :class:`BayesianMKLClassifier`, with a single model.
    """

    def _fit_model(self, X, y):
        mean = y.mean()
        size = y.std() or 1.0
        upsilon = GammaFactor(count=len(self.bank_) * len(y))
        model = self._infer(X, GaussianTarget((y - mean) / size), upsilon)
        model.dual_coef = size * model.dual_coef
        model.intercept = mean + size * model.intercept
        return model


class GammaFactor:
    """Factor of ``size`` precisions, each of ``count`` variables, prior Gamma(1, 1)."""

    def __init__(self, *, count=1, size=1):
        self.shape = 1 + count / 2
        # Start at the prior mean.
        self.rate = np.full(size, self.shape)

    @property
    def mean(self):
        return self.shape / self.rate

    @property
    def mean_log(self):
        return digamma(self.shape) - np.log(self.rate)

    def update(self, squares):
        """Update from the expected sum of squares of the variables."""
        self.rate = 1 + np.atleast_1d(squares) / 2

    def divergence(self):
        """Kullback-Leibler divergence from the prior."""
        shape = self.shape
        ratio = 1 / self.rate
        by_shape = (shape - 1) * digamma(shape) - gammaln(shape)
        return np.sum(by_shape - np.log(ratio) + shape * (ratio - 1))


class FixedPrecision:
    """Known precision, as in the classifier."""

    def __init__(self, value):
        self.mean = np.array([value])
        self.mean_log = np.log(self.mean)

    def update(self, squares):
        """Do nothing: the precision is known."""

    def divergence(self):
        return 0.0


class GaussianTarget:
    """Regression: f is y, with noise of unknown precision."""

    def __init__(self, y):
        self.mean = y
        self.second_moment = y @ y
        self.noise = GammaFactor(count=len(y))

    def update(self, score, residual):
        """Update from the expected sum of squares of y - e'g - b."""
        self.noise.update(residual)

    def bound(self, residual):
        """Contribution to the lower bound."""
        noise = self.noise
        likelihood = len(self.mean) * (noise.mean_log - LOG_2PI) - noise.mean * residual
        return 0.5 * likelihood[0] - noise.divergence()


class TruncatedTarget:
    """Classification: f has unit noise and exceeds a margin on the side of y."""

    def __init__(self, y, margin):
        self.y = y
        self.margin = margin
        self.noise = FixedPrecision(1.0)
        self.update(np.zeros(len(y)), 0.0)

    def update(self, score, residual):
        """q(f_i) is N(score_i, 1) truncated to y_i f_i > margin."""
        self.score = score
        signed = self.y * score
        self.log_mass = log_ndtr(signed - self.margin)
        log_density = -0.5 * ((signed - self.margin) ** 2 + LOG_2PI)
        hazard = np.exp(log_density - self.log_mass)
        self.mean = self.y * (signed + hazard)
        squares = 1 + signed**2 + (signed + self.margin) * hazard
        self.second_moment = squares.sum()

    def bound(self, residual):
        """Contribution to the lower bound."""
        score = self.score
        expected = self.second_moment - 2 * score @ self.mean + score @ score
        return 0.5 * (expected - residual) + self.log_mass.sum()


class MeanField:
    """The factors of q and their updates, in the order of ``updates``."""

    def __init__(self, grams, target, upsilon):
        P, n, _ = grams.shape
        self.target, self.upsilon = target, upsilon
        # One matrix [K_1 ... K_P] for the products with all kernels.
        self.K = np.ascontiguousarray(grams.transpose(1, 0, 2)).reshape(n, P * n)
        self.KK = self.K @ self.K.T
        self.sample = GammaFactor(size=n)
        self.output = GammaFactor(size=P + 1)
        self.G = np.tile(target.mean, (P, 1))
        self.G_covariance = np.eye(P)
        self.be = np.concatenate([[0.0], np.full(P, 1 / P)])
        self.be_covariance = np.eye(P + 1)
        self.update_weights()
        self.updates = [
            self.update_outputs,
            self.update_combination,
            self.update_target,
            self.update_precisions,
            self.update_weights,
        ]

    def update_weights(self):
        """q(a)."""
        upsilon = self.upsilon.mean[0]
        precision = upsilon * self.KK
        np.fill_diagonal(precision, precision.diagonal() + self.sample.mean)
        factor = cholesky(precision, lower=True, overwrite_a=True, check_finite=False)
        self.a = upsilon * cho_solve((factor, True), self.K @ self.G.ravel())
        inverse, _ = dtrtri(factor, lower=1)
        self.a_variances = np.einsum("ij,ij->j", inverse, inverse)
        self.a_logdet = -2 * np.log(factor.diagonal()).sum()
        # tr(KK Sigma) from (diag(lambda) + upsilon KK) Sigma = I.
        self.a_trace = (len(self.a) - self.sample.mean @ self.a_variances) / upsilon
        self.scores = (self.K.T @ self.a).reshape(self.G.shape)

    def update_outputs(self):
        """q(G): the columns g_i are independent with one covariance."""
        noise = self.target.noise.mean[0]
        upsilon = self.upsilon.mean[0]
        e = self.be[1:]
        moments = self.be_moments
        self.G_covariance = np.linalg.inv(
            upsilon * np.eye(len(e)) + noise * moments[1:, 1:]
        )
        pull = np.outer(e, self.target.mean) - moments[1:, :1]
        self.G = self.G_covariance @ (upsilon * self.scores + noise * pull)

    def update_combination(self):
        """q(b, e)."""
        noise = self.target.noise.mean[0]
        self.be_covariance = np.linalg.inv(
            np.diag(self.output.mean) + noise * self.G_moments
        )
        self.be = noise * self.be_covariance @ (self._extended @ self.target.mean)

    def update_target(self):
        """q(f), or q(noise) of a regression."""
        self.target.update(self.be @ self._extended, self._residual())

    def update_precisions(self):
        """q(lambda), q(gamma), q(omega), q(upsilon)."""
        self.sample.update(self.a**2 + self.a_variances)
        self.output.update(np.diag(self.be_moments))
        self.upsilon.update(self._output_residual())

    @property
    def _extended(self):
        """(1, g_i) for every row i, shape (P + 1, n)."""
        return np.vstack([np.ones(len(self.a)), self.G])

    @property
    def be_moments(self):
        """E of (b, e)(b, e)'."""
        return np.outer(self.be, self.be) + self.be_covariance

    @property
    def G_moments(self):
        """Sum over i of E of (1, g_i)(1, g_i)'."""
        extended = self._extended
        moments = extended @ extended.T
        moments[1:, 1:] += len(self.a) * self.G_covariance
        return moments

    def _residual(self):
        """E of the sum over i of (f_i - e'g_i - b)^2."""
        cross = self.be @ (self._extended @ self.target.mean)
        total = np.vdot(self.be_moments, self.G_moments)
        return self.target.second_moment - 2 * cross + total

    def _output_residual(self):
        """E of the sum over m and i of (g_mi - a'k_mi)^2."""
        fit = np.sum((self.G - self.scores) ** 2)
        return fit + len(self.a) * np.trace(self.G_covariance) + self.a_trace

    def lower_bound(self):
        """Lower bound of the evidence at the present factors."""
        P, n = self.G.shape
        bound = self.target.bound(self._residual())
        upsilon = self.upsilon
        outputs = n * P * (upsilon.mean_log - LOG_2PI)
        bound += 0.5 * (outputs - upsilon.mean * self._output_residual())[0]
        bound += _gaussian_prior(self.sample, self.a**2 + self.a_variances)
        bound += _gaussian_prior(self.output, np.diag(self.be_moments))
        bound += _entropy(n, self.a_logdet)
        bound += n * _entropy(P, np.linalg.slogdet(self.G_covariance)[1])
        bound += _entropy(P + 1, np.linalg.slogdet(self.be_covariance)[1])
        return float(
            bound - sum(f.divergence() for f in (self.sample, self.output, upsilon))
        )


def _gaussian_prior(precision, squares):
    """E of log N(x; 0, 1/precision), summed, for expected squares of x."""
    return 0.5 * np.sum(precision.mean_log - LOG_2PI - precision.mean * squares)


def _entropy(size, logdet):
    return 0.5 * (size * (1 + LOG_2PI) + logdet)

"""Regression with a radial basis function kernel of locally adaptive bandwidths."""

from dataclasses import KW_ONLY
from itertools import islice
from numbers import Integral
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from adakern._utils.arrays import (
    as_index,
    as_numpy,
    asarray_like,
    distinct_rows,
    require_finite,
    validate_arrays,
)
from adakern._utils.base import parameters
from adakern._utils.constraints import AT_LEAST_ONE, FRACTION, NOT_NEGATIVE, POSITIVE
from adakern._utils.resources import by_row_blocks, one_blas_thread
from adakern._utils.warn import warn_unconverged
from adakern.lab.adam import SCHEDULES
from adakern.lab.algorithm import BandwidthTraining
from adakern.lab.kernel import PROFILES, lab_gram_matrix
from adakern.lab.refit import RIDGES, RidgePath
from adakern.lab.selection import LOCALITIES, choose, judge
from adakern.lab.training import TrainingData

#: Fraction of rows held out for model selection; none if these are too few.
HELD_OUT, FEWEST_HELD_OUT = 0.2, 10


@parameters
class LABRBFRegressor(RegressorMixin, BaseEstimator):
    """Kernel regression with a trained bandwidth vector for every support point.

    The kernel is K(t, x_j) = exp(-D) or exp(-sqrt(D)), with D = sum over m of (theta_jm
    (t_m - x_jm))^2. A few training rows are support points: f interpolates them by
    asymmetric kernel ridge regression, and the bandwidths theta are trained so that f
    fits all other rows (LAB RBF, Algorithm 1). The rows with the largest errors become
    support points until there are ``max_support``.

    Choices that the paper leaves open (the ridge, the number of support points, when to
    stop, whether local bandwidths are worthwhile) are made on held-out rows; finally,
    the coefficients are fitted to all rows. The paper's own method is
    ``variant="paper", bandwidth="global"``.

    Parameters
    ----------
    profile : {"gaussian", "laplacian"}, default="gaussian"
        exp(-D) (LAB RBF, equation 1), or exp(-sqrt(D)), which suits targets with kinks
        and is what the authors' code computes ("l2-laplacian" in
        :mod:`adakern.kernels`).
    alpha : "auto" or float, default="auto"
        Ridge on the support points during training. "auto" selects it; the authors use
        1e-3. With 0, the kernel matrix may be singular, which raises a ValueError.
    max_support : int, default=100
        Maximum number of support points; duplicate rows count once.
    bandwidth : "shared", "global" or float, default="shared"
        Initial bandwidths. A float is an inverse length scale for all features (of the
        standardised features, unless ``variant="paper"``); "global" selects this number
        on the training data; "shared" then trains one vector for all support points,
        which saves iterations later.
    variant : {"refitted", "paper"}, default="refitted"
        "refitted" standardises the features, holds out rows for model selection (if
        there are enough of them), and finally fits the coefficients to all rows by
        ridge regression on the kernel columns of the support points. The ridge is the
        best on the held-out rows for local bandwidths, otherwise that of the lowest
        leave-one-out error. "paper" leaves the features as they are, trains on all
        rows, and interpolates the support points.
    coef_penalty : float, default=0.0
        Non-negative weight of the squared norm of the coefficients in the loss of the
        bandwidths. It prevents large coefficients of opposite sign when there are few
        rows for many bandwidths.
    locality : {"auto", "global", "shared", "local"}, default="auto"
        "local" trains a bandwidth vector for each support point, "shared" one for all
        (automatic relevance determination), "global" keeps one number. "auto" prefers
        the more local bandwidths if their error on the held-out rows is lower by more
        than a standard error; with ``variant="paper"`` it is "local".
    initial_support : float, default=1/3
        Fraction of ``max_support`` to start with, in (0, 1].
    growth : int, default=None
        Number of support points added at a time. If None, a tenth of the present
        number, but at least 10.
    solver : {"annealed", "adam"}, default="annealed"
        "annealed" is Adam on large batches with a learning rate that falls to zero in
        the last round; "adam" has a constant learning rate and small batches, as in the
        authors' code.
    max_iter : int, default=None
        Number of iterations after the last growth; there are a tenth as many before
        each growth. If None, 300 for "annealed" and 5000 for "adam", which issues a
        ConvergenceWarning if the loss is still decreasing. With 0, nothing is trained.
    random_state : int, RandomState instance or None, default=None
        Determines the held-out rows, the support points and the mini-batches.

    Attributes
    ----------
    support_ : ndarray of shape (S,)
        Row indices of the support points, in the order in which they were added.
    support_vectors_ : array of shape (S, d)
    bandwidths_ : array of shape (S, d)
        Non-negative inverse length scales.
    dual_coef_ : array of shape (S,)
    intercept_ : float
    alpha_ : float
        Ridge used for the coefficients.
    locality_ : {"global", "shared", "local"}
        Locality of the bandwidths.
    n_iter_ : int
    converged_ : bool
        Whether the last round of "adam" ended before ``max_iter``. Always True for
        "annealed", whose learning rate ends at zero.
    history_ : dict of lists
        "iteration", "n_support", "loss" (relative to the variance of y, with the
        penalty), "validation_loss" (without) and "time" (seconds since the start).
    record_ : dict
        Profile, locality and ridge, for the records of experiments.

    Notes
    -----
    Memory is O((S + B)(S + d)) for blocks of B rows. NumPy arrays and PyTorch tensors
    (on any device) are supported; ``predict`` returns the type that it is given.

    References
    ----------
    He et al., Enhancing kernel flexibility via learning asymmetric locally-adaptive
    kernels, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.lab import LABRBFRegressor
    >>> X = np.linspace(0, 2, 200)[:, None]
    >>> y = np.sin(2 * X[:, 0] ** 3)
    >>> model = LABRBFRegressor(max_support=20, max_iter=50, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.99)
    True
    """

    profile: str = "gaussian"
    alpha: float | str = "auto"
    max_support: int = 100
    bandwidth: float | str = "shared"
    _: KW_ONLY
    variant: str = "refitted"
    coef_penalty: float = 0.0
    locality: str = "auto"
    initial_support: float = 1 / 3
    growth: int | None = None
    solver: str = "annealed"
    max_iter: int | None = None
    random_state: Any = None

    _parameter_constraints = {
        "profile": [StrOptions(set(PROFILES))],
        "alpha": [StrOptions({"auto"}), *NOT_NEGATIVE],
        "max_support": AT_LEAST_ONE,
        "bandwidth": [StrOptions({"shared", "global"}), *POSITIVE],
        "variant": [StrOptions({"refitted", "paper"})],
        "coef_penalty": NOT_NEGATIVE,
        "locality": [StrOptions({"auto", *LOCALITIES})],
        "initial_support": FRACTION,
        "growth": [*AT_LEAST_ONE, None],
        "solver": [StrOptions(set(SCHEDULES))],
        "max_iter": [None, Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Choose support points and train their bandwidths.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the rows. An integer weight is equivalent to
            repeating the row, a weight of zero to dropping it. Equal rows with equal
            targets are merged, so they are held out, or chosen as a support point,
            together.
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y, y_numeric=True)
        used, weights = distinct_rows(as_numpy(X), as_numpy(y), sample_weight)
        if len(used) < len(y) or weights is not None:
            X = array_namespace(X).take(X, as_index(used, X), axis=0)
            y = as_numpy(y)[used]
        rng = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31)
        )
        data = TrainingData(
            X,
            y,
            weights,
            standardize=self.variant != "paper",
            profile=self.profile,
            coef_penalty=self.coef_penalty,
        )
        rows, held_out = self._hold_out(len(y), rng)
        schedule = SCHEDULES[self.solver]
        if self.max_iter is not None:
            schedule = schedule._replace(max_iter=self.max_iter)
        names = (
            "alpha",
            "max_support",
            "bandwidth",
            "locality",
            "initial_support",
            "growth",
        )
        options = {name: getattr(self, name) for name in names}
        training = BandwidthTraining(
            data, rows, held_out, rng, schedule=schedule, **options
        )
        with one_blas_thread(self.max_support):
            self._finish(data, self._choose(training), training.alpha, used)
        if not training.converged:
            warn_unconverged(
                self,
                f"a mean squared error of {training.last_loss:.3g} var(y), still "
                "falling",
                value=schedule.max_iter,
            )
        self.n_iter_ = training.n_iter
        self.converged_ = training.converged
        self.history_ = training.history
        return self

    def predict(self, X: ArrayLike) -> Any:
        """Predict targets, in blocks of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        X = validate_arrays(self, X)
        support_vectors, bandwidths, coef = (
            asarray_like(array, X)
            for array in (self.support_vectors_, self.bandwidths_, self.dual_coef_)
        )

        def predict(rows):
            return (
                lab_gram_matrix(rows, support_vectors, bandwidths, self.profile) @ coef
            )

        predicted = by_row_blocks(predict, X, 4 * 8 * sum(bandwidths.shape))
        return require_finite(self, predicted + self.intercept_)

    def _hold_out(self, n, rng):
        """Split into training and held-out rows (none held out if there are few)."""
        size = int(HELD_OUT * n)
        if self.variant == "paper" or size < FEWEST_HELD_OUT:
            return np.arange(n), np.arange(0)
        order = rng.permutation(n)
        return np.sort(order[size:]), np.sort(order[:size])

    def _choose(self, training):
        """Return the candidate that is best on the held-out rows, or the last one."""
        held_out = training.held_out
        locality = self.locality
        if locality == "auto" and not len(held_out):
            # Without held-out rows, local bandwidths cannot be justified.
            locality = "local" if self.variant == "paper" else "global"
        first = 1 if locality == "global" else None
        candidates = list(islice(training.candidates(), first))
        requested = [c for c in candidates if locality in ("auto", c.locality)]
        candidates = requested or candidates[:1]
        if not len(held_out):
            return candidates[-1]
        return choose(
            [judge(training.data, c, training.rows, held_out) for c in candidates]
        )

    def _finish(self, data, chosen, alpha, used):
        """Fit the coefficients and set the attributes, in the units of X and y.

        ``data`` contains the rows ``used`` of X.
        """
        support = chosen.support
        theta = data.xp.abs(chosen.theta)
        if self.variant == "refitted":
            path = RidgePath(*data.regression(support, theta, np.arange(data.shape[0])))
            ridge = chosen.ridge
            if ridge is None or chosen.locality != "local":
                ridge = float(RIDGES[np.argmin(path.leave_one_out())])
            coef, intercept = path.coefficients(ridge)
        else:
            ridge = float(alpha)
            coef, intercept = data.interpolant(support, theta, alpha)
        self.alpha_ = ridge
        if not bool(data.xp.all(data.xp.isfinite(coef))):
            raise ValueError(
                "the kernel matrix of the support points is singular at "
                f"alpha={self.alpha_!r}; use a larger alpha"
            )
        dtype = data.original.dtype
        self.support_ = used[support]
        self.support_vectors_ = data.original_rows(support)
        theta = data.xp.astype(theta, data.xp.float64) / data.scale
        theta = data.xp.astype(theta, dtype)
        self.bandwidths_ = theta + data.xp.zeros_like(self.support_vectors_)
        self.dual_coef_ = data.xp.astype(coef * data.y_scale, dtype)
        self.intercept_ = intercept * data.y_scale + data.y_mean
        self.locality_ = chosen.locality
        self.record_ = {
            "profile": self.profile,
            "locality": self.locality_,
            "ridge": self.alpha_,
        }

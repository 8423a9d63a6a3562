"""Regression with a radial basis function kernel of locally adaptive bandwidths."""

import warnings
from itertools import islice
from numbers import Integral, Real

import numpy as np
from array_api_compat import array_namespace
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from adakern._utils.threads import one_scipy_thread
from adakern.kernels import row_blocks
from adakern.lab.arrays import like, to_numpy, validate_arrays
from adakern.lab.kernel import PROFILES, lab_gram_matrix
from adakern.lab.solvers import SCHEDULES, SOLVERS
from adakern.lab.support import SUPPORT_RULES, distinct, initial_support, largest_errors
from adakern.lab.training import History, TrainingData, Watch

__all__ = ["LABRBFRegressor"]

#: Candidates of the global bandwidth, relative to 1 / (root mean squared distance).
GLOBAL_BANDWIDTHS = 2.0 ** np.arange(-6, 6)
TUNING_ROWS = 2000


class LABRBFRegressor(RegressorMixin, BaseEstimator):
    """Kernel regression whose support data have a trained bandwidth vector each.

    The kernel is K(t, x_j) = exp(-D) or exp(-sqrt(D)), with
    D = sum over m of (theta_jm (t_m - x_jm))^2, or exp(-D) with
    D = sum over m of theta_jm |t_m - x_jm|. A few training rows are support data:
    f interpolates them by asymmetric kernel ridge regression, and the bandwidths theta
    are trained so that f fits all the other rows (algorithm 1 of the paper). Rows with
    the largest error join the support data until there are ``max_support``.

    Scale the features to comparable ranges first. The target is centred and scaled
    inside, so that its unit does not matter.

    Parameters
    ----------
    profile : {"gaussian", "laplacian", "l1-laplacian"}, default="gaussian"
        exp(-D) (equation 1 of the paper); exp(-sqrt(D)), which suits targets with
        kinks and is what the authors' published code computes; or exp(-D) with the
        absolute differences, which suits targets that change along single features,
        and takes longer. (The global kernels of :mod:`adakern.kernels` call the last
        two "l2-laplacian" and, as scikit-learn does, "laplacian".)
    alpha : float, default=1e-3
        Ridge on the support data; not negative.
    max_support : int, default=100
        Number of support data to end with, at most; equal rows count once. With no more
        rows than that, all are support data and the bandwidths stay where they start.
    bandwidth : "global" or float, default="global"
        Where the bandwidths start: one number for all, either given (an inverse length
        in the unit of the features) or the best one on the training data.
    coef_penalty : float, default=0.0
        Weight of the squared norm of the coefficients (of the standardized target) in
        the loss of the bandwidths; not negative. For rows too few for the number of
        bandwidths, which then are fitted by large coefficients that cancel.
    locality : {"local", "shared"}, default="local"
        "shared" trains one bandwidth vector for all support data: the anisotropic
        kernel (automatic relevance determination), which is symmetric.
    support : {"ranks", "random", "kmeans"}, default="ranks"
        The first support data: evenly spread over the ranks of y, uniform, or the rows
        nearest to the centres of a k-means clustering.
    initial_support : float, default=1/3
        The share of ``max_support`` to start with, in (0, 1].
    growth : int, default=None
        Support data added at a time; max(10, a tenth of those there are) when None.
    error_tol : float, default=0.0
        No more support data once the largest absolute error is below this many standard
        deviations of y.
    solver : {"annealed", "adam", "sgd", "lbfgs"}, default="annealed"
        "annealed" is Adam on large batches with a step that falls to zero in the last
        round; "adam" has a constant step and small batches, as the authors run it;
        "lbfgs" is a quasi-Newton method on all rows, without chance.
    growth_iter, max_iter : int, default=None
        Iterations before each growth and after the last one; when None (150, 1500) for
        "annealed", (30, 600) for "lbfgs", (500, 5000) for the others.
    tol : float, default=1e-3
        "lbfgs" ends when ten iterations lower the loss by less than this part of it.
    learning_rate : float, default=None
        Step of all solvers but "lbfgs", in the unit of the bandwidths. When None, 0.01,
        and for "annealed" 0.06 over the root mean squared distance of two rows.
    batch_size : int, default=None
        Rows of one step, drawn with replacement; when None 512 for "annealed", 128 for
        "adam" and "sgd".
    max_grad_norm : float, default=10.0
        Norm at which the gradient is clipped (not by "lbfgs").
    early_stopping : bool, default=False
        Set rows aside, keep the bandwidths that are best on them, stop when
        ``patience`` looks in a row brought nothing better. The rows set aside are lost
        to the training, which on many data costs more than it brings.
    validation_fraction : float, default=0.1
        Share of the rows set aside, in (0, 1).
    patience : int, default=10
        Looks at the validation part without improvement, 50 iterations apart (10 of
        "lbfgs").
    precision : {"float32", "float64"}, default="float32"
        Of the training. Linear systems are solved in double precision in any case, and
        the final coefficients are computed in the type of X.
    random_state : int, RandomState instance or None, default=None
        Draws the validation part, support data and mini-batches.

    Attributes
    ----------
    support_ : ndarray of shape (S,)
        Row indices of the support data, without repetition, in the order they came.
    support_vectors_ : array of shape (S, d)
    bandwidths_ : array of shape (S, d)
        Not negative.
    dual_coef_ : array of shape (S,)
    intercept_ : float
    n_iter_ : int
    converged_ : bool
        Whether the last round ended before ``max_iter``.
    history_ : dict of lists
        "iteration", "n_support", "loss" (mean squared error relative to the variance of
        y, and the penalty), "validation_loss" (without penalty; nan without validation
        part) and "time" (seconds since the start of fit).
    record_ : dict
        Profile and locality, for the experiment's records.
    n_features_in_ : int

    Raises
    ------
    ValueError
        If the kernel matrix of the support data is singular, which ``alpha > 0`` nearly
        always prevents.

    Warns
    -----
    ConvergenceWarning
        If the last round is cut off by ``max_iter`` while the loss still falls.

    Notes
    -----
    Memory is O((S + B)(S + d)) for blocks of B rows. NumPy arrays and PyTorch tensors
    (on any device) go through the same lines; what ``predict`` gives is of the kind
    given to it.

    References
    ----------
    "Enhancing kernel flexibility via learning asymmetric locally-adaptive kernels".

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

    _parameter_constraints = {
        "profile": [StrOptions(set(PROFILES))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_support": [Interval(Integral, 1, None, closed="left")],
        "bandwidth": [
            StrOptions({"global"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "coef_penalty": [Interval(Real, 0, None, closed="left")],
        "locality": [StrOptions({"local", "shared"})],
        "support": [StrOptions(set(SUPPORT_RULES))],
        "initial_support": [Interval(Real, 0, 1, closed="right")],
        "growth": [None, Interval(Integral, 1, None, closed="left")],
        "error_tol": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
        "growth_iter": [None, Interval(Integral, 0, None, closed="left")],
        "max_iter": [None, Interval(Integral, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [None, Interval(Real, 0, None, closed="neither")],
        "batch_size": [None, Interval(Integral, 1, None, closed="left")],
        "max_grad_norm": [Interval(Real, 0, None, closed="neither")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "precision": [StrOptions({"float32", "float64"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        profile="gaussian",
        alpha=1e-3,
        max_support=100,
        bandwidth="global",
        *,
        coef_penalty=0.0,
        locality="local",
        support="ranks",
        initial_support=1 / 3,
        growth=None,
        error_tol=0.0,
        solver="annealed",
        growth_iter=None,
        max_iter=None,
        tol=1e-3,
        learning_rate=None,
        batch_size=None,
        max_grad_norm=10.0,
        early_stopping=False,
        validation_fraction=0.1,
        patience=10,
        precision="float32",
        random_state=None,
    ):
        self.profile = profile
        self.alpha = alpha
        self.max_support = max_support
        self.bandwidth = bandwidth
        self.coef_penalty = coef_penalty
        self.locality = locality
        self.support = support
        self.initial_support = initial_support
        self.growth = growth
        self.error_tol = error_tol
        self.solver = solver
        self.growth_iter = growth_iter
        self.max_iter = max_iter
        self.tol = tol
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_grad_norm = max_grad_norm
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.precision = precision
        self.random_state = random_state

    def fit(self, X, y):
        """Choose support data and train their bandwidths.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        self._validate_params()
        X, y = validate_arrays(self, X, y)
        seed = check_random_state(self.random_state).randint(2**31)
        data = TrainingData(
            X,
            y,
            precision=self.precision,
            alpha=self.alpha,
            profile=self.profile,
            coef_penalty=self.coef_penalty,
        )
        self.n_iter_, history = 0, History()
        with one_scipy_thread(self.max_support):
            support, theta = self._train(data, np.random.default_rng(seed), history)
        self.history_ = history.lists
        self._finish(data, support, theta)
        return self

    def predict(self, X):
        """Predict, in blocks of rows.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        X = validate_arrays(self, X)
        xp = array_namespace(X)
        support_vectors, bandwidths, coef = (
            like(X, array)
            for array in (self.support_vectors_, self.bandwidths_, self.dual_coef_)
        )
        blocks = [
            lab_gram_matrix(X[rows, :], support_vectors, bandwidths, self.profile)
            @ coef
            for rows in row_blocks(X.shape[0], 4 * 8 * sum(bandwidths.shape))
        ]
        return xp.concat(blocks) + self.intercept_

    def _train(self, data, rng, history):
        """Algorithm 1: train, add the rows of largest error, train again."""
        rows, held_out = self._hold_out(data.shape[0], rng)
        # Equal rows as support data would make their kernel matrix singular.
        candidates = distinct(to_numpy(data.X), rows)
        budget = min(self.max_support, len(candidates))
        start = self._starting_bandwidth(data, candidates, budget, rng)
        d = data.shape[1]
        if budget == len(candidates):  # all are interpolated: nothing to train on
            self.converged_ = True
            return candidates, data.full((1, d), start)
        schedule = self._schedule(data)
        size = max(1, round(self.initial_support * budget))
        support = self._initial_support(data, candidates, size, rng)
        theta = data.full((1 if self.locality == "shared" else size, d), start)
        while True:
            last = len(support) == budget
            loss = data.loss(support, np.setdiff1d(rows, support))
            theta = self._minimize(
                loss, theta, data.take(held_out), schedule, rng, history, last
            )
            if last:
                return support, theta
            free = np.setdiff1d(candidates, support)
            errors = data.errors(loss, theta, free)
            if errors.max() <= self.error_tol:
                return support, theta
            growth = self.growth or max(10, len(support) // 10)
            new = largest_errors(errors, free, min(growth, budget - len(support)))
            support = np.concatenate([support, new])
            if self.locality == "local":
                theta = data.xp.concat([theta, data.full((len(new), d), start)], axis=0)

    def _hold_out(self, n, rng):
        """Rows to train on and rows to validate on (none if there are few)."""
        size = int(self.validation_fraction * n)
        if not self.early_stopping or size < 5 or n - size <= self.max_support:
            return np.arange(n), np.arange(0)
        order = rng.permutation(n)
        return np.sort(order[size:]), np.sort(order[:size])

    def _initial_support(self, data, rows, size, rng):
        X = to_numpy(data.X) if self.support == "kmeans" else None
        return initial_support(X, data.y_host, rows, size, self.support, rng)

    def _starting_bandwidth(self, data, rows, budget, rng):
        """The number given, or the best one on the rows that are not support data."""
        if self.bandwidth != "global":
            return float(self.bandwidth)
        size = min(budget, max(1, len(rows) // 2))
        support = self._initial_support(data, rows, size, rng)
        others = np.setdiff1d(rows, support)
        if len(others) < 5:
            return data.unit_bandwidth
        if len(others) > TUNING_ROWS:
            others = np.sort(rng.choice(others, TUNING_ROWS, replace=False))
        loss = data.loss(support, others)
        candidates = data.unit_bandwidth * GLOBAL_BANDWIDTHS
        shape = (1, data.shape[1])
        values = [loss.value(data.full(shape, float(c))) for c in candidates]
        return float(candidates[int(np.argmin(values))])

    def _schedule(self, data):
        """Iterations, batch and step: what is given, else the solver's own."""
        schedule = SCHEDULES[self.solver]
        if schedule.relative_step:
            rate = schedule.learning_rate * data.unit_bandwidth
            schedule = schedule._replace(learning_rate=rate)
        names = ("growth_iter", "max_iter", "batch_size", "learning_rate")
        given = {name: getattr(self, name) for name in names}
        return schedule._replace(**{k: v for k, v in given.items() if v is not None})

    def _minimize(self, loss, theta, held_out, schedule, rng, history, last):
        """One round of the solver; the bandwidths best on the rows held out."""
        limit = schedule.max_iter if last else schedule.growth_iter
        watch = Watch(loss, *held_out, theta, self.patience)
        iterates = SOLVERS[self.solver](
            loss,
            theta,
            rng=rng,
            tol=self.tol,
            learning_rate=schedule.learning_rate,
            batch_size=schedule.batch_size,
            max_grad_norm=self.max_grad_norm,
            horizon=limit if last else None,
        )
        count, value = 0, float("nan")
        for count, (theta, value) in enumerate(islice(iterates, limit), start=1):
            self.n_iter_ += 1
            if count % schedule.look_every == 0:
                validation_loss = watch.look(theta)
                history.append(self.n_iter_, loss.n_support, value, validation_loss)
                if watch.stale:
                    break
        watch.look(theta)
        # An annealed step has fallen to zero at the limit.
        self.converged_ = count < limit or watch.stale or self.solver == "annealed"
        if last and not self.converged_:
            warnings.warn(
                f"LABRBFRegressor stopped at max_iter={limit} with a mean squared "
                f"error of {value:.3g} var(y), still falling; raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        return watch.best

    def _finish(self, data, support, theta):
        """The coefficients in the type of X, and everything in the unit of y."""
        loss = data.final_loss(support)
        xp, X = data.xp, loss.X_support
        theta = xp.abs(xp.astype(theta, X.dtype))
        coef = loss.coefficients(theta)
        if not bool(xp.all(xp.isfinite(coef))):
            raise ValueError(
                "the kernel matrix of the support data is singular at "
                f"alpha={self.alpha!r}; use a larger alpha"
            )
        self.support_ = support
        self.support_vectors_ = data.support_vectors(support)
        self.bandwidths_ = theta + xp.zeros_like(X)
        self.dual_coef_ = coef * data.y_scale
        self.intercept_ = float(loss.bias) * data.y_scale + data.y_mean
        self.record_ = {"profile": self.profile, "locality": self.locality}

"""LAB RBF, Algorithm 1: train the bandwidths, add support points, train again."""

import time
from dataclasses import dataclass
from itertools import islice

import numpy as np
from array_api_compat import array_namespace
from sklearn.exceptions import ConvergenceWarning

from adakern._utils.arrays import as_numpy
from adakern._utils.warn import warn_user
from adakern.lab.adam import SCHEDULES, adam
from adakern.lab.kernel import SquaredDistances, profile_values
from adakern.lab.selection import Candidate
from adakern.lab.training import TrainingData

#: Candidates of the global bandwidth, relative to the unit one.
GLOBAL_BANDWIDTHS = 2.0 ** np.arange(-6, 6)

#: Candidates of the ridge; the first is the authors', which noisy targets need more of.
ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)

#: Rows at most that the start is chosen on.
TUNING_ROWS = 2000

#: Growth of the support points, as a factor, from one candidate to the next.
CANDIDATE_GROWTH = 1.25

#: Least step of a bandwidth, relative to that of a bandwidth of mean size.
LEAST_STEP = 0.1

#: Looks at the rows held out without improvement after which a round ends.
PATIENCE = 10


@dataclass
class BandwidthTraining:
    """The training of one fit; see the regressor for its parameters."""

    data: TrainingData
    rows: np.ndarray
    held_out: np.ndarray
    rng: np.random.Generator
    alpha: float | str
    max_support: int
    bandwidth: float | str
    locality: str
    initial_support: float
    growth: int | None
    solver: str
    growth_iter: int | None
    max_iter: int | None

    def __post_init__(self):
        # Equal rows as support points would make their kernel matrix singular.
        self.distinct = distinct(as_numpy(self.data.X), self.rows)
        given = {"growth_iter": self.growth_iter, "max_iter": self.max_iter}
        given = {name: value for name, value in given.items() if value is not None}
        self.schedule = SCHEDULES[self.solver]._replace(**given)
        self.history, self.n_iter, self.converged = History(), 0, True
        self.last_loss = float("nan")

    def candidates(self):
        """Support points and bandwidths, from the simplest to the most local."""
        n_distinct = len(self.distinct)
        budget = min(self.max_support, n_distinct)
        spread = self._first_support(budget)
        theta = self.data.full((1, self.data.shape[1]), self._global_start(budget))
        yield Candidate("global", spread, theta)
        if len(self.held_out):  # at least as many rows to train on as support points
            budget = min(budget, n_distinct // 2)
        elif budget == n_distinct:
            return  # all are interpolated: nothing to train on
        support = self._first_support(max(1, round(self.initial_support * budget)))
        if self.locality != "shared":
            if self.bandwidth == "shared":
                limit = min(self.schedule.shared_iter, self.schedule.max_iter)
                rate = self._global_rate()
                theta = self._minimise(support, theta, rate, limit, anneal=True)
                yield Candidate("shared", spread, theta)
            theta = self._repeated(theta, len(support))
        yield from self._grow(support, theta, budget)

    def _grow(self, support, theta, budget):
        shared = theta.shape[0] == 1
        start, last_size = theta[:1, :], 0
        trained_start = self.bandwidth == "shared" and not shared
        rate = self._local_rate(start) if trained_start else self._global_rate()
        locality = "shared" if shared else "local"
        while True:
            last = len(support) == budget
            limit = self.schedule.max_iter if last else self.schedule.growth_iter
            theta = self._minimise(support, theta, rate, limit, anneal=last)
            free = np.setdiff1d(self.distinct, support)
            if not last:
                loss = self.data.loss(support, free)
                errors = self.data.errors(loss, theta, free)
            if last or len(support) >= CANDIDATE_GROWTH * last_size:
                last_size = len(support)
                yield Candidate(locality, support, theta)
            if last:
                return
            growth = self.growth or max(10, len(support) // 10)
            new = largest_errors(errors, free, min(growth, budget - len(support)))
            support = np.concatenate([support, new])
            if not shared:
                added = self._repeated(start, len(new))
                theta = self.data.xp.concat([theta, added], axis=0)

    def _repeated(self, theta, size):
        zeros = self.data.full((size, theta.shape[1]), 0.0)
        return theta + zeros

    def _first_support(self, size):
        return spread_over_ranks(self.data.target, self.distinct, size)

    def _global_start(self, budget):
        """The bandwidth to start from; the ridge of the losses is chosen with it."""
        data, unit = self.data, self.data.unit_bandwidth
        bandwidths, alphas = [self.bandwidth], [self.alpha]
        if isinstance(self.bandwidth, str):
            bandwidths = unit * GLOBAL_BANDWIDTHS
        if isinstance(self.alpha, str):
            alphas = ALPHAS
        support = self._first_support(min(budget, max(1, len(self.distinct) // 2)))
        others = np.setdiff1d(self.distinct, support)
        if len(bandwidths) == len(alphas) == 1 or len(others) < 5:
            data.alpha = alphas[0]
            return float(bandwidths[0]) if len(bandwidths) == 1 else unit
        if len(others) > TUNING_ROWS:
            others = np.sort(self.rng.choice(others, TUNING_ROWS, replace=False))
        loss = data.loss(support, others)
        bandwidth, data.alpha = global_start(loss, bandwidths, alphas)
        return bandwidth

    def _global_rate(self):
        """Step of the solver where nothing is known about the features."""
        rate = self.schedule.learning_rate
        return rate * self.data.unit_bandwidth if self.schedule.local_rate else rate

    def _local_rate(self, start):
        """Step for each feature, shape (1, d), from the bandwidths trained before.

        Adam moves every bandwidth alike, however little its feature matters: at one
        step for all, those of many features without influence only pick up noise.
        """
        if not self.schedule.local_rate:
            return self.schedule.learning_rate
        xp, size = self.data.xp, self.data.xp.abs(start)
        least = LEAST_STEP * xp.sqrt(xp.mean(start * start)) + 0 * size
        return self.schedule.local_rate * xp.where(size > least, size, least)

    def _minimise(self, support, theta, rate, limit, anneal):
        """One round of the solver; the bandwidths best on the rows held out."""
        loss = self.data.loss(support, np.setdiff1d(self.rows, support))
        watch = Watch(loss, *self.data.take(self.held_out), theta)
        anneal = anneal and self.solver == "annealed"
        iterates = adam(
            loss,
            theta,
            rng=self.rng,
            learning_rate=rate,
            batch_size=self.schedule.batch_size,
            horizon=limit if anneal else None,
        )
        count, value = 0, float("nan")
        for count, (theta, value) in enumerate(islice(iterates, limit), start=1):
            self.n_iter += 1
            if count % self.schedule.look_every == 0:
                validation_loss = watch.look(theta)
                self.history.append(self.n_iter, len(support), value, validation_loss)
                if watch.stale:
                    break
        watch.look(theta)
        # An annealed step has fallen to zero at the limit.
        self.converged = watch.stale or self.solver == "annealed"
        self.last_loss = value
        return watch.best

    def warn_unless_converged(self):
        """A ConvergenceWarning if the last round was cut off by its limit."""
        if not self.converged:
            warn_user(
                f"LABRBFRegressor stopped at max_iter={self.schedule.max_iter} with a "
                f"mean squared error of {self.last_loss:.3g} var(y), still falling; "
                "raise max_iter",
                ConvergenceWarning,
            )


def global_start(loss, bandwidths, alphas):
    """Bandwidth and ridge whose interpolant has the least error on other rows."""
    best = np.inf, bandwidths[0], alphas[0]
    for bandwidth in bandwidths:
        errors = _errors(loss, float(bandwidth), alphas)
        k = int(np.argmin(errors))
        best = min(best, (errors[k], float(bandwidth), alphas[k]))
    return best[1:]


def _errors(loss, bandwidth, alphas):
    """Mean squared error of each ridge; inf where it is not a number."""
    xp = array_namespace(loss.X)
    X_support, target, X = (
        xp.astype(array, xp.float64) for array in (loss.X_support, loss.target, loss.X)
    )
    theta = xp.full_like(X_support[:1, :], bandwidth)
    distances = SquaredDistances(X_support)
    D = distances(X_support, theta)
    K_ss = profile_values((D + D.T) / 2, loss.profile)
    values, vectors = xp.linalg.eigh(K_ss)
    rotated = vectors.T @ target
    coefs = [vectors @ (rotated / (values + alpha)) for alpha in alphas]
    errors = [0.0] * len(alphas)
    for rows in loss.blocks(X.shape[0]):
        K = profile_values(distances(X[rows, :], theta), loss.profile)
        y = xp.astype(loss.y[rows], xp.float64) - float(loss.bias)
        for k, coef in enumerate(coefs):
            errors[k] += float(xp.sum((K @ coef - y) ** 2)) / X.shape[0]
    return np.nan_to_num(as_numpy(errors), nan=np.inf)


def distinct(X, rows):
    """The entries of ``rows`` whose row of X occurs for the first time."""
    _, first = np.unique(X[rows], axis=0, return_index=True)
    return rows[np.sort(first)]


def spread_over_ranks(y, rows, size):
    """So many different entries of ``rows``, evenly spread over the ranks of y."""
    if size >= len(rows):
        return rows
    by_target = rows[np.argsort(y[rows], kind="stable")]
    return by_target[np.linspace(0, len(rows) - 1, size).round().astype(int)]


def largest_errors(errors, rows, size):
    """The ``size`` entries of ``rows`` with the largest errors, ties in row order."""
    return rows[np.argsort(-errors, kind="stable")[:size]]


class Watch:
    """Keeps the bandwidths that are best on the validation rows (all are, if none)."""

    def __init__(self, loss, X, y, theta):
        self.loss = loss
        self.active = y.shape[0] > 0
        self.X, self.y = X, y
        self.best, self.best_value, self.looks = theta, float("inf"), 0
        self.look(theta)

    def look(self, theta):
        """Validation loss of theta; nan if there are no validation rows."""
        if not self.active:
            self.best = theta
            return float("nan")
        value = self.loss.value(theta, self.X, self.y)
        self.looks += 1
        if value < self.best_value:
            self.best, self.best_value, self.looks = theta, value, 0
        return value

    @property
    def stale(self):
        return self.active and self.looks >= PATIENCE


class History:
    """Lists that grow by one entry at each look at the training."""

    NAMES = ("iteration", "n_support", "loss", "validation_loss", "time")

    def __init__(self):
        self.lists = {name: [] for name in self.NAMES}
        self._start = time.perf_counter()

    def append(self, iteration, n_support, loss, validation_loss):
        """One more look."""
        seconds = time.perf_counter() - self._start
        entries = (iteration, n_support, loss, validation_loss, seconds)
        for name, entry in zip(self.NAMES, entries, strict=True):
            self.lists[name].append(entry)

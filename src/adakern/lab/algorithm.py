"""LAB RBF, Algorithm 1: train the bandwidths, add support points, train again."""

import time
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from adakern._utils.arrays import as_numpy
from adakern.lab.adam import Schedule, adam
from adakern.lab.selection import Candidate
from adakern.lab.training import TrainingData

#: Candidates for the global bandwidth, relative to the unit bandwidth.
GLOBAL_BANDWIDTHS = 2.0 ** np.arange(-6, 6)

#: Candidates for the ridge; the first is the authors', too small for noisy targets.
ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 10.0)

#: Maximum number of rows on which the initial bandwidth is chosen.
TUNING_ROWS = 2000

#: Factor by which the support grows from one candidate to the next.
CANDIDATE_GROWTH = 1.25

#: Minimum step of a bandwidth, relative to that of a bandwidth of mean size.
LEAST_STEP = 0.1

#: Keys of the training history.
HISTORY = ("iteration", "n_support", "loss", "validation_loss", "time")

#: Evaluations on the held-out rows without improvement before a round stops.
PATIENCE = 10


@dataclass
class BandwidthTraining:
    """Training of one fit on ``rows``; the regressor documents the parameters."""

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
    schedule: Schedule
    n_iter: int = 0
    converged: bool = True
    last_loss: float = float("nan")
    history: dict = field(default_factory=lambda: {name: [] for name in HISTORY})
    start: float = field(default_factory=time.perf_counter)

    def candidates(self):
        """Yield support points and bandwidths, from the simplest to the most local."""
        # Equal rows as support points would make their kernel matrix singular.
        rows = distinct(as_numpy(self.data.X), self.rows)
        target = self.data.target
        n_distinct = len(rows)
        budget = min(self.max_support, n_distinct)
        spread = spread_over_ranks(target, rows, budget)
        bandwidth = self._global_start(rows, budget)
        theta = self.data.full((1, self.data.shape[1]), bandwidth)
        yield Candidate("global", spread, theta)
        if len(self.held_out):  # at least as many training rows as support points
            budget = max(1, min(budget, n_distinct // 2))
        elif budget == n_distinct:
            return  # all are interpolated: nothing to train on
        support = spread_over_ranks(
            target, rows, max(1, round(self.initial_support * budget))
        )
        if self.locality != "shared":
            if self.bandwidth == "shared":
                limit = min(self.schedule.shared_iter, self.schedule.max_iter)
                theta = self._minimise(
                    support, theta, self._global_rate(), limit, anneal=True
                )
                yield Candidate("shared", spread, theta)
            theta = self._repeated(theta, len(support))
        yield from self._grow(rows, support, theta, budget)

    def _grow(self, rows, support, theta, budget):
        shared = theta.shape[0] == 1
        start = theta[:1, :]
        last_size = 0
        trained_start = self.bandwidth == "shared" and not shared
        annealed = self.schedule.local_rate is not None
        rate = (
            self._local_rate(start)
            if trained_start and annealed
            else self._global_rate()
        )
        while True:
            last = len(support) == budget
            limit = self.schedule.max_iter // (1 if last else 10)
            theta = self._minimise(support, theta, rate, limit, anneal=last)
            if last or len(support) >= CANDIDATE_GROWTH * last_size:
                last_size = len(support)
                yield Candidate("shared" if shared else "local", support, theta)
            if last:
                return
            free = np.setdiff1d(rows, support)
            predicted = self.data.loss(support, free, self.alpha).predict(theta)
            errors = np.abs(as_numpy(predicted - self.data.take(free)[1]))
            growth = self.growth or max(10, len(support) // 10)
            # The largest errors, ties in row order.
            new = free[
                np.argsort(-errors, kind="stable")[: min(growth, budget - len(support))]
            ]
            support = np.concatenate([support, new])
            if not shared:
                theta = self.data.xp.concat(
                    [theta, self._repeated(start, len(new))], axis=0
                )

    def _repeated(self, theta, size):
        return theta + self.data.full((size, theta.shape[1]), 0.0)

    def _global_start(self, rows, budget):
        """Choose the initial bandwidth and, jointly, the ridge of the losses."""
        data = self.data
        unit = data.unit_bandwidth
        searched = isinstance(self.bandwidth, str)
        bandwidths = unit * GLOBAL_BANDWIDTHS if searched else [float(self.bandwidth)]
        alphas = ALPHAS if isinstance(self.alpha, str) else [self.alpha]
        support = spread_over_ranks(
            data.target, rows, min(budget, max(1, len(rows) // 2))
        )
        others = np.setdiff1d(rows, support)
        self.alpha = alphas[0]
        if len(bandwidths) == len(alphas) == 1 or len(others) < 5:
            return unit if searched else bandwidths[0]
        if len(others) > TUNING_ROWS:
            others = np.sort(self.rng.choice(others, TUNING_ROWS, replace=False))
        losses = [data.loss(support, others, alpha) for alpha in alphas]
        thetas = [data.full((1, data.shape[1]), bandwidth) for bandwidth in bandwidths]
        errors = np.array([[loss.value(theta) for loss in losses] for theta in thetas])
        best, k = np.unravel_index(errors.argmin(), errors.shape)
        self.alpha = alphas[k]
        return float(bandwidths[best])

    def _global_rate(self):
        """Learning rate before anything is known about the features."""
        rate = self.schedule.learning_rate
        return rate * self.data.unit_bandwidth if self.schedule.local_rate else rate

    def _local_rate(self, start):
        """Annealed learning rate of each feature, shape (1, d).

        It is smaller for features without influence.
        """
        xp = self.data.xp
        size = xp.abs(start)
        least = LEAST_STEP * xp.sqrt(xp.mean(start * start)) + 0 * size
        return self.schedule.local_rate * xp.where(size > least, size, least)

    def _minimise(self, support, theta, rate, limit, anneal):
        """Run one round of the solver.

        Returns the bandwidths that are best on the held-out rows; the last ones if no
        rows are held out.
        """
        loss = self.data.loss(support, np.setdiff1d(self.rows, support), self.alpha)
        held_out = *self.data.take(self.held_out), self.data.take_weights(self.held_out)

        def validate(theta):
            return loss.value(theta, *held_out) if len(self.held_out) else float("nan")

        best = theta
        best_value = validate(theta)
        waited = 0
        value = float("nan")
        annealed = self.schedule.local_rate is not None
        iterates = adam(
            loss,
            theta,
            rng=self.rng,
            learning_rate=rate,
            batch_size=self.schedule.batch_size,
            horizon=limit if anneal and annealed else None,
        )
        for count, (theta, value) in enumerate(islice(iterates, limit), start=1):
            self.n_iter += 1
            look = count % self.schedule.look_every == 0
            if not look and count < limit:
                continue
            validation_loss = validate(theta)
            if look:
                seconds = time.perf_counter() - self.start
                entries = self.n_iter, len(support), value, validation_loss, seconds
                for name, entry in zip(HISTORY, entries, strict=True):
                    self.history[name].append(entry)
            waited += 1
            if not validation_loss >= best_value:  # nan if no rows are held out
                best = theta
                best_value = validation_loss
                waited = 0
            if waited >= PATIENCE:
                break
        # The annealed learning rate is zero at the limit.
        self.converged = waited >= PATIENCE or annealed or not limit
        self.last_loss = value
        return best


def distinct(X, rows):
    """Entries of ``rows`` whose row of X occurs for the first time."""
    _, first = np.unique(X[rows], axis=0, return_index=True)
    return rows[np.sort(first)]


def spread_over_ranks(y, rows, size):
    """Select ``size`` entries of ``rows``, evenly spread over the ranks of y."""
    if size >= len(rows):
        return rows
    by_target = rows[np.argsort(y[rows], kind="stable")]
    return by_target[np.linspace(0, len(rows) - 1, size).round().astype(int)]

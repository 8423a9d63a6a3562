"""LAB RBF, Algorithm 1: train the bandwidths, add support data, train again."""

from itertools import islice

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from adakern._utils.arrays import as_numpy
from adakern._utils.warn import warn_user
from adakern.lab.selection import Candidate
from adakern.lab.solvers import SCHEDULES, SOLVERS
from adakern.lab.start import ALPHAS, GLOBAL_BANDWIDTHS, global_start
from adakern.lab.support import distinct, initial_support, largest_errors
from adakern.lab.training import Watch

__all__ = ["BandwidthTraining"]

#: Rows at most that the start is chosen on.
TUNING_ROWS = 2000

#: Growth of the support data, as a factor, from one candidate to the next.
CANDIDATE_GROWTH = 1.25


#: Least step of a bandwidth, relative to that of a bandwidth of mean size.
LEAST_STEP = 0.1


class BandwidthTraining:
    """The training of one fit."""

    def __init__(self, settings, data, rows, held_out, rng, history):
        self.settings, self.data = settings, data
        self.rows, self.held_out = rows, held_out
        self.rng, self.history = rng, history
        # Equal rows as support data would make their kernel matrix singular.
        self.distinct = distinct(as_numpy(data.X), rows)
        self.schedule = _schedule(settings)
        self.n_iter, self.converged = 0, True

    def candidates(self):
        """Support data and bandwidths, from the simplest to the most local."""
        settings, n_distinct = self.settings, len(self.distinct)
        budget = min(settings.max_support, n_distinct)
        spread = self._first_support(budget)
        theta = self.data.full((1, self.data.shape[1]), self._global_start(budget))
        yield Candidate("global", spread, theta)
        if len(self.held_out):  # at least as many rows to train on as support data
            budget = min(budget, n_distinct // 2)
        elif budget == n_distinct:
            return  # all are interpolated: nothing to train on
        support = self._first_support(max(1, round(settings.initial_support * budget)))
        if settings.locality != "shared":
            if settings.bandwidth == "shared":
                limit = min(self.schedule.shared_iter, self.schedule.max_iter)
                rate = self._global_rate()
                theta = self._minimise(support, theta, rate, limit, anneal=True)
                yield Candidate("shared", spread, theta)
            theta = self._repeated(theta, len(support))
        yield from self._grow(support, theta, budget)

    def _grow(self, support, theta, budget):
        settings, shared = self.settings, theta.shape[0] == 1
        start, last_size = theta[:1, :], 0
        trained_start = settings.bandwidth == "shared" and not shared
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
                last = errors.max() <= settings.error_tol
            if last or len(support) >= CANDIDATE_GROWTH * last_size:
                last_size = len(support)
                yield Candidate(locality, support, theta)
            if last:
                return
            growth = settings.growth or max(10, len(support) // 10)
            new = largest_errors(errors, free, min(growth, budget - len(support)))
            support = np.concatenate([support, new])
            if not shared:
                added = self._repeated(start, len(new))
                theta = self.data.xp.concat([theta, added], axis=0)

    def _repeated(self, theta, size):
        zeros = self.data.full((size, theta.shape[1]), 0.0)
        return theta + zeros

    def _first_support(self, size):
        rule = self.settings.support
        X = as_numpy(self.data.X) if rule == "kmeans" else None
        return initial_support(X, self.data.target, self.distinct, size, rule, self.rng)

    def _global_start(self, budget):
        """The bandwidth to start from; the ridge of the losses is chosen with it."""
        settings, data = self.settings, self.data
        unit = data.unit_bandwidth
        bandwidths, alphas = [settings.bandwidth], [settings.alpha]
        if isinstance(settings.bandwidth, str):
            bandwidths = unit * GLOBAL_BANDWIDTHS
        if isinstance(settings.alpha, str):
            alphas = ALPHAS
        support = self._first_support(min(budget, max(1, len(self.distinct) // 2)))
        others = np.setdiff1d(self.distinct, support)
        if len(bandwidths) == len(alphas) == 1 or len(others) < 5:
            data.alpha = alphas[0]
            return float(bandwidths[0]) if len(bandwidths) == 1 else unit
        if len(others) > TUNING_ROWS:
            others = np.sort(self.rng.choice(others, TUNING_ROWS, replace=False))
        bandwidth, data.alpha = global_start(
            data.loss(support, others), bandwidths, alphas
        )
        return bandwidth

    def _global_rate(self):
        """Step of the solver where nothing is known about the features."""
        rate = self.schedule.learning_rate
        return rate * self.data.unit_bandwidth if self._relative else rate

    def _local_rate(self, start):
        """Step for each feature, shape (1, d), from the bandwidths trained before.

        Adam moves every bandwidth alike, however little its feature matters: at one
        step for all, those of many features without influence only pick up noise.
        """
        if not self._relative:
            return self.schedule.learning_rate
        xp, size = self.data.xp, self.data.xp.abs(start)
        least = LEAST_STEP * xp.sqrt(xp.mean(start * start)) + 0 * size
        return self.schedule.local_rate * xp.where(size > least, size, least)

    @property
    def _relative(self):
        return self.settings.learning_rate is None and self.schedule.relative_step

    def _minimise(self, support, theta, rate, limit, anneal):
        """One round of the solver; the bandwidths best on the rows held out."""
        settings, schedule = self.settings, self.schedule
        loss = self.data.loss(support, np.setdiff1d(self.rows, support))
        watch = Watch(loss, *self.data.take(self.held_out), theta, settings.patience)
        iterates = SOLVERS[settings.solver](
            loss,
            theta,
            rng=self.rng,
            tol=settings.tol,
            learning_rate=rate,
            batch_size=schedule.batch_size,
            max_grad_norm=settings.max_grad_norm,
            horizon=limit if anneal else None,
        )
        count, value = 0, float("nan")
        for count, (theta, value) in enumerate(islice(iterates, limit), start=1):
            self.n_iter += 1
            if count % schedule.look_every == 0:
                validation_loss = watch.look(theta)
                self.history.append(self.n_iter, len(support), value, validation_loss)
                if watch.stale:
                    break
        watch.look(theta)
        # An annealed step has fallen to zero at the limit.
        stopped = count < limit or watch.stale or settings.solver == "annealed"
        self.converged = stopped
        self.unconverged_loss = value, limit
        return watch.best

    def warn_unless_converged(self):
        """A ConvergenceWarning if the last round was cut off by its limit."""
        if self.converged:
            return
        value, limit = self.unconverged_loss
        warn_user(
            f"LABRBFRegressor stopped at max_iter={limit} with a mean squared "
            f"error of {value:.3g} var(y), still falling; raise max_iter",
            ConvergenceWarning,
        )


def _schedule(settings):
    """Iterations, batch and step: what is given, else the solver's own."""
    schedule = SCHEDULES[settings.solver]
    names = ("growth_iter", "max_iter", "batch_size", "learning_rate")
    given = {name: getattr(settings, name) for name in names}
    return schedule._replace(**{k: v for k, v in given.items() if v is not None})

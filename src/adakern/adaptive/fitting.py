"""The members fitted one after another, in time, and screened on large tables."""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from adakern._utils.arrays import device_context, to_device
from adakern._utils.warn import warn_user
from adakern.adaptive.kernel_members import FULL_FACTOR
from adakern.adaptive.parts import FittedMember, Member, Table, Views, varies
from adakern.adaptive.plan import Settings, make_member, seconds
from adakern.adaptive.screening import LEARNERS, MAX_SUPPORT, candidates_kept, subsample
from adakern.adaptive.views import KernelView, TreeView

#: A screening may take this part of a time limit.
SCREENING_SHARE = 0.2

#: Weights, scores and the sizes of errors, found after the members, take about this part.
SHARE_AFTER = 0.1


@dataclass
class Schedule:
    """Members to fit, and what they may take; ``tell`` prints a line of progress."""

    names: list
    may_screen: bool
    started: float
    limit: float
    n_jobs: int
    tell: object


@dataclass
class _Job:
    """What all members of a fit are given; ``views`` by their kind."""

    table: Table
    settings: Settings
    views: dict
    bounds: tuple

    def seconds(self, name):
        """An estimate of the time that a member takes."""
        (n, d), k = self.table.X.shape, self.table.Y.shape[1]
        return seconds(name, n, d, k, self.settings.max_support, self.table.n_folds)

    def fit(self, name, found, run, screening=False):
        """One member fitted in all folds; None if ``run`` finds that to take long."""
        started, n = time.perf_counter(), len(self.table.X)
        d = len(self.views["kernel"].whole.columns_)
        member = make_member(name, self.settings, n, d, found, screening=screening)
        views = self.views[member.view]
        fits = member.fit_folds(views, self.table, run)
        if fits is None:
            return None
        fits.predicted = np.clip(fits.predicted, *self.bounds)
        fits.left_out = np.clip(fits.left_out, *self.bounds)
        took = time.perf_counter() - started
        return FittedMember(name, views, fits, self.bounds, member.slope, took)


def fit_members(table, settings, schedule, blend, rng):
    """Fitted members and, as :class:`Member`, those that a screening dropped.

    ``blend`` is an unfitted blend, by whose loss members are screened.
    """
    has_folds = (table.fold != 0).any()
    if not (has_folds and varies(table.X) and varies(table.Y)):
        return [], []
    large = len(table.X) > FULL_FACTOR * settings.max_support
    views = {
        kind: _of_folds(make(settings.is_categorical).fit(table.X), table, large)
        for kind, make in (("kernel", KernelView), ("tree", TreeView))
    }
    job = _Job(table, settings, views, blend.bounds(table.Y))
    names, found, dropped = schedule.names, {}, []
    with Parallel(n_jobs=schedule.n_jobs) as parallel:
        if large and schedule.may_screen and len(table.X) > LEARNERS:
            names, found, dropped = _screen(job, schedule, blend, parallel, rng)
        if large:
            warn_user(
                f"{len(table.X)} different rows: kernel members stand on "
                f"max_support={settings.max_support} of them (Nyström) instead of all; "
                f"members: {', '.join(names)}"
            )
        fitted = _in_turn(job, names, found, schedule, parallel)
    done = [member.name for member in fitted]
    known = {*done, *(member.name for member in dropped)}
    if skipped := [name for name in schedule.names if name not in known]:
        warn_user(
            f"time_limit={schedule.limit} s was too short for the members "
            f"{', '.join(skipped)}; used: {', '.join(done)}"
        )
    return fitted, dropped


def _in_turn(job, names, found, schedule, parallel):
    """The members fitted one after another, those left out that take too long.

    In a limited fit the cheapest comes first, and is fitted however little time there is.
    """
    took = estimated = 1.0  # second; later estimates are corrected by the ratio of all so far
    deadline = schedule.started + (1 - SHARE_AFTER) * schedule.limit
    fitted, found, order = {}, dict(found), list(names)
    if schedule.limit < np.inf:
        cheapest = min(names, key=job.seconds)
        order.sort(key=lambda name: name != cheapest)
    for i, name in enumerate(order):
        started, estimate = time.perf_counter(), job.seconds(name)
        if fitted and started + estimate * took / estimated > deadline:
            continue
        run = partial(in_time, parallel=parallel, deadline=deadline if fitted else np.inf)
        member = job.fit(name, found, run)
        took += time.perf_counter() - started
        if member is None:  # after its first fold
            estimated += estimate / job.table.n_folds
            continue
        estimated += estimate
        fitted[name] = member
        if member.fits.whole is not None:
            found[name] = member.fits.whole.found()
        left = sum(map(job.seconds, order[i + 1 :])) * took / estimated
        schedule.tell(f"{name}: {member.seconds:.1f} s, about {left:.0f} s for the others")
    return [fitted[name] for name in names if name in fitted]


def _of_folds(whole, table, large):
    """A view for each fold, which must not know its rows."""
    if large and table.n_folds > 1:  # kernel members share scales and centres anyway
        return Views(whole, [whole] * table.n_folds)
    make, categorical = type(whole), whole.is_categorical
    folds = range(table.n_folds)
    return Views(whole, [make(categorical).fit(table.X[table.fold != k]) for k in folds])


def in_time(tasks, parallel, deadline):
    """What the tasks return; None if the first shows that the rest takes too long.

    Without a deadline (infinity) the first does not go ahead of the others.
    """
    if deadline == np.inf:
        return parallel(tasks)
    started = time.perf_counter()
    (first,) = _run_here(tasks[:1])
    ended = time.perf_counter()
    rounds = np.ceil((len(tasks) - 1) / effective_n_jobs(parallel.n_jobs))
    if ended + rounds * (ended - started) > deadline:
        return None
    return [first, *parallel(tasks[1:])]


def _run_here(tasks):
    return [function(*args, **kwargs) for function, args, kwargs in tasks]


def _screen(job, schedule, blend, parallel, rng):
    """Names of members that count on a subsample, what they found, and the others.

    All names where that would take too much of the time.
    """
    started, part = time.perf_counter(), subsample(job.table, rng)
    few = job.settings._replace(max_support=min(MAX_SUPPORT, job.settings.max_support))
    views = {kind: Views(view.whole, [view.whole]) for kind, view in job.views.items()}
    small, place = replace(job, table=part, settings=few, views=views), to_device(np.empty(0))
    if sum(map(small.seconds, schedule.names)) > SCREENING_SHARE * schedule.limit:
        return schedule.names, {}, []
    members = parallel(delayed(_screened)(place, small, name) for name in schedule.names)
    took = time.perf_counter() - started
    values, slopes = [m.fits.predicted for m in members], [m.slope for m in members]
    loss_of, scores = blend.judge(values, slopes, part.left_out)
    trees = np.array([hasattr(m.views.whole, "ranks_") for m in members])
    kept = candidates_kept(loss_of, trees, len(job.table.X))
    dropped = [
        Member(m.name, 0.0, float(score), took / len(members))
        for m, score, stays in zip(members, scores, kept, strict=True)
        if not stays
    ]
    members = [m for m, stays in zip(members, kept, strict=True) if stays]
    found = {m.name: m.fits.models[0].found() for m in members}
    schedule.tell(f"screening: {took:.1f} s; {', '.join(found)} are kept")
    return list(found), {k: v for k, v in found.items() if v is not None}, dropped


def _screened(place, job, name):
    with device_context(place):
        return job.fit(name, {}, _run_here, screening=True)

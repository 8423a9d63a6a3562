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
from adakern.adaptive.plan import Settings, make_member, seconds, seconds_after
from adakern.adaptive.screening import LEARNERS, MAX_SUPPORT, candidates_kept, subsample
from adakern.adaptive.views import KernelView, TreeView

#: A screening may take this part of a time limit.
SCREENING_SHARE = 0.2

#: As much of a time limit is what estimates are believed for until members took longer.
PRIOR_SHARE = 0.1

#: Members of little time that are good everywhere: the first ones of a limited fit.
SAFE = ("linear", "extra-trees", "boosting")


@dataclass
class Schedule:
    """Members to fit, and what they may take; ``tell`` prints a line of progress.

    ``n_rows`` are those of the whole table, over which sums are taken afterwards.
    """

    names: list
    may_screen: bool
    started: float
    limit: float
    n_jobs: int
    n_rows: int
    tell: object

    @property
    def is_limited(self):
        """Whether there is a limit of time."""
        return self.limit < np.inf

    def in_order(self, names):
        """The names as they are fitted, in a limited fit those that are safe first."""
        safe = [name for name in SAFE if self.is_limited and name in names]
        return safe + [name for name in names if name not in safe]


@dataclass
class _Job:
    """What all members of a fit are given; ``views`` by their kind."""

    table: Table
    settings: Settings
    views: dict
    bounds: tuple

    @property
    def is_large(self):
        """Whether kernel members stand on some of the rows only."""
        return len(self.table.X) > FULL_FACTOR * self.settings.max_support

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
    prior = PRIOR_SHARE * schedule.limit if schedule.is_limited else 1.0
    pace = _Pace(prior, prior)
    with Parallel(n_jobs=schedule.n_jobs) as parallel:
        # Whatever happens to the others there is something better than the mean.
        cheapest = min(names, key=job.seconds)
        fitted = [job.fit(cheapest, {}, parallel)] if schedule.is_limited else []
        if _screening_pays(job, schedule):
            names, found, dropped = _screen(job, schedule, blend, parallel, pace, rng)
        if job.is_large:
            warn_user(
                f"{len(table.X)} different rows: kernel members stand on "
                f"max_support={settings.max_support} of them (Nyström) instead of all; "
                f"members: {', '.join(names)}"
            )
        fitted = _in_turn(job, names, found, fitted, schedule, parallel, pace)
    done = [member.name for member in fitted]
    known = {*done, *(member.name for member in dropped)}
    if skipped := [name for name in schedule.names if name not in known]:
        warn_user(
            f"time_limit={schedule.limit} s was too short for the members "
            f"{', '.join(skipped)}; used: {', '.join(done)}"
        )
    return fitted, dropped


@dataclass
class _Pace:
    """Seconds that members took, and those that were estimated."""

    took: float
    estimated: float

    def add(self, took, estimated):
        self.took, self.estimated = self.took + took, self.estimated + estimated

    def corrected(self, estimate):
        return estimate * self.took / self.estimated


def _in_turn(job, names, found, fitted, schedule, parallel, pace):
    """The members fitted one after another, those left out that take too long.

    The cheapest of a limited fit is ``fitted`` already.
    """
    after = seconds_after(*job.table.X.shape, job.table.Y.shape[1], len(names))
    deadline = schedule.started + schedule.limit - after
    run = partial(in_time, parallel=parallel, deadline=deadline)
    by_name, found, order = {}, dict(found), schedule.in_order(names)
    for i, name in enumerate(order):
        member = next((m for m in fitted if m.name == name), None)
        if member is None:
            needed = pace.corrected(job.seconds(name))
            started = time.perf_counter()
            if started + needed > deadline:
                continue
            member = job.fit(name, found, run)
            if member is None:  # after its first fold
                pace.add(time.perf_counter() - started, job.seconds(name) / job.table.n_folds)
                continue
        by_name[name] = member
        pace.add(member.seconds, job.seconds(name))
        if member.fits.whole is not None:
            found[name] = member.fits.whole.found()
        left = pace.corrected(sum(map(job.seconds, order[i + 1 :])) + after)
        left += (schedule.n_rows / len(job.table.X) - 1) * sum(
            m.seconds for m in by_name.values() if m.predictor[0].stands_on_centres
        )
        schedule.tell(f"{name}: {member.seconds:.1f} s, about {left:.0f} s left")
    return [by_name[name] for name in names if name in by_name] or fitted


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


def _screening_pays(job, schedule):
    """Whether there are rows enough for a screening, and time for what comes after."""
    if not (schedule.may_screen and job.is_large and len(job.table.X) > LEARNERS):
        return False
    took = sum(_seconds_of_screening(job, name) for name in schedule.names)
    return took <= SCREENING_SHARE * schedule.limit


def _seconds_of_screening(job, name):
    d, k = job.table.X.shape[1], job.table.Y.shape[1]
    return seconds(name, LEARNERS, d, k, MAX_SUPPORT, n_folds=1)


def _screen(job, schedule, blend, parallel, pace, rng):
    """Names of members that count on a subsample, what they found, and the others.

    Where time runs out the members that are left are neither.
    """
    started, step = time.perf_counter(), len(schedule.names)
    if schedule.is_limited:
        step = effective_n_jobs(parallel.n_jobs)
    part = subsample(job.table, rng)
    few = job.settings._replace(max_support=min(MAX_SUPPORT, job.settings.max_support))
    views = {kind: Views(view.whole, [view.whole]) for kind, view in job.views.items()}
    small, place = replace(job, table=part, settings=few, views=views), to_device(np.empty(0))
    order, members = schedule.in_order(schedule.names), []
    for i in range(0, len(order), step):
        if time.perf_counter() > started + SCREENING_SHARE * schedule.limit:
            break
        members += parallel(delayed(_screened)(place, small, n) for n in order[i : i + step])
    took = time.perf_counter() - started
    pace.add(took, sum(_seconds_of_screening(job, m.name) for m in members))
    members.sort(key=lambda member: schedule.names.index(member.name))
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

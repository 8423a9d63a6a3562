"""The members fitted one after another, in time, and screened on large tables."""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from adakern._utils.arrays import device_context, to_device
from adakern._utils.warn import warn_user
from adakern.adaptive.kernel_members import FULL_FACTOR
from adakern.adaptive.parts import FittedMember, Member, Table, varies
from adakern.adaptive.plan import Settings, make_member, seconds, seconds_after
from adakern.adaptive.screening import (
    LEARNERS,
    MAX_SUPPORT,
    RISE,
    SCREENED_ROWS,
    candidates_kept,
    subsample,
)
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
        folds = self.table.n_folds
        return seconds(name, n, d, k, self.settings.max_support, n_folds=folds)

    def seconds_after(self, n_members):
        """An estimate of the time that weights, scores and intervals take."""
        (n, d), k = self.table.X.shape, self.table.Y.shape[1]
        return seconds_after(n, d, k, n_members)

    def fit(self, name, found, run, screening=False, promises=None):
        """One member fitted in all folds; None if ``run`` finds that to take long.

        Or if it ``promises`` nothing after the first fold.
        """
        started, n = time.perf_counter(), len(self.table.X)
        d = len(self.views["kernel"].kept_)
        member = make_member(name, self.settings, n, d, found, screening=screening)
        view = self.views[member.view]
        if promises:
            run = partial(run, goes_on=lambda first: promises(member.slope, first[1]))
        fits = member.fit_folds(replace(self.table, X=view.transform(self.table.X)), run)
        if fits is None:
            return None
        fits.predicted = np.clip(fits.predicted, *self.bounds)
        fits.left_out = np.clip(fits.left_out, *self.bounds)
        took = time.perf_counter() - started
        return FittedMember(name, view, fits, self.bounds, member.slope, took)


def fit_members(table, settings, schedule, blend, rng):
    """Fitted members and, as :class:`Member`, those that a screening dropped.

    ``blend`` is an unfitted blend, by whose loss members are screened.
    """
    has_folds = (table.fold != 0).any()
    if not (has_folds and varies(table.X) and varies(table.Y)):
        return [], []
    # Folds share what is learned without targets; rows given to judge are no fold.
    known = table.X if table.n_folds > 1 else table.X[table.fold != 0]
    views = {
        kind: make(settings.is_categorical).fit(known)
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
        on_trial = {}
        if _screening_pays(job, schedule):
            names, on_trial, found, dropped = _screen(job, schedule, blend, parallel, pace, rng)
        if job.is_large:
            warn_user(
                f"{len(table.X)} different rows: kernel members stand on at most "
                f"max_support={settings.max_support} of them (Nyström) instead of all; "
                f"members: {', '.join(names)}"
            )
        improves = partial(_improves, job, blend)
        fitted, failed = _in_turn(
            job, names, on_trial, found, fitted, improves, schedule, parallel, pace
        )
        dropped += [on_trial[name] for name in failed]
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


def _improves(job, blend, fitted, slope, values):
    """Whether a member's values for the first fold make the blend there better."""
    rows = job.table.left_out
    first = rows.fold == 0
    every = [*(m.fits.predicted[first] for m in fitted), np.clip(values, *job.bounds)]
    slopes = [*(m.slope for m in fitted), slope]
    loss_of, _ = blend.judge(every, slopes, rows.take(first))
    return loss_of(range(len(every))) < (1 - RISE) * loss_of(range(len(fitted)))


def _in_turn(job, names, on_trial, found, fitted, improves, schedule, parallel, pace):
    """The members fitted one after another, those left out that take too long.

    The cheapest of a limited fit is ``fitted`` already. Those ``on_trial`` come last, and
    end with the first fold if nothing ``improves``; the names of these are returned, too.
    """
    after = job.seconds_after(len(names))
    deadline = schedule.started + schedule.limit - after
    run = partial(in_time, parallel=parallel, deadline=deadline)
    by_name, found, failed = {}, dict(found), []
    order = sorted(schedule.in_order(names), key=on_trial.__contains__)
    for i, name in enumerate(order):
        member = next((m for m in fitted if m.name == name), None)
        if member is None:
            needed = pace.corrected(job.seconds(name))
            started = time.perf_counter()
            if started + needed > deadline:
                continue
            tried = name in on_trial and by_name and job.table.n_folds > 1
            promises = partial(improves, list(by_name.values())) if tried else None
            member = job.fit(name, found, run, promises=promises)
            if member is None:  # after its first fold
                failed += [name] if tried else []
                pace.add(time.perf_counter() - started, job.seconds(name) / job.table.n_folds)
                continue
        by_name[name] = member
        pace.add(member.seconds, job.seconds(name))
        if member.fits.whole is not None:
            found[name] = member.fits.whole.found()
        left = pace.corrected(sum(map(job.seconds, order[i + 1 :])) + after)
        left += (schedule.n_rows / len(job.table.X) - 1) * sum(
            m.seconds for m in by_name.values() if m.model.stands_on_centres
        )
        schedule.tell(f"{name}: {member.seconds:.1f} s, about {left:.0f} s left")
    return [by_name[name] for name in names if name in by_name] or fitted, failed


def in_time(tasks, parallel, deadline, goes_on=None):
    """What the tasks return; None if the first shows that the rest takes too long.

    Or if with what it returned nothing ``goes_on``. Without either the first does not
    go ahead of the others.
    """
    if deadline == np.inf and goes_on is None:
        return parallel(tasks)
    started = time.perf_counter()
    (first,) = _run_here(tasks[:1])
    ended = time.perf_counter()
    rounds = np.ceil((len(tasks) - 1) / effective_n_jobs(parallel.n_jobs))
    if ended + rounds * (ended - started) > deadline or (goes_on and not goes_on(first)):
        return None
    return [first, *parallel(tasks[1:])]


def _run_here(tasks):
    return [function(*args, **kwargs) for function, args, kwargs in tasks]


def _screening_pays(job, schedule):
    """Whether there are rows enough for a screening, and time for what comes after."""
    if not (schedule.may_screen and job.is_large and len(job.table.X) > SCREENED_ROWS):
        return False
    took = sum(_seconds_of_screening(job, name) for name in schedule.names)
    return took <= SCREENING_SHARE * schedule.limit


def _seconds_of_screening(job, name):
    d, k = job.table.X.shape[1], job.table.Y.shape[1]
    return seconds(name, LEARNERS, d, k, MAX_SUPPORT, n_folds=1)


def _screen(job, schedule, blend, parallel, pace, rng):
    """Names of members kept, and which of these on trial, what they found, and the others.

    Where time runs out the members that are left are neither.
    """
    started, step = time.perf_counter(), len(schedule.names)
    if schedule.is_limited:
        step = effective_n_jobs(parallel.n_jobs)
    part = subsample(job.table, rng)
    few = job.settings._replace(max_support=min(MAX_SUPPORT, job.settings.max_support))
    small, place = replace(job, table=part, settings=few), to_device(np.empty(0))
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
    trees = np.array([isinstance(m.view, TreeView) for m in members])
    kept, may_come_back = candidates_kept(loss_of, trees, len(job.table.X))
    judged = [
        Member(m.name, 0.0, float(score), took / len(members))
        for m, score in zip(members, scores, strict=True)
    ]
    dropped = [judged[i] for i in np.flatnonzero(~(kept | may_come_back))]
    on_trial = {judged[i].name: judged[i] for i in np.flatnonzero(may_come_back)}
    names = [members[i].name for i in np.flatnonzero(kept | may_come_back)]
    found = {m.name: m.fits.models[0].found() for m in members if m.name in names}
    schedule.tell(f"screening: {took:.1f} s; {', '.join(names)} are kept")
    return names, on_trial, {k: v for k, v in found.items() if v is not None}, dropped


def _screened(place, job, name):
    with device_context(place):
        return job.fit(name, {}, _run_here, screening=True)

"""The members fitted one after another, in time, and screened beforehand."""

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from adakern._utils.arrays import device_context, to_device
from adakern._utils.threads import map_in_threads
from adakern._utils.warn import warn_user
from adakern.adaptive import choose
from adakern.adaptive.choose import (
    FEW_ROWS,
    LEARNERS,
    MAX_SUPPORT,
    RISE,
    candidates_kept,
)
from adakern.adaptive.members.base import Fits, FittedMember, varies
from adakern.adaptive.members.kernel_ridge import FULL_FACTOR
from adakern.adaptive.members.plan import ROWS_PER_SCALE, Settings, make_member, seconds
from adakern.adaptive.model import Member
from adakern.adaptive.prepare import Table
from adakern.adaptive.views import KernelView, TreeView

#: A screening may take this part of a time limit.
SCREENING_SHARE = 0.2

#: Weights, scores and the sizes of errors, found after the members, take about this
#: part.
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
    blend: object

    @property
    def bounds(self):
        """What members predict stays between these."""
        return self.blend.bounds(self.table.Y)

    def seconds(self, name):
        """An estimate of the time that a member takes."""
        (n, d), k = self.table.X.shape, self.table.Y.shape[1]
        return seconds(name, n, d, k, self.settings.max_support, self.table.n_folds)

    def fit(self, name, found, run, before=None, *, screening=False):
        """One member fitted in all folds; None if ``run`` finds that not worth the
        time.

        ``before`` is what :meth:`fit_whole` made of it.
        """
        started, member = time.perf_counter(), self._make(name, found, screening)
        whole = None
        if before is not None:
            started, whole = started - before.seconds, before.fits.whole
        fits = member.fit_folds(self._seen(member), run, whole)
        return None if fits is None else self._fitted(name, member, fits, started)

    def fit_whole(self, name, found):
        """One fitted to all rows alone; None if it leaves out no row in closed form."""
        started, member = time.perf_counter(), self._make(name, found)
        table = self._seen(member)
        whole = member.fit_whole(table) if member.closed_form else None
        if whole is None or not whole.closed_form:  # or nothing to learn from
            return None
        with suppress(np.linalg.LinAlgError):
            values = whole.predict_left_out(table.X, table.Y, table.weights)[
                table.fold >= 0
            ]
            return self._fitted(name, member, Fits([], values, values, whole), started)

    def _seen(self, member):
        return replace(self.table, X=self.views[member.view].transform(self.table.X))

    def _make(self, name, found, screening=False):
        n, d = len(self.table.X), len(self.views["kernel"].kept_)
        return make_member(name, self.settings, n, d, found, screening=screening)

    def _fitted(self, name, member, fits, started):
        fits.predicted = np.clip(fits.predicted, *self.bounds)
        fits.left_out = np.clip(fits.left_out, *self.bounds)
        took = time.perf_counter() - started
        return FittedMember(
            name, self.views[member.view], fits, self.bounds, member.slope, took
        )

    def improves(self, fitted, first):
        """Whether what a model of trees predicts for the first fold makes the blend
        better.
        """
        rows = self.table.left_out
        place = rows.fold == 0
        every = [
            *(m.fits.predicted[place] for m in fitted),
            np.clip(first[1], *self.bounds),
        ]
        slopes = [*(m.slope for m in fitted), 1.0]
        loss_of, _ = self.blend.judge(every, slopes, rows.take(place))
        return loss_of(range(len(every))) < (1 - RISE) * loss_of(range(len(fitted)))


def fit_members(table, settings, schedule, blend, rng):
    """Fitted members and, as :class:`Member`, those that a screening dropped.

    ``blend`` is an unfitted blend, by whose loss members are screened.
    """
    has_folds = (table.fold != 0).any()
    if not (has_folds and varies(table.X) and varies(table.Y)):
        return [], []
    large = len(table.X) > FULL_FACTOR * settings.max_support
    # Folds share what is learned without targets; rows given to judge are no fold.
    known = table.X if table.n_folds > 1 else table.X[table.fold != 0]
    views = {
        kind: make(settings.is_categorical).fit(known)
        for kind, make in (("kernel", KernelView), ("tree", TreeView))
    }
    turns = _Turns(_Job(table, settings, views, blend), schedule)
    with Parallel(n_jobs=schedule.n_jobs) as turns.parallel:
        if large and schedule.may_screen and len(table.X) > LEARNERS:
            turns.screen(rng)
        if large:
            warn_user(
                f"{len(table.X)} different rows: kernel members stand on at most "
                f"max_support={settings.max_support} of them (Nyström) instead of all; "
                f"members: {', '.join(turns.names)}"
            )
        fitted = turns.fit()
    done = [member.name for member in fitted]
    known = {*done, *(member.name for member in turns.dropped)}
    if skipped := [name for name in schedule.names if name not in known]:
        warn_user(
            f"time_limit={schedule.limit} s was too short for the members "
            f"{', '.join(skipped)}; used: {', '.join(done)}"
        )
    return fitted, turns.dropped


class _Turns:
    """Members fitted one after another, those left out that take too long or do not
    count.

    ``on_trial`` are those that a screening would have ``dropped`` if more rows could
    not bring them up to the others, ``found`` is what searches for scales found.
    """

    def __init__(self, job, schedule):
        self.job, self.schedule, self.names = job, schedule, schedule.names
        self.fitted, self.found, self.on_trial, self.dropped = {}, {}, {}, []
        # Seconds, of all so far: their ratio corrects later estimates.
        self.took = self.estimated = 1.0
        self.deadline = schedule.started + (1 - SHARE_AFTER) * schedule.limit

    def fit(self):
        """The members fitted.

        In a limited fit the cheapest comes first, and is fitted however little time
        there is. Those on trial come last. Of few rows, without a limit, which could
        end before the folds of the only kernel that is kept, kernel members are fitted
        to all of them first, and in folds only if they count by what they predict, in
        closed form, for rows left out.
        """
        table, order = self.job.table, list(self.names)
        limited = self.schedule.limit < np.inf
        if limited:
            cheapest = min(order, key=self.job.seconds)
            order.sort(key=lambda name: name != cheapest)
        order.sort(key=self.on_trial.__contains__)
        least, *most = FEW_ROWS
        most = np.clip(ROWS_PER_SCALE * len(self.job.views["kernel"].kept_), *most)
        few = least <= len(table.X) <= most and table.n_folds > 1
        few = few and self.schedule.may_screen and not limited and table.alone.all()
        for i, name in enumerate(order):
            self._take(name, order[i + 1 :], whole_only=few)
        members = list(self.fitted.values())
        wholes = np.array([not member.fits.models for member in members])
        if wholes.any():
            kept, judged, _ = _judged(members, self.job.blend, table.left_out, wholes)
            self.dropped += [judged[i] for i in np.flatnonzero(~kept)]
            self.fitted = {members[i].name: members[i] for i in np.flatnonzero(kept)}
            order = [members[i].name for i in np.flatnonzero(kept & wholes)]
            for i, name in enumerate(order):
                self._take(name, order[i + 1 :])
        return [self.fitted[name] for name in self.names if name in self.fitted]

    def _take(self, name, later, whole_only=False):
        """Fit the member if there is time, in folds or to all rows; then come the
        others.
        """
        job, started, estimate = self.job, time.perf_counter(), self.job.seconds(name)
        before = self.fitted.pop(name, None)
        others, tried = (
            list(self.fitted.values()),
            self.fitted and name in self.on_trial,
        )
        if others and started + self._corrected(estimate) > self.deadline:
            return
        member = job.fit_whole(name, self.found) if whole_only else None
        if member is None:
            deadline = self.deadline if others else np.inf
            goes_on = partial(job.improves, others) if tried else None
            run = partial(
                in_time, parallel=self.parallel, deadline=deadline, goes_on=goes_on
            )
            member = job.fit(name, self.found, run, before)
        self.took += time.perf_counter() - started
        if member is None:  # after its first fold
            self.estimated += estimate / job.table.n_folds
            self.dropped += [self.on_trial[name]] if tried else []
            return
        self.estimated += estimate
        self.fitted[name] = member
        if member.fits.whole is not None:
            self.found[name] = member.fits.whole.found()
        left = self._corrected(sum(map(job.seconds, later)))
        self.schedule.tell(
            f"{name}: {member.seconds:.1f} s, about {left:.0f} s for the others"
        )

    def _corrected(self, estimate):
        return estimate * self.took / self.estimated

    def screen(self, rng):
        """Drop members that do not count on a subsample, if that takes little of the
        time.
        """
        job, started, part = (
            self.job,
            time.perf_counter(),
            choose.subsample(self.job.table, rng),
        )
        few = job.settings._replace(
            max_support=min(MAX_SUPPORT, job.settings.max_support)
        )
        small, place = replace(job, table=part, settings=few), to_device(np.empty(0))
        if sum(map(small.seconds, self.names)) > SCREENING_SHARE * self.schedule.limit:
            return
        members = []
        for last in (
            False,
            True,
        ):  # support vector machines start at the others' scales
            names = [name for name in self.names if (name == "svm") is last]
            tasks = [
                delayed(_screened)(place, small, name, self.found) for name in names
            ]
            members += _run(tasks, self.parallel)
            found = {m.name: m.fits.models[0].found() for m in members}
            self.found = {
                name: scales for name, scales in found.items() if scales is not None
            }
        everyone = np.ones(len(members), dtype=bool)
        kept, judged, loss_of = _judged(members, job.blend, part.left_out, everyone)
        trees = ~kept & [isinstance(m.view, TreeView) for m in members]
        tried = choose.trees_on_trial(loss_of, trees, len(job.table.X))
        self.dropped = [judged[i] for i in np.flatnonzero(~kept & ~tried)]
        self.on_trial = {judged[i].name: judged[i] for i in np.flatnonzero(tried)}
        self.names = [members[i].name for i in np.flatnonzero(kept | tried)]
        took = time.perf_counter() - started
        self.schedule.tell(f"screening: {took:.1f} s; {', '.join(self.names)} are kept")


def _judged(members, blend, rows, may_go):
    """Which are kept, all as :class:`Member` of weight 0, and the loss of
    some of them."""
    values, slopes = [m.fits.left_out for m in members], [m.slope for m in members]
    loss_of, scores = blend.judge(values, slopes, rows)
    pairs = zip(members, scores, strict=True)
    judged = [Member(m.name, 0.0, float(score), m.seconds) for m, score in pairs]
    return candidates_kept(loss_of, may_go), judged, loss_of


def in_time(tasks, parallel, deadline, goes_on=None):
    """What the tasks return; None if the first shows that the rest takes too long.

    Or if after what it returned nothing ``goes_on``. Without either the first does not
    go ahead of the others.
    """
    if deadline == np.inf and goes_on is None:
        return _run(tasks, parallel)
    started = time.perf_counter()
    first = _run_here(tasks[0])
    ended = time.perf_counter()
    rounds = np.ceil((len(tasks) - 1) / effective_n_jobs(parallel.n_jobs))
    if ended + rounds * (ended - started) > deadline or (
        goes_on and not goes_on(first)
    ):
        return None
    return [first, *_run(tasks[1:], parallel)]


def _run(tasks, parallel):
    """Where ``n_jobs`` asks for no other processes, in threads of this one."""
    alone = effective_n_jobs(parallel.n_jobs) == 1
    return map_in_threads(_run_here, tasks) if alone else parallel(tasks)


def _run_here(task):
    function, args, kwargs = task
    return function(*args, **kwargs)


def _screened(place, job, name, found):
    with device_context(place):
        return job.fit(name, found, partial(map, _run_here), screening=True)

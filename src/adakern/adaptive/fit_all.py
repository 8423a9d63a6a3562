"""Screening of the members, and fitting one after another within the time limit."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from operator import call
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from adakern._utils.arrays import device_context, to_device
from adakern._utils.resources import map_in_threads
from adakern._utils.warn import warn_user
from adakern.adaptive.choose import (
    JUDGED_IN_CLOSED_FORM,
    JUDGES,
    LEARNERS,
    MAX_SUPPORT,
    RISE,
    candidates_kept,
    trees_on_trial,
)
from adakern.adaptive.members.base import (
    ENOUGH_ROWS,
    FULL_FACTOR,
    ROWS_PER_SCALE,
    MeanOfCopies,
    copy_or_constant,
)
from adakern.adaptive.missing_targets import ByPattern
from adakern.adaptive.model import Fits, FittedMember, Member
from adakern.adaptive.prepare import Problem
from adakern.adaptive.views import KernelView, TreeView

#: Maximum fraction of the time limit for a screening.
SCREENING_SHARE = 0.2

#: Fraction of the time limit reserved for weights, scores and the error model, which
#: are computed after the members.
SHARE_AFTER = 0.1

#: Fits estimated to take longer are announced, with ways to shorten them.
LONG_SECONDS = 300


class Limits(NamedTuple):
    """Time limit for all members together, and whether members may be dropped.

    ``tell`` prints a progress message.
    """

    started: float = 0.0
    seconds: float = np.inf
    n_jobs: int | None = None
    may_drop: bool = False
    tell: Callable = str


class Screened(NamedTuple):
    """Remaining members, and results of their screening.

    ``searches`` are the results of searches for scales, by key. ``on_trial`` are
    records, by name, of members that did not help on the subsample, but might with more
    rows. ``dropped`` are the records of the members that were dropped.
    """

    members: list
    searches: dict
    on_trial: dict
    dropped: list


@dataclass
class Scheduler:
    """Fit members one after another within the time limit.

    ``run`` runs up to ``n_jobs`` tasks at the same time. The ratio of actual to
    estimated times so far corrects the estimates for the remaining members.
    """

    problem: Problem
    limits: Limits
    run: Callable
    n_jobs: int
    searches: dict
    on_trial: dict
    dropped: list
    fitted: dict = field(default_factory=dict)
    took: float = 1.0
    estimated: float = 1.0

    def fit(self, member, later, *, whole_only=False):
        """Fit the member if there is time, in folds or only to all rows.

        The first member is always fitted. A member on trial is dropped after its first
        fold unless it improves the blend. The progress message estimates the time for
        the members that come ``later``.
        """
        started = time.perf_counter()
        shape = self.problem.seen
        name = member.name
        estimate = member.seconds(shape)
        before = self.fitted.pop(name, None)
        others = list(self.fitted.values())
        run = self.run
        is_worthwhile = None
        if others:
            deadline = self.limits.started + (1 - SHARE_AFTER) * self.limits.seconds
            if started + estimate * self.took / self.estimated > deadline:
                return
            if name in self.on_trial:
                is_worthwhile = partial(improves, self.problem, others)
            if is_worthwhile or deadline < np.inf:
                run = partial(run_in_time, run, self.n_jobs, deadline, is_worthwhile)
        fitted = fit_member(
            self.problem, member, self.searches, run, before, whole_only=whole_only
        )
        self.took += time.perf_counter() - started
        if fitted is None:  # stopped after its first fold
            self.estimated += estimate / shape.n_folds
            self.dropped += [self.on_trial[name]] if is_worthwhile else []
            return
        self.estimated += estimate
        self.fitted[name] = fitted
        if fitted.fits.whole is not None:
            self.searches.update(fitted.fits.whole.searches)
        left = sum(m.seconds(shape) for m in later) * self.took / self.estimated
        rest = f"about {left:.0f} s" if left >= 1 else "less than 1 s"
        self.limits.tell(
            f"{name}: {fitted.seconds:.1f} s; the other members take {rest}"
        )

    def drop(self):
        """Drop members fitted only to all rows that do not help; name the kept ones."""
        fitted = list(self.fitted.values())
        wholes = np.array([not member.fits.models for member in fitted])
        if not wholes.any():
            return []
        rows = self.problem.table.left_out
        kept, records, _ = judge(fitted, self.problem.blend, rows, wholes)
        self.dropped += [records[i] for i in np.flatnonzero(~kept)]
        self.fitted = {fitted[i].name: fitted[i] for i in np.flatnonzero(kept)}
        return [fitted[i].name for i in np.flatnonzero(kept & wholes)]


def fit_all(problem, members, limits, rng):
    """Return the fitted members, and the records of the dropped ones."""
    if problem.views is None:
        return [], []
    with Parallel(n_jobs=limits.n_jobs) as parallel:
        n_jobs = effective_n_jobs(parallel.n_jobs)
        # Use threads unless other processes are requested.
        run = partial(map_in_threads, call)
        if n_jobs > 1:
            run = partial(run_in_processes, parallel)
        screened = Screened(members, {}, {}, [])
        if len(problem.table.X) > FULL_FACTOR * problem.setting.max_support:
            screened = screen_many_rows(problem, screened, limits, run, rng)
        left, searches, on_trial, dropped = screened
        scheduler = Scheduler(problem, limits, run, n_jobs, searches, on_trial, dropped)
        order, whole_only = in_order(problem, left, limits, on_trial)
        announce_long_fit(problem, order, limits)
        for i, member in enumerate(order):
            scheduler.fit(member, order[i + 1 :], whole_only=whole_only)
        again = scheduler.drop()
        order = [member for member in order if member.name in again]
        for i, member in enumerate(order):
            scheduler.fit(member, order[i + 1 :])
    done = [member.name for member in members if member.name in scheduler.fitted]
    known = {*done, *(member.name for member in dropped)}
    skipped = [member.name for member in members if member.name not in known]
    if skipped:
        warn_user(
            f"time_limit={limits.seconds} s was too short for the members "
            f"{', '.join(skipped)}; members fitted: {', '.join(done)}"
        )
    return [scheduler.fitted[name] for name in done], dropped


def announce_long_fit(problem, members, limits):
    """Announce a long fit without a time limit, and say how to shorten it."""
    shape = problem.seen
    seconds = {member.name: member.seconds(shape) for member in members}
    total = sum(seconds.values())
    if total < LONG_SECONDS or limits.seconds < np.inf:
        return
    name = max(seconds, key=seconds.__getitem__)
    classes = f" of {shape.k} classes" * problem.setting.classify
    ways = "time_limit=SECONDS (--minutes) fits as many members as time permits"
    if not problem.setting.fast:
        ways = f'preset="fast" (--preset fast) uses fewer members, {ways}'
    limits.tell(
        f"about {total / 60:.0f} min or more for {shape.n} rows{classes}, of which "
        f"{name} takes {seconds[name] / 60:.0f} min. To shorten this: {ways}"
    )


def screen_many_rows(problem, left, limits, run, rng):
    """Screen the members if there are too many rows for all to be centres, and warn."""
    n = len(problem.table.X)
    max_support = problem.setting.max_support
    if limits.may_drop and n > LEARNERS:
        left = screen(problem, left, limits, run, rng)
    names = ", ".join(member.name for member in left.members)
    warn_user(
        f"{n} distinct rows: kernel members use at most "
        f"max_support={max_support} of them as centres (Nyström) instead of all; "
        f"members: {names}"
    )
    return left


def in_order(problem, members, limits, on_trial):
    """Return the members in order of fitting, and whether to begin with all rows only.

    With a time limit, the cheapest comes first. Members on trial come last. On small
    tables, members with closed-form leave-one-out predictions are first fitted only to
    all rows, and in folds only if these predictions improve the blend. This is not
    done with a time limit, which could end before the folds of the only kernel kept.
    """
    table = problem.table
    order = list(members)
    limited = limits.seconds < np.inf
    if limited:
        cheapest = min(order, key=lambda member: member.seconds(problem.seen))
        order.sort(key=lambda member: member is not cheapest)
    order.sort(key=lambda member: member.name in on_trial)
    least, *most = JUDGED_IN_CLOSED_FORM
    n_scales = len(set(problem.views[KernelView].groups_))
    most = np.clip(ROWS_PER_SCALE * n_scales, *most)
    few = least <= len(table.X) <= most and table.n_folds > 1 and table.alone.all()
    few = few and table.means is None
    return order, few and limits.may_drop and not limited


def screen(problem, left, limits, run, rng):
    """Screen the members on a subsample, unless that takes too much of the time."""
    started = time.perf_counter()
    part = problem.table.subsample(rng, LEARNERS, JUDGES)
    setting = problem.setting
    setting = setting._replace(
        max_support=min(MAX_SUPPORT, setting.max_support), screening=True
    )
    small = replace(problem, table=part, setting=setting)
    members = [replace(member, setting=setting) for member in left.members]
    estimate = sum(member.seconds(small.seen) for member in members)
    if estimate > SCREENING_SHARE * limits.seconds:
        return left
    place = to_device(np.empty(0))
    searches = {}
    fitted = []
    for waits in (False, True):
        tasks = [
            partial(_fit_on_subsample, place, small, member, searches)
            for member in members
            if member.waits is waits
        ]
        fitted += run(tasks)
        for member in fitted:
            searches.update(member.fits.models[0].searches)
    everyone = np.ones(len(fitted), dtype=bool)
    kept, records, loss_of = judge(fitted, problem.blend, part.left_out, everyone)
    trees = ~kept & [isinstance(member.view, TreeView) for member in fitted]
    tried = trees_on_trial(loss_of, trees, len(problem.table.X))
    by_name = {member.name: member for member in left.members}
    names = [fitted[i].name for i in np.flatnonzero(kept | tried)]
    took = time.perf_counter() - started
    limits.tell(f"screening: {took:.1f} s; members kept: {', '.join(names)}")
    return Screened(
        [by_name[name] for name in names],
        searches,
        {records[i].name: records[i] for i in np.flatnonzero(tried)},
        [records[i] for i in np.flatnonzero(~kept & ~tried)],
    )


def _fit_on_subsample(place, problem, member, searches):
    with device_context(place):
        return fit_member(problem, member, searches, lambda tasks: [t() for t in tasks])


def judge(members, blend, rows, droppable):
    """Return which members are kept, records of all, and the loss of subsets.

    The records are :class:`Member` objects, as they are published for dropped members.
    """
    values = [m.fits.left_out for m in members]
    slopes = [m.slope for m in members]
    loss_of, scores = blend.judge(values, slopes, rows)
    pairs = zip(members, scores, strict=True)
    records = [Member(m.name, 0.0, float(s), m.seconds, True) for m, s in pairs]
    return candidates_kept(loss_of, droppable), records, loss_of


def improves(problem, fitted, first):
    """Whether the predictions of trees for the first fold improve the blend.

    ``first`` is the result of :func:`fit_fold` for this fold.
    """
    rows = problem.table.left_out
    bounds = problem.blend.bounds(problem.table.Y)
    place = rows.fold == 0
    every = [m.fits.predicted[place] for m in fitted]
    every.append(np.clip(first[1], *bounds))
    slopes = [*(m.slope for m in fitted), 1.0]
    loss_of, _ = problem.blend.judge(every, slopes, rows.take(place))
    return loss_of(range(len(every))) < (1 - RISE) * loss_of(range(len(fitted)))


def fit_member(problem, member, searches, run, before=None, *, whole_only=False):
    """Fit one member; return None if ``run`` stops after its first fold.

    With ``whole_only``, a member with closed-form leave-one-out predictions is fitted
    only to all rows. ``before`` is the result of such a fit.
    """
    started = time.perf_counter()
    view = problem.views[member.view]
    X = view.transform(problem.table.X)
    table = replace(problem.table, X=X, groups=view.groups_)
    bounds = problem.blend.bounds(table.Y)
    whole = None
    fits = None
    if member.set_up:
        member = member.set_up(table, searches)
    whole_member = member
    if table.in_time_order and not member.refit:
        whole_member = MeanOfCopies(member, table.n_folds)
    if np.isnan(table.Y).any():
        member, whole_member = (
            ByPattern(each, table.Y) for each in (member, whole_member)
        )
    if before is not None:
        started = started - before.seconds
        whole = before.fits.whole
    elif table.in_time_order or (
        # Members that are not refitted predict by the mean over folds, unless rows are
        # in time order, because then no fold is fitted to later rows.
        member.refit and table.learns_all and (whole_only or not member.fit_folds)
    ):
        learner = copy_or_constant(whole_member, table.X, table.Y)
        whole = learner.fit(table.X, table.Y, table.weights)
    if whole_only and whole is not None and whole.predict_left_out:
        with suppress(np.linalg.LinAlgError):
            values = whole.predict_left_out(table.X, table.Y, table.weights)
            fits = Fits([], values[table.fold >= 0], values[table.fold >= 0], whole)
    if fits is None:
        fits = fit_in_folds(member, problem.table, table, view, run, whole)
    if fits is None:
        return None
    fits.predicted = np.clip(fits.predicted, *bounds)
    fits.left_out = np.clip(fits.left_out, *bounds)
    took = time.perf_counter() - started
    return FittedMember(member.name, view, fits, bounds, member.slope, took)


def fit_in_folds(member, given, table, view, run, whole):
    """Return the :class:`Fits` of a member, or None if ``run`` stops early.

    ``table`` is the ``given`` table transformed by the member's view. ``whole`` is the
    member fitted to all rows, or None if there is none.
    """
    if member.fit_folds and table.n_folds > 1 and not table.in_time_order:
        *models, whole = member.fit_folds(table)
        parts = [m.predict(table.X[table.fold == k]) for k, m in enumerate(models)]
        predicted = table.gather(parts)
        return Fits(models, predicted, predicted, whole)
    place = to_device(np.empty(0))
    if member.in_fold and not table.in_time_order:  # no information from later rows
        member = member.in_fold(whole)
    folds = range(table.n_folds)
    seen = [table] * table.n_folds
    if given.means is not None:  # the means for a fold are computed without it
        seen = [replace(table, X=view.transform(given.without(k))) for k in folds]
    tasks = [partial(fit_fold, member, seen[k], k, place) for k in folds]
    results = run(tasks)
    if results is None:
        return None
    models, *values = zip(*results, strict=True)
    predicted, left_out = map(table.gather, values)
    return Fits(list(models), predicted, left_out, whole)


def fit_fold(member, table, k, place):
    """Fit the member without fold k, and return it with two predictions for the fold.

    In the second one, rows of small tables are predicted from all other rows if there
    is a closed form. Otherwise, refitted members would be underrated on small tables
    without noise, where four fifths of the rows predict much worse than all. ``place``
    tells worker processes on which device to compute kernels.
    """
    left_out = table.fold == k
    X = table.X
    train = table.known(k)
    alone = table.alone & left_out
    with device_context(place):
        learner = copy_or_constant(member, X[train], table.Y[train])
        member = learner.fit(X[train], table.Y[train], table.weights[train])
        predicted = values = member.predict(X[left_out])
        in_closed_form = member.predict_left_out and len(X) < ENOUGH_ROWS
        in_closed_form = in_closed_form and table.means is None
        if table.n_folds > 1 and alone.any() and in_closed_form:
            with suppress(np.linalg.LinAlgError):  # the ridge may be too small
                whole_member = member.predict_left_out(X, table.Y, table.weights)
                alone = alone[left_out, None]
                values = np.where(alone, whole_member[left_out], predicted)
    return member, predicted, values


def run_in_processes(parallel, tasks):
    """Run the tasks in other processes, and return their results."""
    return parallel(delayed(call)(task) for task in tasks)


def run_in_time(run, n_jobs, deadline, is_worthwhile, tasks):
    """Run the tasks, or stop after the first if the rest would miss the deadline.

    They also stop if ``is_worthwhile`` returns False for the first result. If they
    stop, None is returned.
    """
    started = time.perf_counter()
    first = tasks[0]()
    ended = time.perf_counter()
    rounds = np.ceil((len(tasks) - 1) / n_jobs)
    if ended + rounds * (ended - started) > deadline:
        return None
    if is_worthwhile and not is_worthwhile(first):
        return None
    return [first, *run(tasks[1:])]

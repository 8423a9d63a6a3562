"""The members fitted one after another while there is time, and screened beforehand."""

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
from adakern._utils.threads import map_in_threads
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
)
from adakern.adaptive.missing_targets import able, for_missing
from adakern.adaptive.model import Fits, FittedMember, Member
from adakern.adaptive.prepare import Problem
from adakern.adaptive.views import KernelView, TreeView

#: A screening may take this part of a time limit.
SCREENING_SHARE = 0.2

#: Weights, scores and the sizes of errors, found after the members, take about this
#: part.
SHARE_AFTER = 0.1

#: What takes longer is said before it begins, with what shortens it.
LONG_SECONDS = 300


class Limits(NamedTuple):
    """What all members together may take, and whether some may be dropped.

    ``tell`` prints a line of progress.
    """

    started: float = 0.0
    seconds: float = np.inf
    n_jobs: int | None = None
    may_drop: bool = False
    tell: Callable = str


class Screened(NamedTuple):
    """Members that are left, and what was found out when they were screened.

    ``on_trial`` are those, by name, that would be ``dropped`` if more rows could not
    bring them up to the others; ``found`` is what searches for scales found, by key.
    """

    members: list
    found: dict
    on_trial: dict
    dropped: list


@dataclass
class Scheduler:
    """Fits members one after another while there is time; counts what they took.

    ``run`` runs tasks at the same time, up to ``n_jobs``. The seconds of all members so
    far, over those that were estimated, correct the estimates of those to come.
    """

    problem: Problem
    limits: Limits
    run: Callable
    n_jobs: int
    found: dict
    on_trial: dict
    dropped: list
    fitted: dict = field(default_factory=dict)
    took: float = 1.0
    estimated: float = 1.0

    def fit(self, member, later, *, whole_only=False):
        """Fit the member if there is time, in folds or to all rows alone.

        The first is fitted however little time there is. One on trial is dropped after
        its first fold unless that makes the blend better. Members that come ``later``
        are told of.
        """
        started = time.perf_counter()
        shape = self.problem.seen
        name = member.name
        estimate = member.seconds(shape)
        before = self.fitted.pop(name, None)
        others = list(self.fitted.values())
        run = self.run
        goes_on = None
        if others:
            deadline = self.limits.started + (1 - SHARE_AFTER) * self.limits.seconds
            if started + estimate * self.took / self.estimated > deadline:
                return
            if name in self.on_trial:
                goes_on = partial(improves, self.problem, others)
            if goes_on or deadline < np.inf:
                run = partial(run_in_time, run, self.n_jobs, deadline, goes_on)
        fitted = fit_member(
            self.problem, member, self.found, run, before, whole_only=whole_only
        )
        self.took += time.perf_counter() - started
        if fitted is None:  # after its first fold
            self.estimated += estimate / shape.n_folds
            self.dropped += [self.on_trial[name]] if goes_on else []
            return
        self.estimated += estimate
        self.fitted[name] = fitted
        if fitted.fits.whole is not None:
            self.found.update(fitted.fits.whole.found)
        left = sum(m.seconds(shape) for m in later) * self.took / self.estimated
        self.limits.tell(
            f"{name}: {fitted.seconds:.1f} s, about {left:.0f} s for the others"
        )

    def drop(self):
        """Drop those fitted to all rows alone that do not count; names of the rest."""
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
    """Fitted members, and the records of those that are not worth their folds."""
    if problem.views is None:
        return [], []
    with Parallel(n_jobs=limits.n_jobs) as parallel:
        n_jobs = effective_n_jobs(parallel.n_jobs)
        # Where nobody asks for other processes, in threads of this one.
        run = partial(map_in_threads, call)
        if n_jobs > 1:
            run = partial(run_in_processes, parallel)
        screened = Screened(members, {}, {}, [])
        if len(problem.table.X) > FULL_FACTOR * problem.setting.max_support:
            screened = screen_many_rows(problem, screened, limits, run, rng)
        left, found, on_trial, dropped = screened
        scheduler = Scheduler(problem, limits, run, n_jobs, found, on_trial, dropped)
        order, whole_only = in_order(problem, left, limits, on_trial)
        tell_of_long_fit(problem, order, limits)
        for i, member in enumerate(order):
            scheduler.fit(member, order[i + 1 :], whole_only=whole_only)
        again = scheduler.drop() if whole_only else []
        order = [member for member in order if member.name in again]
        for i, member in enumerate(order):
            scheduler.fit(member, order[i + 1 :])
    done = [member.name for member in members if member.name in scheduler.fitted]
    known = {*done, *(member.name for member in dropped)}
    skipped = [member.name for member in members if member.name not in known]
    if skipped:
        warn_user(
            f"time_limit={limits.seconds} s was too short for the members "
            f"{', '.join(skipped)}; used: {', '.join(done)}"
        )
    return [scheduler.fitted[name] for name in done], dropped


def tell_of_long_fit(problem, members, limits):
    """Say before a fit that takes long, and has no limit, what takes less time."""
    shape = problem.seen
    seconds = {member.name: member.seconds(shape) for member in members}
    total = sum(seconds.values())
    if total < LONG_SECONDS or limits.seconds < np.inf:
        return
    name = max(seconds, key=seconds.__getitem__)
    classes = f" of {shape.k} classes" * problem.setting.classify
    ways = "time_limit=SECONDS (--minutes) fits those members that there is time for"
    if not problem.setting.fast:
        ways = f'preset="fast" (--preset fast) leaves out members, {ways}'
    limits.tell(
        f"about {total / 60:.0f} min or more for {shape.n} rows{classes}; the longest, "
        f"{name}, takes {seconds[name] / 60:.0f} min. To take less: {ways}"
    )


def screen_many_rows(problem, left, limits, run, rng):
    """What is left of the members of a table whose rows are not all centres."""
    n = len(problem.table.X)
    max_support = problem.setting.max_support
    if limits.may_drop and n > LEARNERS:
        left = screen(problem, left, limits, run, rng)
    names = ", ".join(member.name for member in left.members)
    warn_user(
        f"{n} different rows: kernel members stand on at most "
        f"max_support={max_support} of them (Nyström) instead of all; "
        f"members: {names}"
    )
    return left


def in_order(problem, members, limits, on_trial):
    """The members as they are fitted, and whether first to all rows alone.

    In a limited fit the cheapest comes first. Those on trial come last. Of few rows,
    without a limit, which could end before the folds of the only kernel that is kept,
    members whose values for rows left out have a closed form are fitted to all of them
    first, and in folds only if they count by these.
    """
    table = problem.table
    order = list(members)
    limited = limits.seconds < np.inf
    if limited:
        cheapest = min(order, key=lambda member: member.seconds(problem.seen))
        order.sort(key=lambda member: member is not cheapest)
    order.sort(key=lambda member: member.name in on_trial)
    least, *most = JUDGED_IN_CLOSED_FORM
    most = np.clip(ROWS_PER_SCALE * len(problem.views[KernelView].kept_), *most)
    few = least <= len(table.X) <= most and table.n_folds > 1 and table.alone.all()
    few = few and table.means is None
    return order, few and limits.may_drop and not limited


def screen(problem, left, limits, run, rng):
    """What is left of the members on a subsample, if that takes little of the time."""
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
    found = {}
    fitted = []
    for waits in (False, True):
        tasks = [
            partial(_screened, place, small, member, found)
            for member in members
            if member.waits is waits
        ]
        fitted += run(tasks)
        for member in fitted:
            found.update(member.fits.models[0].found)
    everyone = np.ones(len(fitted), dtype=bool)
    kept, records, loss_of = judge(fitted, problem.blend, part.left_out, everyone)
    trees = ~kept & [isinstance(member.view, TreeView) for member in fitted]
    tried = trees_on_trial(loss_of, trees, len(problem.table.X))
    by_name = {member.name: member for member in left.members}
    names = [fitted[i].name for i in np.flatnonzero(kept | tried)]
    took = time.perf_counter() - started
    limits.tell(f"screening: {took:.1f} s; {', '.join(names)} are kept")
    return Screened(
        [by_name[name] for name in names],
        found,
        {records[i].name: records[i] for i in np.flatnonzero(tried)},
        [records[i] for i in np.flatnonzero(~kept & ~tried)],
    )


def _screened(place, problem, member, found):
    with device_context(place):
        return fit_member(problem, member, found, lambda tasks: [t() for t in tasks])


def judge(members, blend, rows, may_go):
    """Which are kept, the records of all, and the loss of some of them.

    The records are :class:`Member`, as dropped ones are kept.
    """
    values = [m.fits.left_out for m in members]
    slopes = [m.slope for m in members]
    loss_of, scores = blend.judge(values, slopes, rows)
    pairs = zip(members, scores, strict=True)
    records = [Member(m.name, 0.0, float(s), m.seconds, True) for m, s in pairs]
    return candidates_kept(loss_of, may_go), records, loss_of


def improves(problem, fitted, first):
    """Whether what a fit of trees predicts for the first fold makes the blend better.

    ``first`` is what :func:`fit_fold` returned for it.
    """
    rows = problem.table.left_out
    bounds = problem.blend.bounds(problem.table.Y)
    place = rows.fold == 0
    every = [m.fits.predicted[place] for m in fitted]
    every.append(np.clip(first[1], *bounds))
    slopes = [*(m.slope for m in fitted), 1.0]
    loss_of, _ = problem.blend.judge(every, slopes, rows.take(place))
    return loss_of(range(len(every))) < (1 - RISE) * loss_of(range(len(fitted)))


def fit_member(problem, member, found, run, before=None, *, whole_only=False):
    """One member, fitted; None if ``run`` finds its folds not worth the time.

    ``before`` is what ``whole_only`` made of it, which is fitted to all rows alone if
    it leaves out rows in closed form.
    """
    started = time.perf_counter()
    view = problem.views[member.view]
    table = replace(problem.table, X=view.transform(problem.table.X))
    bounds = problem.blend.bounds(table.Y)
    whole = None
    fits = None
    if member.set_up:
        member = member.set_up(table, found)
    of_all = member
    if table.in_time_order and not member.refit:
        of_all = MeanOfCopies(member, table.n_folds)
    member = for_missing(member, table.Y)
    if before is not None:
        started = started - before.seconds
        whole = before.fits.whole
    elif table.in_time_order or (
        # One whose folds' mean predicts only where folds know nothing of later rows.
        member.refit and table.learns_all and (whole_only or not member.fit_folds)
    ):
        learner = able(for_missing(of_all, table.Y), table.X, table.Y)
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
    """Its :class:`Fits`, or None if ``run`` does not run all tasks.

    ``table`` is the ``given`` one as the member's view shows it. ``whole`` is itself
    fitted to all rows, None if that does not predict.
    """
    if member.fit_folds and table.n_folds > 1 and not table.in_time_order:
        *models, whole = member.fit_folds(table)
        parts = [m.predict(table.X[table.fold == k]) for k, m in enumerate(models)]
        predicted = table.gather(parts)
        return Fits(models, predicted, predicted, whole)
    place = to_device(np.empty(0))
    if member.in_fold and not table.in_time_order:  # what all rows taught is no news
        member = member.in_fold(whole)
    folds = range(table.n_folds)
    seen = [table] * table.n_folds
    if given.means is not None:  # those of a fold do not know it
        seen = [replace(table, X=view.transform(given.without(k))) for k in folds]
    tasks = [partial(fit_fold, member, seen[k], k, place) for k in folds]
    results = run(tasks)
    if results is None:
        return None
    models, *values = zip(*results, strict=True)
    predicted, left_out = map(table.gather, values)
    return Fits(list(models), predicted, left_out, whole)


def fit_fold(member, table, k, place):
    """The member without the rows of fold k, and two predictions for them.

    The second is as if it knew all other rows: members that are refitted would count
    for too little by what four fifths of few rows without noise predict. A worker
    process knows by ``place`` alone where kernels are computed.
    """
    left_out = table.fold == k
    X = table.X
    train = table.known(k)
    alone = table.alone & left_out
    with device_context(place):
        learner = able(member, X[train], table.Y[train])
        member = learner.fit(X[train], table.Y[train], table.weights[train])
        predicted = values = member.predict(X[left_out])
        in_closed_form = member.predict_left_out and len(X) < ENOUGH_ROWS
        in_closed_form = in_closed_form and table.means is None
        if table.n_folds > 1 and alone.any() and in_closed_form:
            with suppress(np.linalg.LinAlgError):  # the ridge is too small for all rows
                of_all = member.predict_left_out(X, table.Y, table.weights)
                alone = alone[left_out, None]
                values = np.where(alone, of_all[left_out], predicted)
    return member, predicted, values


def run_in_processes(parallel, tasks):
    """What the tasks return that other processes run."""
    return parallel(delayed(call)(task) for task in tasks)


def run_in_time(run, n_jobs, deadline, goes_on, tasks):
    """What the tasks return; None if the first shows that the rest takes too long.

    Or if after what it returned nothing ``goes_on``.
    """
    started = time.perf_counter()
    first = tasks[0]()
    ended = time.perf_counter()
    rounds = np.ceil((len(tasks) - 1) / n_jobs)
    if ended + rounds * (ended - started) > deadline:
        return None
    if goes_on and not goes_on(first):
        return None
    return [first, *run(tasks[1:])]

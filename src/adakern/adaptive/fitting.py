"""The members fitted one after another, in time, and screened on large tables."""

import time
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from adakern._utils.arrays import device_context, to_device
from adakern._utils.warn import warn_user
from adakern.adaptive.kernel_members import FULL_FACTOR
from adakern.adaptive.parts import FittedMember, Member, Views, varies
from adakern.adaptive.plan import make_member, seconds
from adakern.adaptive.screening import (
    LEARNERS,
    MAX_SUPPORT,
    candidates_kept,
    subsample,
)
from adakern.adaptive.views import KernelView, TreeView

__all__ = ["Schedule", "fit_members"]

VIEWS = {"kernel": KernelView, "tree": TreeView}

#: The estimated time of a screening is at most this part of a time limit.
SCREENING_SHARE = 0.2


@dataclass
class Schedule:
    """Members to fit, and what they may take; ``tell`` prints a line of progress."""

    names: list
    may_screen: bool
    started: float
    limit: float
    n_jobs: int
    tell: object


def fit_members(table, settings, schedule, blend, rng):
    """Fitted members and, as :class:`Member`, those that a screening dropped.

    ``blend`` is an unfitted blend, by whose loss members are screened.
    """
    if not (table.n_folds > 0 and varies(table.X) and varies(table.Y)):
        return [], []
    n, large = len(table.X), is_large(table, settings)
    bounds = blend.bounds(table.Y)
    whole = {
        kind: make(settings.is_categorical).fit(table.X) for kind, make in VIEWS.items()
    }
    found, dropped, fitted = {}, [], []
    with Parallel(n_jobs=schedule.n_jobs) as parallel:
        if _screening_pays(table, settings, schedule):
            names, found, dropped = _screen(
                table, settings, schedule, blend, bounds, whole, parallel, rng
            )
            schedule = replace(schedule, names=names)
        if large:
            warn_user(
                f"{n} different rows: kernel members stand on "
                f"max_support={settings.max_support} of them (Nyström) instead of all; "
                f"members: {', '.join(schedule.names)}"
            )
        views = {kind: _of_folds(view, table, large) for kind, view in whole.items()}
        estimated = 0.0
        for name in schedule.names:
            started = time.perf_counter()
            spent = started - schedule.started
            speed = sum(m.seconds for m in fitted) / estimated if estimated else 1.0
            estimate = _estimate(name, table, settings)
            if spent + speed * estimate > schedule.limit:
                continue
            member = _fit_member(
                name,
                table,
                settings,
                found,
                views,
                bounds,
                partial(
                    in_time,
                    parallel=parallel,
                    deadline=schedule.started + schedule.limit,
                ),
            )
            if member is None:
                continue
            fitted.append(member)
            estimated += estimate
            if member.fits.whole is not None:
                found = found | {name: member.fits.whole.found()}
            schedule.tell(f"{name}: {member.seconds:.1f} s")
    names = [member.name for member in fitted]
    skipped = [name for name in schedule.names if name not in names]
    if skipped:
        warn_user(
            f"time_limit={schedule.limit} s was too short for the members "
            f"{', '.join(skipped)}; used: {', '.join(names) or 'the mean'}",
        )
    return fitted, dropped


def is_large(table, settings):
    """Whether kernel members stand on some of the rows only."""
    return len(table.X) > FULL_FACTOR * settings.max_support


def _of_folds(whole, table, large):
    """A view for each fold, which must not know its rows.

    On large tables kernel members share scales and centres anyway, and the view too.
    """
    if large and table.n_folds > 1:
        return Views(whole, [whole] * table.n_folds)
    folds = [
        type(whole)(whole.is_categorical).fit(table.X[table.fold != k])
        for k in range(table.n_folds)
    ]
    return Views(whole, folds)


def _estimate(name, table, settings, n_folds=None):
    (n, d), k = table.X.shape, table.Y.shape[1]
    n_folds = n_folds or table.n_folds
    return seconds(name, n, d, k, settings.max_support, n_folds=n_folds)


def _screened(place, *args):
    with device_context(place):
        return _fit_member(*args, _run_here, screening=True)


def _run_here(tasks):
    return [function(*args, **kwargs) for function, args, kwargs in tasks]


def _fit_member(name, table, settings, found, views, bounds, run, screening=False):
    """One member fitted in all folds; None if that takes too long."""
    started = time.perf_counter()
    d = len(views["kernel"].whole.columns_)
    member = make_member(name, settings, len(table.X), d, found, screening=screening)
    fits = member.fit_folds(views[member.view], table, run)
    if fits is None:
        return None
    fits.predicted = np.clip(fits.predicted, *bounds)
    fits.left_out = np.clip(fits.left_out, *bounds)
    took = time.perf_counter() - started
    return FittedMember(name, views[member.view], fits, bounds, member.slope, took)


def in_time(tasks, parallel, deadline):
    """What the tasks return; None if the first shows that the rest takes too long.

    Without a deadline (infinity) the first does not go ahead of the others.
    """
    if deadline == np.inf:
        return parallel(tasks)
    started = time.perf_counter()
    function, args, kwargs = tasks[0]
    first = function(*args, **kwargs)
    ended = time.perf_counter()
    rounds = np.ceil((len(tasks) - 1) / effective_n_jobs(parallel.n_jobs))
    if ended + rounds * (ended - started) > deadline:
        return None
    return [first, *parallel(tasks[1:])]


def _screening_pays(table, settings, schedule):
    """Whether there are rows enough for a screening, and time for what comes after."""
    if (
        not schedule.may_screen
        or not is_large(table, settings)
        or len(table.X) <= LEARNERS
    ):
        return False
    d, k = table.X.shape[1], table.Y.shape[1]
    estimates = [
        seconds(name, LEARNERS, d, k, MAX_SUPPORT, n_folds=1) for name in schedule.names
    ]
    return sum(estimates) <= SCREENING_SHARE * schedule.limit


def _screen(table, settings, schedule, blend, bounds, whole, parallel, rng):
    """Names of members that count on a subsample, what they found, and the others."""
    started = time.perf_counter()
    part = subsample(table, rng)
    few = settings._replace(max_support=min(MAX_SUPPORT, settings.max_support))
    views = {kind: Views(view, [view]) for kind, view in whole.items()}
    place = to_device(np.empty(0))
    members = parallel(
        delayed(_screened)(place, name, part, few, {}, views, bounds)
        for name in schedule.names
    )
    judges = part.left_out
    values, slopes = [m.fits.predicted for m in members], [m.slope for m in members]
    loss_of, scores = blend.judge(values, slopes, judges)
    trees = np.array([member.views is views["tree"] for member in members])
    kept = candidates_kept(loss_of, trees, len(table.X))
    took = time.perf_counter() - started
    share = took / len(members)
    dropped = [
        Member(member.name, 0.0, float(score), share)
        for member, score, stays in zip(members, scores, kept, strict=True)
        if not stays
    ]
    members = [m for m, stays in zip(members, kept, strict=True) if stays]
    found = {m.name: m.fits.models[0].found() for m in members}
    names = [member.name for member in members]
    schedule.tell(f"screening: {took:.1f} s; {', '.join(names)} are kept")
    return names, {k: v for k, v in found.items() if v is not None}, dropped

"""Rows with a time: later ones are predicted from earlier ones, then all learned."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from adakern.adaptive import (
    MEMBERS,
    AdaptiveKernelClassifier,
    AdaptiveKernelRegressor,
)
from adakern.adaptive.choose import choose
from adakern.adaptive.fit_all import Limits, announce_long_fit, fit_all
from adakern.adaptive.given import time_blocks
from adakern.adaptive.intervals import ErrorModel, common_share
from adakern.adaptive.members import REGISTRY
from adakern.adaptive.members.base import Setting, Shape
from adakern.adaptive.prepare import prepare


def blocks(time):
    return time_blocks(time, np.ones(len(time)))


def test_two_fifths_are_learned_from_and_three_blocks_of_a_fifth_are_predicted():
    order = np.random.default_rng(0).permutation(100)
    found = blocks(order)
    assert np.bincount(found).tolist() == [40, 20, 20, 20]
    assert (np.diff(found[np.argsort(order)]) >= 0).all()
    dates = pd.Series(pd.date_range("2026-01-01", periods=100))[order]
    np.testing.assert_array_equal(blocks(dates), found)


@pytest.mark.parametrize("sizes", [[50, 50], [5, 95], [95, 5], [30, 30, 30], [1] * 7])
def test_rows_of_one_time_lie_in_one_block_and_some_are_always_left_out(sizes):
    time = np.repeat(np.arange(len(sizes)), sizes)
    found = blocks(time)
    assert found[0] == 0 and found[-1] == found.max() >= 1
    assert all(len(set(found[time == t])) == 1 for t in time)
    assert set(found) == set(range(found.max() + 1))


def test_rows_without_weight_make_no_block():
    weights = np.repeat([0.0, 1.0, 0.0], [500, 100, 500])
    found = time_blocks(np.arange(1100), weights)
    assert np.bincount(found[500:600]).tolist() == [40, 20, 20, 20]


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ([0.0, np.nan] * 10, r"time\[1\] is nan: Input time contains NaN; drop"),
        (
            pd.to_datetime(["2026-01-01", None] * 10),
            r"time\[1\] is NaT: Input time contains NaN; drop",
        ),
        ([None, 1] * 10, r"time\[0\] is None"),
        (["9", "10"] * 10, "numeric or dates, got strings such as '9'"),
        (np.arange(5), "inconsistent numbers of samples"),
        (np.ones((20, 2)), "1d array"),
    ],
)
def test_times_that_have_no_order_are_refused(time, words):
    X = np.arange(20.0)[:, None]
    with pytest.raises(ValueError, match=words):
        AdaptiveKernelRegressor(members=["linear"]).fit(X, X[:, 0], time=time)


@pytest.mark.parametrize(
    ("shape", "fast", "limit", "said"),
    [
        (
            (2500, 10, 400),
            False,
            np.inf,
            "400 classes, of which svm takes",
        ),
        ((2500, 10, 400), True, np.inf, None),  # no machines of pairs of classes
        ((2500, 10, 400), False, 60.0, None),
        ((2500, 10, 2), False, np.inf, None),
    ],
)
def test_a_long_fit_says_before_it_begins_what_shortens_it(shape, fast, limit, said):
    setting = Setting(classify=True, fast=fast)
    shape = Shape(*shape)
    members = choose("auto", shape, setting, np.random.RandomState(0))
    told = []
    limits = Limits(seconds=limit, tell=told.append)
    problem = SimpleNamespace(seen=shape, setting=setting)
    announce_long_fit(problem, members, limits)
    text = "".join(told)
    assert bool(said) == bool(told) and (said or "") in text
    if said:
        total = sum(member.seconds(shape) for member in members)
        assert f"about {total / 60:.0f} min" in text
        assert "--preset fast" in text and "--minutes" in text


def test_one_thing_says_which_rows_are_left_out():
    X, rows = np.arange(20.0)[:, None], np.arange(20)
    model = AdaptiveKernelRegressor(members=["linear"])
    with pytest.raises(ValueError, match="pass groups or time, not both"):
        model.fit(X, rows, time=rows, groups=rows)
    with pytest.warns(UserWarning, match="time has one value only"):
        model.fit(X, rows, time=np.ones(20))
    assert np.isfinite(model.oof_prediction_).all()


def fitted_member(name, y):
    """One member, fitted to 100 rows in order of time, and those rows."""
    time = np.arange(100.0)
    X = np.column_stack([time, np.sin(7 * time)])
    classify = not REGISTRY[name].regresses
    make = AdaptiveKernelClassifier if classify else AdaptiveKernelRegressor
    rng = np.random.RandomState(0)
    y = (y > 0.5).astype(int) if classify else y
    problem = prepare(make(), X, y, time=time, rng=rng)
    members = choose([name], problem.shape, problem.setting, rng)
    limits = Limits(started=0.0)
    (member,), _ = fit_all(problem, members, limits, rng)
    return member, X


@pytest.mark.parametrize("name", MEMBERS)
def test_blocks_are_predicted_from_earlier_rows_and_all_rows_are_learned(name):
    """What happens in the last block is in no prediction of those before, and learned.

    Every value of the last block occurs before it, so that bounds are equal.
    """
    time = np.arange(100)
    calm = np.where(time % 10 < 5, 0.0, 1.0)
    calm[60:] = 0.0
    late = np.where(time >= 80, 1.0, calm)
    (before, X), (after, _) = fitted_member(name, calm), fitted_member(name, late)
    assert len(before.fits.models) == 3
    if REGISTRY[name].regresses:  # the support vector machine's C is of all blocks
        found = [member.fits.predicted[:40] for member in (before, after)]
        np.testing.assert_array_equal(*found)
    of_class = [
        np.mean(member.predict(member.view.transform(X))[80:, -1])
        for member in (before, after)
    ]
    assert of_class[1] > of_class[0] + 0.2


def drifting_panel(seed, strength):
    """Ten units at 60 times, whose common level is a random walk."""
    rng = np.random.default_rng(seed)
    time, unit = np.repeat(np.arange(60), 10), np.tile(np.arange(10), 60)
    X = np.column_stack([time, unit, rng.standard_normal((600, 2))])
    level = strength * np.cumsum(rng.standard_normal(60))[time]
    noise = 0.3 * rng.standard_normal(600)
    return X, X[:, 2] + rng.standard_normal(10)[unit] + level + noise, time


def later_rows(seed, strength, *, held_out=False):
    """Coverage and squared error for the last sixth of the rows."""
    X, y, time = drifting_panel(seed, strength)
    model = AdaptiveKernelRegressor(members=["linear"], categorical_features=[1])
    old, new = time < 50, time >= 50
    if held_out:
        model.fit(X[:400], y[:400], X_val=X[400:500], y_val=y[400:500])
    else:
        model.fit(X[old], y[old], time=time[old])
    low, high = model.predict_interval(X[new]).T
    inside = (low <= y[new]) & (y[new] <= high)
    return inside.mean(), np.mean((model.predict(X[new]) - y[new]) ** 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:100 rows unlike")  # they are later
def test_intervals_hold_later_rows():
    """Without drift, and with a level that nobody can foresee."""
    calm = [later_rows(seed, 0.0)[0] for seed in range(6)]
    # 600 rows judged, and 6 quantiles of 300 errors each: a standard error of 1.4 %.
    assert abs(np.mean(calm) - 0.9) < 0.042
    held, errors = np.transpose([later_rows(seed, 0.2) for seed in range(10)])
    assert held.mean() > 0.9 - 3 * held.std() / np.sqrt(10)
    # The latest rows, held out to judge alone, were never learned from.
    others = np.array([later_rows(seed, 0.2, held_out=True) for seed in range(10)])
    assert held.mean() > others[:, 0].mean() + 0.1
    assert errors.mean() < others[:, 1].mean()


@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_few_blocks_of_errors_hold_those_of_another(n_blocks, share):
    """Normal errors, of which rows of a block have a share in common."""
    rng, size, held = np.random.default_rng(0), 40, []
    for _ in range(500):
        of_block = np.sqrt(share) * rng.standard_normal((n_blocks + 1, 1))
        own = np.sqrt(1 - share) * rng.standard_normal((n_blocks + 1, size))
        *known, new = of_block + own
        errors, block = np.ravel(known), np.repeat(np.arange(n_blocks), size)
        weights = np.ones(len(errors))
        common = common_share(errors, weights, block)
        model = ErrorModel(None, 1.0, errors[:, None], weights, 1.0, n_blocks, common)
        low, high = model.interval(new[:, None], np.zeros((size, 1)), 0.9)[:, 0].T
        held.append(np.mean((low <= new) & (new <= high)))
    # By what rule is between is no theorem: 2 %, and three standard errors.
    assert abs(np.mean(held) - 0.9) < 0.02 + 3 * np.std(held) / np.sqrt(500)


def test_quantiles_of_few_blocks_do_not_cross():
    errors = np.random.default_rng(0).normal(0.5, 1.0, (90, 1))
    model = ErrorModel(None, 1.0, errors, np.ones(90), n_blocks=3, common=0.6)
    levels = np.linspace(0.05, 0.95, 19)
    found = model.quantiles(np.zeros((1, 1)), np.zeros((1, 1)), levels)[0, 0]
    assert (np.diff(found) >= 0).all()
    narrow = ErrorModel(None, 1.0, errors, np.ones(90))
    assert (
        found[-1]
        > narrow.quantiles(np.zeros((1, 1)), np.zeros((1, 1)), levels)[0, 0, -1]
    )

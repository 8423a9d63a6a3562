"""Rows with a time: later rows are predicted from earlier ones."""

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


def make_blocks(time):
    return time_blocks(time, np.ones(len(time)))


def test_time_blocks_are_two_fifths_and_three_fifths():
    order = np.random.default_rng(0).permutation(100)
    block = make_blocks(order)
    assert np.bincount(block).tolist() == [40, 20, 20, 20]
    assert (np.diff(block[np.argsort(order)]) >= 0).all()
    dates = pd.Series(pd.date_range("2026-01-01", periods=100))[order]
    np.testing.assert_array_equal(make_blocks(dates), block)


@pytest.mark.parametrize("sizes", [[50, 50], [5, 95], [95, 5], [30, 30, 30], [1] * 7])
def test_rows_of_equal_time_are_in_one_block(sizes):
    time = np.repeat(np.arange(len(sizes)), sizes)
    block = make_blocks(time)
    assert block[0] == 0 and block[-1] == block.max() >= 1
    assert all(len(set(block[time == t])) == 1 for t in time)
    assert set(block) == set(range(block.max() + 1))


def test_rows_without_weight_are_ignored_in_blocks():
    weights = np.repeat([0.0, 1.0, 0.0], [500, 100, 500])
    block = time_blocks(np.arange(1100), weights)
    assert np.bincount(block[500:600]).tolist() == [40, 20, 20, 20]


@pytest.mark.parametrize(
    ("time", "message"),
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
def test_invalid_time_raises(time, message):
    X = np.arange(20.0)[:, None]
    with pytest.raises(ValueError, match=message):
        AdaptiveKernelRegressor(members=["linear"]).fit(X, X[:, 0], time=time)


@pytest.mark.parametrize(
    ("shape", "fast", "limit", "expected"),
    [
        (
            (2500, 10, 400),
            False,
            np.inf,
            "400 classes, of which svm takes",
        ),
        ((2500, 10, 400), True, np.inf, None),  # no one-vs-one support vector machines
        ((2500, 10, 400), False, 60.0, None),
        ((2500, 10, 2), False, np.inf, None),
    ],
)
def test_long_fit_is_announced(shape, fast, limit, expected):
    setting = Setting(classify=True, fast=fast)
    shape = Shape(*shape)
    members = choose("auto", shape, setting, np.random.RandomState(0))
    messages = []
    limits = Limits(seconds=limit, tell=messages.append)
    problem = SimpleNamespace(seen=shape, setting=setting)
    announce_long_fit(problem, members, limits)
    text = "".join(messages)
    assert bool(expected) == bool(messages) and (expected or "") in text
    if expected:
        total = sum(member.seconds(shape) for member in members)
        assert f"about {total / 60:.0f} min" in text
        assert "--preset fast" in text and "--minutes" in text


def test_time_with_groups_raises_and_constant_time_warns():
    X, rows = np.arange(20.0)[:, None], np.arange(20)
    model = AdaptiveKernelRegressor(members=["linear"])
    with pytest.raises(ValueError, match="pass groups or time, not both"):
        model.fit(X, rows, time=rows, groups=rows)
    with pytest.warns(UserWarning, match="time has one value only"):
        model.fit(X, rows, time=np.ones(20))
    assert np.isfinite(model.oof_prediction_).all()


def fit_member(name, y):
    """A member fitted to 100 rows in order of time, and those rows."""
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
def test_blocks_are_predicted_from_earlier_rows(name):
    """The last block affects the final model, but no prediction for earlier blocks.
    Every value of the last block occurs before it, so that bounds are equal.
    """
    time = np.arange(100)
    calm = np.where(time % 10 < 5, 0.0, 1.0)
    calm[60:] = 0.0
    late = np.where(time >= 80, 1.0, calm)
    (before, X), (after, _) = fit_member(name, calm), fit_member(name, late)
    assert len(before.fits.models) == 3
    if REGISTRY[
        name
    ].regresses:  # C of the support vector machine depends on all blocks
        predictions = [member.fits.predicted[:40] for member in (before, after)]
        np.testing.assert_array_equal(*predictions)
    means = [
        np.mean(member.predict(member.view.transform(X))[80:, -1])
        for member in (before, after)
    ]
    assert means[1] > means[0] + 0.2


def make_drifting_panel(seed, strength):
    """Ten units at 60 times, with a random walk as common level."""
    rng = np.random.default_rng(seed)
    time, unit = np.repeat(np.arange(60), 10), np.tile(np.arange(10), 60)
    X = np.column_stack([time, unit, rng.standard_normal((600, 2))])
    level = strength * np.cumsum(rng.standard_normal(60))[time]
    noise = 0.3 * rng.standard_normal(600)
    return X, X[:, 2] + rng.standard_normal(10)[unit] + level + noise, time


def score_later_rows(seed, strength, *, held_out=False):
    """Coverage and squared error on the last sixth of the rows."""
    X, y, time = make_drifting_panel(seed, strength)
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
@pytest.mark.filterwarnings("ignore:100 rows unlike")  # later rows differ
def test_coverage_of_later_rows():
    """Without drift, and with an unpredictable level."""
    calm = [score_later_rows(seed, 0.0)[0] for seed in range(6)]
    # 600 test rows and 6 quantiles of 300 errors each: standard error 1.4 %.
    assert abs(np.mean(calm) - 0.9) < 0.042
    coverage, errors = np.transpose([score_later_rows(seed, 0.2) for seed in range(10)])
    assert coverage.mean() > 0.9 - 3 * coverage.std() / np.sqrt(10)
    # With X_val the latest rows are not used for fitting.
    others = np.array(
        [score_later_rows(seed, 0.2, held_out=True) for seed in range(10)]
    )
    assert coverage.mean() > others[:, 0].mean() + 0.1
    assert errors.mean() < others[:, 1].mean()


@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_coverage_with_few_blocks(n_blocks, share):
    """Normal errors; rows of a block share a fraction of the variance."""
    rng, size, coverage = np.random.default_rng(0), 40, []
    for _ in range(500):
        common_error = np.sqrt(share) * rng.standard_normal((n_blocks + 1, 1))
        row_error = np.sqrt(1 - share) * rng.standard_normal((n_blocks + 1, size))
        *known, new = common_error + row_error
        errors, block = np.ravel(known), np.repeat(np.arange(n_blocks), size)
        weights = np.ones(len(errors))
        common = common_share(errors, weights, block)
        model = ErrorModel(None, 1.0, errors[:, None], weights, 1.0, n_blocks, common)
        low, high = model.interval(new[:, None], np.zeros((size, 1)), 0.9)[:, 0].T
        coverage.append(np.mean((low <= new) & (new <= high)))
    # The interpolation is heuristic: 2 % and three standard errors are allowed.
    assert abs(np.mean(coverage) - 0.9) < 0.02 + 3 * np.std(coverage) / np.sqrt(500)


def test_quantiles_with_few_blocks_are_ordered():
    errors = np.random.default_rng(0).normal(0.5, 1.0, (90, 1))
    model = ErrorModel(None, 1.0, errors, np.ones(90), n_blocks=3, common=0.6)
    levels = np.linspace(0.05, 0.95, 19)
    quantiles = model.quantiles(np.zeros((1, 1)), np.zeros((1, 1)), levels)[0, 0]
    assert (np.diff(quantiles) >= 0).all()
    narrow = ErrorModel(None, 1.0, errors, np.ones(90))
    assert (
        quantiles[-1]
        > narrow.quantiles(np.zeros((1, 1)), np.zeros((1, 1)), levels)[0, 0, -1]
    )

"""Categories of many levels: what their targets say of rows that were left out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.prepare import prepare
from adakern.tables.means import levels_differ, means_left_out, means_of_levels, worth


def drawn(n_levels=40, n_each=6, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n_levels).repeat(n_each).astype(float)
    effects = spread * rng.normal(size=n_levels)
    return codes, effects, effects[codes.astype(int)] + rng.normal(size=len(codes))


def test_means_are_drawn_to_that_of_all_as_their_scatter_says():
    """Levels of equal size: the textbook's analysis of variance, written out."""
    codes, _, y = drawn()
    table = means_of_levels(codes, y[:, None], np.ones(len(y)), 40)[:, 0]
    by_level = y.reshape(40, 6)
    means, mean = by_level.mean(axis=1), y.mean()
    within = by_level.var(axis=1, ddof=1).mean()
    between = means.var(ddof=1) - within / 6
    share = between / (between + within / 6)
    assert_allclose(table, share * (means - mean), rtol=1e-12)
    assert_allclose(worth(table[:, None], np.array([np.nan, 3.0]))[:, 0], [0, table[3]])


def test_what_is_drawn_is_nearer_to_the_truth_than_the_means():
    errors = np.zeros(2)
    for seed in range(20):
        codes, effects, y = drawn(n_each=3, spread=0.5, seed=seed)
        table = means_of_levels(codes, y[:, None], np.ones(len(y)), 40)[:, 0]
        means = y.reshape(40, 3).mean(axis=1)
        errors += [np.sum((v - effects) ** 2) for v in (y.mean() + table, means)]
    assert errors[0] < 0.6 * errors[1]


def test_levels_without_effect_or_of_a_row_each_say_nothing():
    y, ones = np.tile([1.0, -1.0], 60)[:, None], np.ones(120)
    for codes in (np.arange(60.0).repeat(2), np.arange(120.0), np.full(120, np.nan)):
        assert_allclose(means_of_levels(codes, y, ones, 120), 0.0)
        assert not levels_differ(codes, y, ones, 120)
    codes, _, y = drawn()
    assert levels_differ(codes, y[:, None], np.ones(len(y)), 40)


def test_levels_that_differ_by_chance_are_rarely_believed():
    found = 0
    for seed in range(200):
        codes, _, y = drawn(spread=0.0, seed=seed)
        found += levels_differ(codes, y[:, None], np.ones(len(y)), 40)
    assert found <= 14  # at a level near 0.03, six on average


def test_a_weight_is_a_repeated_row():
    codes, _, y = drawn()
    w = np.random.default_rng(1).integers(1, 4, size=len(y))
    weighted = means_of_levels(codes, y[:, None], w.astype(float), 40)
    ones = np.ones(w.sum())
    every = means_of_levels(codes.repeat(w), y.repeat(w)[:, None], ones, 40)
    assert_allclose(weighted, every, rtol=1e-9)


def test_a_row_is_told_nothing_of_its_own_part():
    codes, _, y = drawn()
    part, w = np.arange(len(y)) % 5, np.ones(len(y))
    before = means_left_out(codes, y[:, None], w, part, 40)
    changed = np.where(part == 2, y + 100, y)[:, None]
    after = means_left_out(codes, changed, w, part, 40)
    assert_allclose(after[part == 2], before[part == 2])
    others = part != 2
    table = means_of_levels(codes[others], y[others, None], w[others], 40)
    assert_allclose(before[part == 2], worth(table, codes[part == 2]))
    assert np.abs(after[others] - before[others]).max() > 0.5


def table_of(n_levels, seed=0, n=240):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_levels, size=n)
    names = np.array([f"s{code}" for code in codes], dtype=object)
    X = pd.DataFrame({"site": names, "x": rng.normal(size=n)})
    effects = np.random.default_rng(5).normal(size=n_levels)
    return X, effects[codes] + X["x"].to_numpy() + 0.2 * rng.normal(size=n)


def prepared(estimator, X, y, **options):
    rng = np.random.RandomState(0)
    return prepare(estimator, X, y, rng=rng, **options)


def test_few_levels_stay_as_they_are():
    problem = prepared(AdaptiveKernelRegressor(), *table_of(30))
    assert problem.table.X.shape[1] == 2
    assert problem.reader.columns_[0].means is None
    X, y = table_of(40)
    noise = np.random.default_rng(3).normal(size=len(y))
    problem = prepared(AdaptiveKernelRegressor(), X, noise)  # levels say nothing
    assert problem.table.X.shape[1] == 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_have_a_column_each_two_share_one(n_classes):
    X, y = table_of(40)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    problem = prepared(AdaptiveKernelClassifier(), X, labels)
    width = {2: 1, 3: 3}[n_classes]
    assert problem.table.X.shape[1] == 2 + width
    assert list(problem.reader.source_) == [0, 1] + [0] * width
    assert list(problem.setting.is_categorical) == [True] + [False] * (1 + width)


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_who_is_judged_on_a_fold_knows_none_of_its_targets(n_folds):
    X, y = table_of(40)
    X["x"] = np.arange(len(y))  # no two rows are equal
    model = AdaptiveKernelRegressor(n_folds=n_folds)
    first = prepared(model, X, y)
    fold = first.table.fold[np.argsort(first.origin)]
    # Rows that differ are dealt out by their features alone.
    noise = np.random.default_rng(0).normal(size=len(y))
    second = prepared(model, X, np.where(fold == 1, y + noise, y))
    np.testing.assert_array_equal(second.table.fold, first.table.fold)
    values = [p.blend.unit * p.table.without(1)[:, 2:] for p in (first, second)]
    assert_allclose(*values, rtol=1e-9)
    assert np.abs(first.table.without(0) - second.table.without(0)).max() > 0.01


def test_rows_to_judge_by_tell_those_that_are_learned_from_nothing():
    X, y = table_of(40)
    new, y_new = table_of(40, seed=1)
    values = []
    for shift in (0, 50):
        problem = prepared(
            AdaptiveKernelRegressor(), X, y, X_val=new, y_val=y_new + shift
        )
        order = np.argsort(problem.origin)
        values.append(problem.table.X[order][:, 2:])
    assert_allclose(*values, rtol=1e-9)


def test_levels_beyond_the_indicators_are_learned_and_new_ones_are_the_mean():
    X, y = table_of(60, n=400)
    new, y_new = table_of(60, seed=1)
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0).fit(X, y)
    assert model.score(new, y_new) > 0.8  # x alone explains a half
    assert "target encoding" in model.columns_[0].became
    assert len(model.feature_importances_) == 2
    missing, unseen = new.head(3).copy(), new.head(3).copy()
    missing["site"], unseen["site"] = None, "nowhere"
    with pytest.warns(UserWarning, match="does not know the category"):
        predicted = model.predict(unseen)
    assert_allclose(predicted, model.predict(missing))


def test_equal_rows_are_known_again_by_their_features():
    """Their means differ by who learned them; their target is that of the others."""
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 60, size=120), 10 * rng.normal(size=120)
    X = np.array([[f"s{code}", k] for k, code in enumerate(codes)], dtype=object)
    options = {"members": ["linear"], "random_state": 0}
    every = np.arange(120).repeat(2)
    model = AdaptiveKernelRegressor(**options).fit(
        X[every], y[every] + 1e-3 * np.tile([1, -1], 120)
    )
    assert_allclose(model.predict(X), y, atol=0.5)


def test_where_rows_have_a_time_means_are_of_earlier_rows():
    X, y = table_of(40)
    later = np.arange(len(y)) >= 200
    options = {"time": np.arange(len(y))}
    first = prepared(AdaptiveKernelRegressor(), X, y, **options)
    noise = np.where(later, np.random.default_rng(0).normal(size=len(y)), 0)
    second = prepared(AdaptiveKernelRegressor(), X, y + noise, **options)
    values = [p.blend.unit * p.table.without(0)[:, 2:] for p in (first, second)]
    assert_allclose(*values, rtol=1e-9)

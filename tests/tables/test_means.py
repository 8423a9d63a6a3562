"""Target encoding of categories with many levels."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.prepare import prepare
from adakern.tables.means import levels_differ, means_left_out, means_of_levels, worth


def make_levels(n_levels=40, n_each=6, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n_levels).repeat(n_each).astype(float)
    effects = spread * rng.normal(size=n_levels)
    return codes, effects, effects[codes.astype(int)] + rng.normal(size=len(codes))


def test_shrinkage_equals_analysis_of_variance():
    """Levels of equal size, computed from textbook formulas."""
    codes, _, y = make_levels()
    table = means_of_levels(codes, y[:, None], np.ones(len(y)), 40)[:, 0]
    by_level = y.reshape(40, 6)
    means, mean = by_level.mean(axis=1), y.mean()
    within = by_level.var(axis=1, ddof=1).mean()
    between = means.var(ddof=1) - within / 6
    share = between / (between + within / 6)
    assert_allclose(table, share * (means - mean), rtol=1e-12)
    assert_allclose(worth(table[:, None], np.array([np.nan, 3.0]))[:, 0], [0, table[3]])


def test_shrunk_means_have_smaller_error():
    errors = np.zeros(2)
    for seed in range(20):
        codes, effects, y = make_levels(n_each=3, spread=0.5, seed=seed)
        table = means_of_levels(codes, y[:, None], np.ones(len(y)), 40)[:, 0]
        means = y.reshape(40, 3).mean(axis=1)
        errors += [np.sum((v - effects) ** 2) for v in (y.mean() + table, means)]
    assert errors[0] < 0.6 * errors[1]


def test_levels_without_effect_are_not_encoded():
    y, ones = np.tile([1.0, -1.0], 60)[:, None], np.ones(120)
    for codes in (np.arange(60.0).repeat(2), np.arange(120.0), np.full(120, np.nan)):
        assert_allclose(means_of_levels(codes, y, ones, 120), 0.0)
        assert not levels_differ(codes, y, ones, 120)
    codes, _, y = make_levels()
    assert levels_differ(codes, y[:, None], np.ones(len(y)), 40)


def test_false_positive_rate_of_levels_differ():
    n_positive = 0
    for seed in range(200):
        codes, _, y = make_levels(spread=0.0, seed=seed)
        n_positive += levels_differ(codes, y[:, None], np.ones(len(y)), 40)
    assert n_positive <= 14  # at a level near 0.03, six on average


def test_weights_equal_repeated_rows():
    codes, _, y = make_levels()
    w = np.random.default_rng(1).integers(1, 4, size=len(y))
    weighted = means_of_levels(codes, y[:, None], w.astype(float), 40)
    ones = np.ones(w.sum())
    every = means_of_levels(codes.repeat(w), y.repeat(w)[:, None], ones, 40)
    assert_allclose(weighted, every, rtol=1e-9)


def test_left_out_means_do_not_use_their_own_part():
    codes, _, y = make_levels()
    part, w = np.arange(len(y)) % 5, np.ones(len(y))
    before = means_left_out(codes, y[:, None], w, part, 40)
    changed = np.where(part == 2, y + 100, y)[:, None]
    after = means_left_out(codes, changed, w, part, 40)
    assert_allclose(after[part == 2], before[part == 2])
    others = part != 2
    table = means_of_levels(codes[others], y[others, None], w[others], 40)
    assert_allclose(before[part == 2], worth(table, codes[part == 2]))
    assert np.abs(after[others] - before[others]).max() > 0.5


def make_table(n_levels, seed=0, n=240):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_levels, size=n)
    names = np.array([f"s{code}" for code in codes], dtype=object)
    X = pd.DataFrame({"site": names, "x": rng.normal(size=n)})
    effects = np.random.default_rng(5).normal(size=n_levels)
    return X, effects[codes] + X["x"].to_numpy() + 0.2 * rng.normal(size=n)


def prepare_problem(estimator, X, y, **options):
    rng = np.random.RandomState(0)
    return prepare(estimator, X, y, rng=rng, **options)


def test_few_or_uninformative_levels_are_not_encoded():
    problem = prepare_problem(AdaptiveKernelRegressor(), *make_table(30))
    assert problem.table.X.shape[1] == 2
    assert problem.reader.columns_[0].means is None
    X, y = make_table(40)
    noise = np.random.default_rng(3).normal(size=len(y))
    problem = prepare_problem(
        AdaptiveKernelRegressor(), X, noise
    )  # uninformative levels
    assert problem.table.X.shape[1] == 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_encoding_has_one_column_per_class(n_classes):
    X, y = make_table(40)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    problem = prepare_problem(AdaptiveKernelClassifier(), X, labels)
    width = {2: 1, 3: 3}[n_classes]
    assert problem.table.X.shape[1] == 2 + width
    assert list(problem.reader.source_) == [0, 1] + [0] * width
    assert list(problem.setting.is_categorical) == [True] + [False] * (1 + width)


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_encoding_does_not_use_targets_of_the_fold(n_folds):
    X, y = make_table(40)
    X["x"] = np.arange(len(y))  # no two rows are equal
    model = AdaptiveKernelRegressor(n_folds=n_folds)
    first = prepare_problem(model, X, y)
    fold = first.table.fold[np.argsort(first.origin)]
    # Distinct rows are assigned to folds by their features only.
    noise = np.random.default_rng(0).normal(size=len(y))
    second = prepare_problem(model, X, np.where(fold == 1, y + noise, y))
    np.testing.assert_array_equal(second.table.fold, first.table.fold)
    values = [p.blend.unit * p.table.without(1)[:, 2:] for p in (first, second)]
    assert_allclose(*values, rtol=1e-9)
    assert np.abs(first.table.without(0) - second.table.without(0)).max() > 0.01


def test_encoding_does_not_use_validation_rows():
    X, y = make_table(40)
    new, y_new = make_table(40, seed=1)
    values = []
    for shift in (0, 50):
        problem = prepare_problem(
            AdaptiveKernelRegressor(), X, y, X_val=new, y_val=y_new + shift
        )
        order = np.argsort(problem.origin)
        values.append(problem.table.X[order][:, 2:])
    assert_allclose(*values, rtol=1e-9)


def test_encoding_improves_score_and_new_levels_are_missing():
    X, y = make_table(60, n=400)
    new, y_new = make_table(60, seed=1)
    model = AdaptiveKernelRegressor(members=["linear"], random_state=0).fit(X, y)
    assert model.score(new, y_new) > 0.8  # x alone explains a half
    assert "target encoding" in model.columns_[0].use
    assert len(model.feature_importances_) == 2
    missing, unseen = new.head(3).copy(), new.head(3).copy()
    missing["site"], unseen["site"] = None, "nowhere"
    with pytest.warns(UserWarning, match="does not know the category"):
        predicted = model.predict(unseen)
    assert_allclose(predicted, model.predict(missing))


def test_slope_that_differs_by_level_is_learned():
    """By a kernel on categories; with 30 indicators and means of levels, R² is 0.5."""
    rng = np.random.default_rng(0)
    codes, x, slopes = rng.integers(0, 50, 900), *rng.normal(size=(2, 900))
    X = pd.DataFrame({"site": [f"s{code}" for code in codes], "x": x})
    y = slopes[codes] * x + 0.3 * rng.normal(size=900)
    model = AdaptiveKernelRegressor(members=["rbf-ard"], random_state=0)
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.75


def test_equal_rows_are_recognised_with_target_encoding():
    """Their encodings differ between folds, but their features are equal."""
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 60, size=120), 10 * rng.normal(size=120)
    X = np.array([[f"s{code}", k] for k, code in enumerate(codes)], dtype=object)
    options = {"members": ["linear"], "random_state": 0}
    every = np.arange(120).repeat(2)
    model = AdaptiveKernelRegressor(**options).fit(
        X[every], y[every] + 1e-3 * np.tile([1, -1], 120)
    )
    assert_allclose(model.predict(X), y, atol=0.5)


def test_encoding_uses_only_earlier_rows():
    X, y = make_table(40)
    later = np.arange(len(y)) >= 200
    options = {"time": np.arange(len(y))}
    first = prepare_problem(AdaptiveKernelRegressor(), X, y, **options)
    noise = np.where(later, np.random.default_rng(0).normal(size=len(y)), 0)
    second = prepare_problem(AdaptiveKernelRegressor(), X, y + noise, **options)
    values = [p.blend.unit * p.table.without(0)[:, 2:] for p in (first, second)]
    assert_allclose(*values, rtol=1e-9)

"""Folds, weights, calibration and intervals, compared with their definitions."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from adakern.adaptive import blend as blending
from adakern.adaptive import choose
from adakern.adaptive.blend import (
    Calibration,
    WeightedMean,
    log_loss,
    log_probabilities,
)
from adakern.adaptive.choose import (
    JUDGES,
    LEARNERS,
    RISE,
    candidates_kept,
)
from adakern.adaptive.fit_all import improves
from adakern.adaptive.intervals import conformal_quantile
from adakern.adaptive.members.base import Setting, Shape
from adakern.adaptive.members.trees import (
    FORESTS,
    MOST_NODE_VALUES,
    ROWS_PER_TREE,
    SMALL_ROWS,
    Boosting,
    Forest,
)
from adakern.adaptive.table import FULL_CELL, assign_folds, make_table

integers = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def make_data(values, seed, largest_weight=1):
    """Rows of few values, with repetitions and missing values, as a table in folds."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([values, rng.integers(0, 2, len(values))]).astype(float)
    X[X == 3] = np.nan
    Y = rng.integers(0, 2, (len(values), 1)).astype(float)
    weights = rng.integers(0, largest_weight + 1, len(values)).astype(float)
    weights[0] = 1.0
    table, place = make_table(X, Y, weights, 3, np.random.RandomState(seed))
    return X, Y, weights, table, place


@settings(max_examples=25)
@given(integers, st.integers(0, 10**6))
def test_make_table_merges_repeated_rows(values, seed):
    X, Y, weights, table, place = make_data(values, seed, largest_weight=3)
    used = place >= 0
    np.testing.assert_array_equal(used, weights > 0)
    np.testing.assert_array_equal(X[used], table.X[place[used]])
    np.testing.assert_array_equal(Y[used], table.Y[place[used]])
    np.testing.assert_array_equal(table.counts, np.bincount(place[used]))
    total = np.bincount(place[used], weights[used])
    np.testing.assert_allclose(table.weights / table.weights.sum(), total / total.sum())
    distinct = {tuple(row) for row in np.nan_to_num(table.X, nan=-1.0)}
    assert len(distinct) == table.cell[-1] + 1


@settings(max_examples=25)
@given(integers, st.integers(0, 10**6))
def test_small_cells_are_in_one_fold_and_full_cells_in_all(values, seed):
    *_, table, _ = make_data(values, seed)
    n_cells = table.cell[-1] + 1
    full = 3 if n_cells <= 6 else FULL_CELL  # with three folds
    for cell in range(n_cells):
        rows = table.cell == cell
        if table.counts[rows].sum() < full:
            assert len(set(table.fold[rows])) == 1
            assert table.alone[rows].all()
        else:
            sizes = np.bincount(table.fold[rows], table.counts[rows], table.n_folds)
            assert not table.alone[rows].any()
            if len(set(table.cell)) == 1:
                assert sizes.max() - sizes.min() <= 1


def test_effective_number_of_rows():
    X, ones = np.arange(30.0)[:, None], np.ones(30)

    def sizes(X, weights):
        table, _ = make_table(X, X, weights, 3, np.random.RandomState(0))
        return table.weights.sum(), table.mass.sum()

    assert sizes(X, ones) == sizes(X, 1e300 * ones) == (30, 30)
    np.testing.assert_allclose(sizes(X, np.append(ones[:-1], 1e12)), 1, rtol=1e-6)
    np.testing.assert_allclose(sizes(np.zeros_like(X), ones), 30)
    np.testing.assert_allclose(
        sizes(np.repeat(np.arange(15.0), 2)[:, None], ones), (15, 30)
    )


@settings(max_examples=25)
@given(integers, st.integers(2, 6), st.integers(0, 10**6))
def test_groups_are_in_one_fold_and_folds_are_balanced(values, n_folds, seed):
    group = np.unique(values, return_inverse=True)[1]
    n_groups = group.max() + 1
    fold = assign_folds(group, min(n_folds, n_groups), np.random.RandomState(seed))
    sizes = np.bincount([fold[group == g][0] for g in range(n_groups)])
    assert all(len(set(fold[group == g])) == 1 for g in range(n_groups))
    assert sizes.max() - sizes.min() <= 1


def test_folds_are_stratified():
    stratum = np.repeat([0, 1], [80, 20])
    fold = assign_folds(np.arange(100), 5, np.random.RandomState(0), stratum)
    assert {np.sum(stratum[fold == k]) for k in range(5)} == {4}


def minimise_on_simplex(loss, m):
    def loss_at(z):
        b = np.exp(z - z.max())
        return loss(b / b.sum())

    z = minimize(
        loss_at, np.zeros(m), method="Nelder-Mead", options={"maxiter": 8000}
    ).x
    return loss_at(z)


def test_squared_error_weights_minimise_the_loss():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(50)
    F = y + np.array([[0.5], [0.7], [2.0]]) * rng.standard_normal((3, 50))

    def loss(b):
        return np.mean((y - b @ F) ** 2)

    weights = blending.squared_error_weights(F, y, np.ones(50), prior=0.0)
    assert weights.sum() == pytest.approx(1)
    assert weights.min() >= 0
    assert loss(weights) == pytest.approx(minimise_on_simplex(loss, 3), rel=1e-5)


def test_mixture_weights_maximise_the_likelihood():
    likelihoods = np.random.default_rng(0).uniform(0.05, 1, (3, 60))

    def loss(b):
        return -np.mean(np.log(b @ likelihoods))

    weights = blending.mixture_weights(
        likelihoods, np.ones(60), prior=0.0, max_iter=20_000
    )
    assert loss(weights) == pytest.approx(minimise_on_simplex(loss, 3), rel=1e-5)


def test_strong_prior_determines_the_weights():
    F = np.random.default_rng(0).uniform(0.1, 1, (3, 20))
    ones = np.ones(20)
    np.testing.assert_allclose(
        blending.mixture_weights(F, ones, prior=1e9), 1 / 3, atol=1e-3
    )
    expected = np.mean((F - 1) ** 2, axis=1) ** -2.0
    weights = blending.squared_error_weights(F, ones, ones, prior=1e9)
    np.testing.assert_allclose(weights, expected / expected.sum(), atol=1e-3)


def test_row_with_large_error_of_all_members_has_limited_influence():
    rng = np.random.default_rng(0)
    y = np.zeros(101)
    good, bad = rng.standard_normal(101), 3 * rng.standard_normal(101)
    good[0], bad[0] = 1000.0, 900.0  # larger than all other errors together

    def weights(*errors):
        errors = np.array(errors)
        return blending.squared_error_weights(
            errors, y, blending.cap_weights(errors, np.ones(101))
        )

    assert weights(good, bad)[0] > 0.7
    good[1:], bad[1:] = bad[1:], good[1:].copy()
    assert weights(good, bad)[1] > 0.7


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), st.integers(0, 10**6))
def test_no_worse_than_best(m, seed):
    rng = np.random.default_rng(seed)
    errors = rng.lognormal(size=(m, 1)) * rng.standard_t(1.5, (m, 30))
    errors += rng.standard_normal(30)

    def loss_of(b):
        return np.sum((b @ errors) ** 2)

    optimum = blending.squared_error_weights(
        errors, np.zeros(30), np.ones(30), prior=0.0
    )
    start = rng.dirichlet(np.ones(m))
    weights = blending.no_worse_than_best(start, optimum, loss_of)
    assert weights.sum() == pytest.approx(1)
    assert loss_of(weights) <= min(map(loss_of, np.eye(m))) * (1 + 1e-9)
    best = np.eye(m)[np.argmin([loss_of(b) for b in np.eye(m)])]
    np.testing.assert_array_equal(
        blending.no_worse_than_best(best, start, loss_of), best
    )


def test_perfect_members_get_equal_weights():
    y = np.arange(4.0)
    weights = blending.squared_error_weights(np.array([y, y, y + 1]), y, np.ones(4))
    np.testing.assert_array_equal(weights, [0.5, 0.5, 0])


def test_calibration_recovers_slope_and_shift():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((4000, 3))
    proba = np.exp(2 * scores + [0.5, 0, -0.5])
    proba /= proba.sum(axis=1, keepdims=True)
    codes = (rng.uniform(size=(4000, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    calibration = Calibration().fit(scores, codes, np.ones(4000))
    assert calibration.slope_ == pytest.approx(2, abs=0.15)
    np.testing.assert_allclose(
        calibration.shift_ - calibration.shift_.mean(), [0.5, 0, -0.5], atol=0.15
    )
    after = log_loss(
        log_probabilities([calibration], [scores])[0], codes, np.ones(4000)
    )
    assert after <= log_loss(np.log(proba), codes, np.ones(4000)) + 1e-4


@settings(max_examples=25)
@given(st.integers(1, 60), st.floats(0.05, 0.95), st.integers(0, 10**6))
def test_conformal_quantile_equals_its_definition(n, level, seed):
    values = np.random.default_rng(seed).standard_normal(n)
    quantile = conformal_quantile(values, np.ones(n), level)
    rank = int(np.ceil(round(level * (n + 1), 9)))
    assert quantile == (np.inf if rank > n else np.sort(values)[rank - 1])
    assert quantile == conformal_quantile(values, np.full(n, 1e-9), level)


@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("n, k", [(1000, 60), (1600, 400), (2000, 800)])
def test_forest_size_is_limited_for_many_classes(n, k, extra):
    rng = np.random.default_rng(0)
    codes = np.arange(n) % k
    X, Y = rng.normal(size=(n, 5)) + codes[:, None] / 9, np.eye(k)[codes]
    setting = Setting(classify=True)
    forest = Forest(extra=extra, random_state=0, setting=setting)
    trees = forest.fit(X, Y, np.ones(n)).model_.estimators_
    n_values = sum(tree.tree_.value.size for tree in trees)
    assert n_values <= max(MOST_NODE_VALUES, 2 * trees[0].tree_.value.size)
    n_trees = 20 if n < SMALL_ROWS else 60
    assert (
        len(trees) == n_trees or n_values + 2 * n_values / len(trees) > MOST_NODE_VALUES
    )
    full_forest = FORESTS[extra][1](2, random_state=0).fit(
        X, codes, sample_weight=np.ones(n)
    )
    for tree, other in zip(trees, full_forest, strict=False):
        np.testing.assert_array_equal(tree.tree_.feature, other.tree_.feature)


def test_forest_does_not_suit_too_many_classes():
    few, many = Shape(5000, k=50), Shape(5000, k=5000)
    forest = Forest(extra=True, setting=Setting(classify=True))
    assert forest.suits(few)
    assert not forest.suits(many)


@pytest.mark.parametrize("n", [1, 50])
@pytest.mark.parametrize("make", [Forest, Boosting])
def test_trees_of_more_columns_than_the_rows_raise(make, n):
    """Compiled trees read columns unchecked; a model file may hold any member."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 9))
    setting = Setting(is_categorical=np.zeros(9, dtype=bool))
    member = make(random_state=0, setting=setting).fit(X, X[:, -1:], np.ones(100))
    with pytest.raises(ValueError, match="9 columns cannot predict rows of 2"):
        member.predict(np.zeros((n, 2)))


def test_extra_trees_use_all_rows_and_forest_a_subsample():
    n = ROWS_PER_TREE + 1000
    X, weights = np.arange(n)[:, None].astype(float), np.ones(n)
    for extra in (True, False):
        forest = Forest(extra=extra, random_state=0)
        tree, *_ = forest.fit(X, X, weights).model_.estimators_
        root = tree.tree_.weighted_n_node_samples[0]
        assert root == (n if extra else ROWS_PER_TREE)


@pytest.mark.parametrize("n", [9000, 30_000])
def test_subsample_contains_rows_within_and_outside_first_fold(n):
    X = np.arange(n, dtype=float)[:, None]
    table, _ = make_table(X, 2 * X, X[:, 0] + 1, 5, np.random.RandomState(0))
    part = table.subsample(np.random.RandomState(0), LEARNERS, JUDGES)
    indices = part.X[:, 0].astype(int)
    assert len(set(indices)) == len(indices)
    np.testing.assert_array_equal(part.fold == 0, table.fold[indices] == 0)
    np.testing.assert_array_equal(part.Y, table.Y[indices])
    np.testing.assert_array_equal(part.weights, table.weights[indices])
    judges = np.sum(table.fold == 0)
    assert np.sum(part.fold == 0) == min(JUDGES, judges)
    assert np.sum(part.fold == -1) == min(LEARNERS, n - judges)


@settings(max_examples=50)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_candidates_kept_have_nearly_the_loss_of_all(m, seed):
    rng = np.random.default_rng(seed)
    errors = rng.lognormal(size=(m, 1)) * rng.standard_normal((m, 40))
    errors += rng.standard_normal(40)

    def loss_of(members):
        some = errors[members]
        blend = blending.squared_error_weights(some, np.zeros(40), np.ones(40))
        return np.mean((blend @ some) ** 2)

    most = (1 + RISE) * loss_of(np.arange(m))
    can_be_dropped = rng.integers(0, 4, m) > 0
    kept = candidates_kept(loss_of, can_be_dropped)
    assert kept[~can_be_dropped].all()
    kept = np.flatnonzero(kept)
    assert loss_of(kept) <= most
    if len(kept) > 1:
        assert all(loss_of(kept[kept != i]) > most for i in kept if can_be_dropped[i])
    trees = rng.integers(0, 2, m).astype(bool)
    reach = 2 * loss_of(np.arange(m))  # 16 ** 0.25
    expected = trees & np.array([loss_of([i]) <= reach for i in range(m)])
    np.testing.assert_array_equal(
        choose.trees_on_trial(loss_of, trees, 16 * LEARNERS), expected
    )


def test_member_on_trial_must_improve_the_first_fold():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    table, _ = make_table(
        X, X.sum(axis=1)[:, None], np.ones(300), 3, np.random.RandomState(0)
    )
    fitted = [
        SimpleNamespace(fits=SimpleNamespace(predicted=table.X[:, :1]), slope=1.0)
    ]
    problem = SimpleNamespace(table=table, blend=WeightedMean())
    first = table.X[table.fold == 0]
    for values, better in (
        (first.sum(axis=1), True),
        (rng.standard_normal(len(first)), False),
    ):
        assert improves(problem, fitted, (None, values[:, None])) == better


def test_mixture_ignores_members_without_weight(rng):
    """Bit for bit, also where such a member excludes the true class."""
    log_proba = np.log(rng.dirichlet(np.ones(4), size=(3, 30)))
    weights = np.array([0.3, 0.0, 0.7])
    expected = np.log(np.tensordot(weights, np.exp(log_proba), axes=1))
    np.testing.assert_allclose(blending.mix(log_proba, weights), expected)
    np.testing.assert_array_equal(blending.mix(log_proba, np.eye(3)[1]), log_proba[1])
    log_proba[1] = -np.inf
    np.testing.assert_allclose(blending.mix(log_proba, weights), expected)

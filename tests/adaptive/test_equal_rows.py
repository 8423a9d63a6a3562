"""Targets of equal rows, compared with explicit leave-one-out and a known variance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.model import PRIORS, EqualRows
from adakern.adaptive.table import make_table


def make_groups(n_kinds, between, within, seed=0):
    """Groups of one to four equal rows; targets vary between and within groups."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_kinds), rng.integers(1, 5, n_kinds))
    Y = between * rng.standard_normal(n_kinds)[group]
    Y += within * rng.standard_normal(len(group))
    return group[:, None] / 3, Y[:, None], group


def fit_equal_rows(X, Y, predicted, weights=None):
    """EqualRows fitted to rows and the predictions for each."""
    weights = np.ones(len(X)) if weights is None else weights
    table, place = make_table(X, Y, weights, 5, np.random.RandomState(0))
    merged = np.zeros(table.Y.shape)
    merged[place] = predicted
    return EqualRows().fit(table, merged)


@given(st.integers(0, 10**6))
def test_prior_minimises_leave_one_out_error(seed):
    X, Y, group = make_groups(30, 1.0, 0.4, seed)
    predicted = np.random.default_rng(seed).standard_normal(30)[group, None] / 2

    def error(prior):
        total = 0.0
        for i in range(len(Y)):
            others = (group == group[i]) & (np.arange(len(Y)) != i)
            estimate = prior * predicted[i, 0] + Y[others, 0].sum()
            estimate /= prior + others.sum()
            total += (Y[i, 0] - estimate) ** 2
        return total

    equal = fit_equal_rows(X, Y, predicted)
    assert equal.prior_rows_ in (min(PRIORS, key=error), np.inf)


def test_weights_are_not_repetitions_and_scale_invariant():
    X, Y, group = make_groups(40, 1.0, 0.3)
    zeros = np.zeros(Y.shape)
    alone = np.unique(group, return_index=True)[1]
    weights = np.random.default_rng(0).integers(1, 5, len(Y)).astype(float)
    weighted = fit_equal_rows(X[alone], Y[alone], zeros[alone], weights[alone])
    assert weighted.prior_rows_ == np.inf
    once, twice = (fit_equal_rows(X, Y, zeros, f * weights) for f in (1, 1e300))
    assert once.prior_rows_ == twice.prior_rows_ < np.inf
    np.testing.assert_allclose(once.adjust(X, zeros), twice.adjust(X, zeros))


def test_missing_values_and_negative_zeros_are_equal():
    group = np.arange(40) // 2
    X = np.column_stack([np.zeros(40), np.full(40, np.nan), group])
    Y = np.where(group % 2, 5.0, -5.0)[:, None]
    equal = fit_equal_rows(X, Y, np.zeros(Y.shape))
    new = np.array([[-0.0, np.nan, 1.0], [0.0, np.nan, 1.5]])
    assert equal.adjust(new, np.zeros((2, 1)))[:, 0] == pytest.approx([5, 0], abs=0.1)


@pytest.mark.parametrize(
    "estimator", [AdaptiveKernelRegressor, AdaptiveKernelClassifier]
)
def test_repeated_cases_are_predicted_exactly(estimator):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((60, 3)), 2, axis=0)
    y = np.repeat(rng.integers(0, 2, 60), 2)
    model = estimator(members=["linear"], random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=0.02)
    assert model.oof_score_ < 0.75  # of new rows
    if estimator is AdaptiveKernelRegressor:
        low, high = model.predict_interval(X).T
        assert np.all((low <= model.predict(X)) & (model.predict(X) <= high))

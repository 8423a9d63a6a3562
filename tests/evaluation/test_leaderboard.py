"""Leaderboards against other computations of the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import rankdata

from adakern.evaluation import (
    bootstrap_elo,
    elo_ratings,
    mean_ranks,
    normalised_errors,
    pareto_front,
    win_matrix,
    wins,
)

tables = st.tuples(st.integers(1, 12), st.integers(2, 6), st.integers(0, 10**6))


def draw(shape, ties=False):
    n, k, seed = shape
    scores = np.random.default_rng(seed).normal(size=(n, k))
    return np.round(scores) if ties else scores


@settings(max_examples=50)
@given(tables)
def test_ranks_are_one_plus_the_expected_losses(shape):
    """A method's rank is 1 + those that beat it + half of those that tie."""
    scores = draw(shape, ties=True)
    lost = win_matrix(scores).sum(axis=0)
    np.testing.assert_allclose(mean_ranks(scores), 1 + lost / len(scores))


@settings(max_examples=50)
@given(tables)
def test_wins_and_win_matrix_count_every_set_once(shape):
    scores = draw(shape, ties=True)
    n, k = scores.shape
    assert wins(scores).sum() == pytest.approx(n)
    matrix = win_matrix(scores)
    off_diagonal = ~np.eye(k, dtype=bool)
    np.testing.assert_allclose((matrix + matrix.T)[off_diagonal], n)


def test_losses_turn_the_order_round():
    scores = draw((8, 4, 1))
    np.testing.assert_array_equal(
        mean_ranks(scores), mean_ranks(-scores, greater_is_better=False)
    )


def test_a_failed_cell_has_the_worst_rank():
    scores = np.array([[0.5, np.nan, 0.7, np.nan]])
    assert mean_ranks(scores).tolist() == [2, 4, 1, 4]
    assert wins(np.full((1, 3), np.nan)).tolist() == [0, 0, 0]
    assert normalised_errors([[1.0, np.nan, 2.0]]).tolist() == [[0, 1, 1]]


@settings(max_examples=25)
@given(tables)
def test_elo_maximises_the_likelihood_of_bradley_and_terry(shape):
    """Against a general optimiser on the log-likelihood itself."""
    prior = 0.5
    matrix = win_matrix(draw(shape))
    counted = matrix + prior
    np.fill_diagonal(counted, 0)

    def loss(ratings):
        difference = (ratings[:, None] - ratings) * np.log(10) / 400
        return (counted * np.logaddexp(0, -difference)).sum()

    found = elo_ratings(matrix, prior=prior)
    best = minimize(loss, np.zeros(len(matrix)), method="BFGS", tol=1e-10).x
    assert found.mean() == pytest.approx(1000)
    np.testing.assert_allclose(found - found.mean(), best - best.mean(), atol=0.5)


def test_elo_knows_only_who_beats_whom():
    scores = draw((10, 4, 3))
    np.testing.assert_allclose(
        elo_ratings(win_matrix(scores)),
        elo_ratings(win_matrix(rankdata(scores, axis=1))),
    )


def test_bootstrap_covers_and_is_repeatable():
    rng = np.random.default_rng(0)
    scores = rng.normal(loc=[0, 0.3, 2], size=(40, 3))
    ratings, low, high = bootstrap_elo(scores, n_samples=100)
    again = bootstrap_elo(scores, n_samples=100)
    np.testing.assert_array_equal([ratings, low, high], again)
    assert (low <= ratings).all() and (ratings <= high).all()
    assert low[2] > high[0]
    few = bootstrap_elo(scores[:8], n_samples=100)
    assert (few[2] - few[1]).mean() > (high - low).mean()


@settings(max_examples=50)
@given(st.integers(1, 15), st.integers(0, 10**6))
def test_front_is_what_a_loop_finds(n, seed):
    costs, losses = np.random.default_rng(seed).integers(0, 5, size=(2, n))
    slow = [
        not any(
            costs[j] <= costs[i]
            and losses[j] <= losses[i]
            and (costs[j] < costs[i] or losses[j] < losses[i])
            for j in range(n)
        )
        for i in range(n)
    ]
    assert pareto_front(costs, losses).tolist() == slow


def test_normalised_errors_by_hand():
    assert normalised_errors([[2.0, 2.0, 2.0]]).tolist() == [[0, 0, 0]]
    assert normalised_errors([[0.0, 1.0, 4.0], [3.0, 1.0, 2.0]]).tolist() == [
        [0, 1, 1],
        [1, 0, 1],
    ]
    with pytest.raises(ValueError, match="data sets, methods"):
        mean_ranks([1.0, 2.0])

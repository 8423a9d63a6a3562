"""Ranks and ratings against other computations of the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from adakern.evaluation import (
    mean_ranks,
    normalised_errors,
    pareto_front,
    rank_methods,
    win_matrix,
)
from adakern.evaluation.ranking import (
    bootstrap_elo,
    elo_ratings,
    ranks_by_dataset,
    wins,
)

tables = st.tuples(st.integers(1, 12), st.integers(2, 6), st.integers(0, 10**6))


def random_scores(shape, ties=False):
    n, k, seed = shape
    scores = np.random.default_rng(seed).normal(size=(n, k))
    return np.round(scores) if ties else scores


@settings(max_examples=50)
@given(tables)
def test_average_ranks_definition(shape):
    """A method's rank is 1 + those that beat it + half of those that tie."""
    scores = random_scores(shape, ties=True)
    lost = win_matrix(scores).sum(axis=0)
    np.testing.assert_allclose(mean_ranks(scores), 1 + lost / len(scores))


@settings(max_examples=50)
@given(tables)
def test_wins_and_win_matrix_totals(shape):
    scores = random_scores(shape, ties=True)
    n, k = scores.shape
    assert wins(scores).sum() == pytest.approx(n)
    matrix = win_matrix(scores)
    np.testing.assert_allclose((matrix + matrix.T)[~np.eye(k, dtype=bool)], n)


def test_invalid_input_error():
    with pytest.raises(ValueError, match="data sets, methods"):
        mean_ranks([1.0, 2.0])
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1,\)"):
        pareto_front([1.0, 2.0], [1.0])


def test_greater_is_better_false():
    scores = random_scores((8, 4, 1))
    np.testing.assert_array_equal(
        mean_ranks(scores), mean_ranks(-scores, greater_is_better=False)
    )


def test_failed_cell_ranks_last():
    scores = np.array([[0.5, np.nan, 0.7, np.nan]])
    assert mean_ranks(scores).tolist() == [2, 4, 1, 4]
    assert wins(np.full((1, 3), np.nan)).tolist() == [0, 0, 0]
    assert normalised_errors([[1.0, np.nan, 2.0]]).tolist() == [[0, 1, 1]]
    ranking = rank_methods([[0.9, 0.8, np.nan]] * 5)
    assert ranking.average_ranks.tolist() == [1, 2, 3]
    assert "without a result, ranked last: 5" in ranking.note


def test_rounding_differences_are_ties():
    """0.73 + 0.0307... and its neighbour in floating point print alike."""
    first, second = 0.7307692307692308, 0.7307692307692307
    assert first > second
    assert ranks_by_dataset([[first, second, 0.7]]).tolist() == [[1.5, 1.5, 3]]
    assert wins([[first, second]]).tolist() == [0.5, 0.5]
    assert win_matrix([[first, second]])[0, 1] == 0.5
    assert normalised_errors([[second, first, 1.0]]).tolist() == [[0, 0, 1]]
    assert ranks_by_dataset([[1e-17, -1e-17, 0.0, -0.1]]).tolist() == [[2, 2, 2, 4]]
    errors = np.array([[1.0, 2.0, 3.0], [1.0, 1.0 + 1e-15, 3.0]])
    for unit in (1e-18, 1e18):  # of the target
        ranks = ranks_by_dataset(errors * unit, greater_is_better=False)
        assert ranks.tolist() == [[1, 2, 3], [1.5, 1.5, 3]]
        assert wins(errors[:1] * unit, greater_is_better=False).tolist() == [1, 0, 0]
    tiny = np.array([[1e-12, 2e-12, 2e-12 * (1 + 1e-15)]])
    assert ranks_by_dataset(tiny, greater_is_better=False).tolist() == [[1, 2.5, 2.5]]


def test_friedman_and_critical_distance():
    scores = random_scores((14, 4, 0))
    ranking = rank_methods(scores)
    reference = stats.friedmanchisquare(*scores.T)
    assert ranking.statistic == pytest.approx(reference.statistic)
    assert ranking.pvalue == pytest.approx(reference.pvalue)
    assert ranking.n_datasets == 14 and ranking.note == ""
    # Demsar 2006, table 5: q_0.05 = 2.569 for four methods; 14 data sets: CD 1.25.
    assert ranking.critical_distance == pytest.approx(
        2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3
    )


@pytest.mark.parametrize("shape", [(5, 2), (4, 4), (0, 3)])
def test_friedman_too_few_datasets_note(shape):
    ranking = rank_methods(np.random.default_rng(0).normal(size=shape))
    assert np.isnan([ranking.pvalue, ranking.critical_distance]).all()
    assert "no Friedman test" in ranking.note
    assert np.isfinite(ranking.average_ranks).all() == (shape[0] > 0)


def test_friedman_all_tied():
    ranking = rank_methods(np.ones((5, 3)))
    assert (ranking.statistic, ranking.pvalue) == (0, 1)
    np.testing.assert_array_equal(ranking.average_ranks, [2, 2, 2])


@settings(max_examples=25)
@given(tables)
def test_elo_maximises_bradley_terry_likelihood(shape):
    """Against a general optimiser on the log-likelihood itself."""
    prior = 0.5
    matrix = win_matrix(random_scores(shape))
    counted = matrix + prior
    np.fill_diagonal(counted, 0)

    def loss(ratings):
        difference = (ratings[:, None] - ratings) * np.log(10) / 400
        return (counted * np.logaddexp(0, -difference)).sum()

    found = elo_ratings(matrix, prior=prior)
    best = minimize(loss, np.zeros(len(matrix)), method="BFGS", tol=1e-10).x
    assert found.mean() == pytest.approx(1000)
    np.testing.assert_allclose(found - found.mean(), best - best.mean(), atol=0.5)


def test_bootstrap_coverage_and_reproducibility(rng):
    scores = rng.normal(loc=[0, 0.3, 2], size=(40, 3))
    ratings, low, high = bootstrap_elo(scores, n_samples=100)
    np.testing.assert_array_equal(
        [ratings, low, high], bootstrap_elo(scores, n_samples=100)
    )
    assert (low <= ratings).all() and (ratings <= high).all()
    assert low[2] > high[0]
    assert np.all(np.array(bootstrap_elo(scores[:, :1], n_samples=9)) == 1000)
    few = bootstrap_elo(scores[:8], n_samples=100)
    assert (few[2] - few[1]).mean() > (high - low).mean()


@settings(max_examples=50)
@given(st.integers(1, 15), st.integers(0, 10**6))
def test_pareto_front_matches_brute_force(n, seed):
    costs, losses = np.random.default_rng(seed).integers(0, 5, size=(2, n))
    points = list(zip(costs, losses, strict=True))
    slow = [
        not any(a <= c and b <= l and (a < c or b < l) for a, b in points)
        for c, l in points
    ]
    assert pareto_front(costs, losses).tolist() == slow


@pytest.mark.filterwarnings("error")
def test_normalised_errors_known_values():
    assert normalised_errors([[2.0, 2.0, 2.0]]).tolist() == [[0, 0, 0]]
    assert normalised_errors([[0.0, 1.0, 4.0], [3.0, 1.0, 2.0]]).tolist() == [
        [0, 1, 1],
        [1, 0, 1],
    ]
    errors = normalised_errors([[1.0, 9.0, np.nan, np.nan, np.nan], [np.nan] * 5])
    assert errors.tolist() == [[0, 1, 1, 1, 1], [1] * 5]

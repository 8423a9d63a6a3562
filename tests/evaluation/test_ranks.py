import numpy as np
import pytest
from scipy import stats

from adakern.evaluation import rank_methods

SCORES = np.array(
    [
        [0.90, 0.85, 0.80, 0.70],
        [0.80, 0.81, 0.70, 0.60],
        [0.95, 0.90, 0.91, 0.93],
        [0.70, 0.60, 0.65, 0.50],
        [0.88, 0.88, 0.80, 0.75],
        [0.77, 0.70, 0.72, 0.60],
    ]
)


def test_ranks_by_hand():
    ranking = rank_methods([[0.9, 0.8, 0.8], [0.7, 0.9, 0.8]])
    np.testing.assert_allclose(ranking.average_ranks, [2, 1.75, 2.25])
    losses = rank_methods([[0.9, 0.8, 0.8]], greater_is_better=False)
    np.testing.assert_allclose(losses.average_ranks, [3, 1.5, 1.5])


def test_friedman_is_scipys():
    ranking = rank_methods(SCORES)
    reference = stats.friedmanchisquare(*SCORES.T)
    assert ranking.statistic == pytest.approx(reference.statistic)
    assert ranking.pvalue == pytest.approx(reference.pvalue)
    assert ranking.n_datasets == 6 and ranking.note == ""


def test_critical_distance_is_demsars():
    """Demsar 2006, table 5: q_0.05 = 2.569 for four methods; 14 data sets: CD 1.25."""
    scores = np.random.default_rng(0).normal(size=(14, 4))
    distance = rank_methods(scores).critical_distance
    assert distance == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)
    assert distance == pytest.approx(1.25, abs=0.01)


def test_the_distance_parts_the_methods_that_nemenyis_test_parts():
    scikit_posthocs = pytest.importorskip("scikit_posthocs")
    scores = np.vstack([SCORES] * 3)
    ranking = rank_methods(scores)
    pvalues = scikit_posthocs.posthoc_nemenyi_friedman(scores).to_numpy()
    gaps = np.abs(np.subtract.outer(ranking.average_ranks, ranking.average_ranks))
    np.testing.assert_array_equal(gaps > ranking.critical_distance, pvalues < 0.05)
    assert (pvalues < 0.05).any() and (pvalues[np.triu_indices(4, 1)] >= 0.05).any()


def test_a_data_set_that_lacks_a_method_is_left_out_and_named():
    holed = SCORES.copy()
    holed[1, 2] = np.nan
    ranking = rank_methods(holed)
    whole = rank_methods(np.delete(SCORES, 1, axis=0))
    np.testing.assert_array_equal(ranking.average_ranks, whole.average_ranks)
    assert ranking.pvalue == whole.pvalue
    assert "left out" in ranking.note and "1" in ranking.note


@pytest.mark.parametrize("shape", [(5, 2), (1, 4), (0, 3)])
def test_too_little_for_friedman_is_said(shape):
    ranking = rank_methods(np.random.default_rng(0).normal(size=shape))
    assert np.isnan([ranking.pvalue, ranking.critical_distance]).all()
    assert "no Friedman test" in ranking.note
    assert np.isfinite(ranking.average_ranks).all() == (shape[0] > 0)


def test_all_tied_is_no_difference():
    ranking = rank_methods(np.ones((4, 3)))
    assert (ranking.statistic, ranking.pvalue) == (0, 1)
    np.testing.assert_array_equal(ranking.average_ranks, [2, 2, 2])


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match=r"\(data sets, methods\)"):
        rank_methods([1.0, 2.0])
    with pytest.raises(ValueError, match="alpha=0"):
        rank_methods(SCORES, alpha=0)

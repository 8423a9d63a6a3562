"""Methods ranked over several data sets: Friedman's test and Nemenyi's distance."""

from typing import NamedTuple

import numpy as np
from scipy import stats

__all__ = ["Ranking", "rank_methods"]


class Ranking(NamedTuple):
    """Average ranks of k methods and what follows; see :func:`rank_methods`."""

    average_ranks: np.ndarray
    n_datasets: int
    statistic: float
    pvalue: float
    critical_distance: float
    note: str


def rank_methods(scores, *, greater_is_better=True, alpha=0.05):
    """Average ranks over data sets, Friedman's test and Nemenyi's critical distance.

    Two methods differ at the level `alpha` if Friedman's test rejects and their average
    ranks lie further apart than ``q_alpha sqrt(k (k + 1) / (6 N))``, with k methods, N
    data sets and the studentised range statistic q divided by sqrt(2).

    Parameters
    ----------
    scores : array-like of shape (N, k)
        One row a data set, one column a method. A data set with a NaN (a method without
        a result there) is left out, and `note` says so.
    greater_is_better : bool, default=True
        Whether a greater score is the better one. Rank 1 is the best; ties share their
        average rank.
    alpha : float, default=0.05
        Significance level, in (0, 1).

    Returns
    -------
    Ranking
        `average_ranks` of shape (k,), NaN without a complete data set. With fewer than
        three methods or two complete data sets there is no Friedman test: `statistic`,
        `pvalue` and `critical_distance` are NaN and `note` says why. If all methods tie
        on every data set the p-value is 1.

    Raises
    ------
    ValueError
        If `scores` is not two-dimensional or `alpha` is out of range.

    References
    ----------
    J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
    2006.

    Examples
    --------
    >>> from adakern.evaluation import rank_methods
    >>> ranking = rank_methods([[0.9, 0.8, 0.7], [0.8, 0.6, 0.7], [0.95, 0.9, 0.85]])
    >>> ranking.average_ranks.round(2), round(ranking.critical_distance, 2)
    (array([1.  , 2.33, 2.67]), 1.91)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha} must lie strictly between 0 and 1.")
    scores = np.asarray(scores, float)
    if scores.ndim != 2:
        raise ValueError(
            f"scores must have the shape (data sets, methods); got {scores.shape}."
        )
    complete = scores[np.isfinite(scores).all(axis=1)]
    left_out = len(scores) - len(complete)
    notes = [f"data sets left out, lacking a method: {left_out}"] if left_out else []
    n, k = complete.shape
    statistic = pvalue = distance = np.nan
    average = np.full(k, np.nan)
    if n:
        ranks = stats.rankdata(-complete if greater_is_better else complete, axis=1)
        average = ranks.mean(axis=0)
    if k < 3 or n < 2:
        notes.append(
            "no Friedman test: it needs three methods and two data sets, "
            f"there are {k} and {n}"
        )
    else:
        statistic, pvalue = 0.0, 1.0
        if np.ptp(ranks, axis=1).any():
            statistic, pvalue = map(float, stats.friedmanchisquare(*ranks.T))
        q = stats.studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2)
        distance = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    return Ranking(average, n, statistic, pvalue, distance, "; ".join(notes))

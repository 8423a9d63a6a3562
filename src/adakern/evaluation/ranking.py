"""Ranks of methods over data sets, with ties and missing scores (ranked last)."""

from typing import NamedTuple

import numpy as np
from scipy import stats

__all__ = [
    "FEWEST",
    "TIE",
    "Ranking",
    "bootstrap_elo",
    "elo_ratings",
    "mean_ranks",
    "normalised_errors",
    "pareto_front",
    "rank_methods",
    "ranks_by_dataset",
    "win_matrix",
    "wins",
]

#: Relative difference below which scores are tied: means of the same numbers in another
#: order differ in the last digits.
TIE = 1e-9

#: Minimum number of repeats or data sets for a test.
FEWEST = 5
#: Minimum number of data sets of a test over data sets: the smallest two-sided p-value
#: of Wilcoxon's signed-rank test of n pairs is 2 / 2^n, 0.0625 for five.
FEWEST_SETS = 6

#: Significance level of all tests.
ALPHA = 0.05

#: Mean of Elo ratings.
ELO_CENTRE = 1000.0


class Ranking(NamedTuple):
    """Average ranks of k methods and their tests; see :func:`rank_methods`."""

    average_ranks: np.ndarray
    n_datasets: int
    statistic: float
    pvalue: float
    critical_distance: float
    note: str


def are_tied(a, b, unit=1.0):
    """Whether scores are equal up to rounding.

    ``unit`` is the size of the quantities from which they are computed: 1 for an R2,
    which is 1 minus a number close to 1; for errors, the size of other errors in the
    same units, which can be 1e-18.
    """
    rounding = TIE * np.abs(b) + 2 * np.finfo(float).eps * unit
    with np.errstate(invalid="ignore"):
        near = np.abs(np.subtract(a, b)) <= rounding
    return np.equal(a, b) | (near & np.isfinite(rounding))


def _as_losses(scores, greater_is_better):
    """Losses with a row per data set and near ties made equal; inf for failed runs."""
    scores = np.asarray(scores, float)
    if scores.ndim != 2:
        raise ValueError(
            f"scores must have the shape (data sets, methods); got {scores.shape}."
        )
    losses = np.where(
        np.isfinite(scores), -scores if greater_is_better else scores, np.inf
    )
    order = np.argsort(losses, axis=1)
    rising = np.take_along_axis(losses, order, axis=1)
    unit = 1.0
    if not greater_is_better:
        unit = np.where(np.isfinite(losses), np.abs(losses), 0.0).max(axis=1, initial=0)
    for k in range(1, losses.shape[1]):
        tied = are_tied(rising[:, k], rising[:, k - 1], unit)
        rising[tied, k] = rising[tied, k - 1]
    np.put_along_axis(losses, order, rising, axis=1)
    return losses


def ranks_by_dataset(scores, *, greater_is_better=True):
    """Rank the methods on each data set.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        Scores; NaN if a method has no result.
    greater_is_better : bool, default=True

    Returns
    -------
    ndarray of shape (n_datasets, n_methods)
        Ranks from 1, the best. Ties share their mean rank; methods without a result
        share the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.evaluation import ranks_by_dataset
    >>> ranks_by_dataset([[0.9, 0.8, 0.7], [0.9, 0.9 + 1e-16, np.nan]])
    array([[1. , 2. , 3. ],
           [1.5, 1.5, 3. ]])
    """
    losses = _as_losses(scores, greater_is_better)
    ranks = stats.rankdata(losses, axis=1) if losses.size else losses
    ranks[np.isinf(losses)] = losses.shape[1]
    return ranks


def mean_ranks(scores, *, greater_is_better=True):
    """Average the ranks of the methods over data sets.

    Parameters
    ----------
    scores, greater_is_better
        As for :func:`ranks_by_dataset`.

    Returns
    -------
    ndarray of shape (n_methods,)

    Examples
    --------
    >>> from adakern.evaluation import mean_ranks
    >>> mean_ranks([[0.9, 0.8, 0.7], [0.9, 0.9, float("nan")]])
    array([1.25, 1.75, 3.  ])
    """
    return ranks_by_dataset(scores, greater_is_better=greater_is_better).mean(axis=0)


def rank_methods(scores, *, greater_is_better=True):
    """Average ranks over data sets, Friedman's test and Nemenyi's critical distance.

    Two methods differ at the 5 % level if Friedman's test rejects and their average
    ranks differ by more than ``q sqrt(k (k + 1) / (6 N))``, with k methods, N data
    sets and the 95 % quantile q of the studentised range statistic divided by sqrt(2).

    Parameters
    ----------
    scores, greater_is_better
        As for :func:`ranks_by_dataset`.

    Returns
    -------
    Ranking
        `average_ranks` of shape (k,), NaN without data sets. With fewer than three
        methods or five data sets the other numbers are NaN and `note` gives the reason.
        If all methods tie, the p-value is 1.

    References
    ----------
    J. Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
    2006.

    Examples
    --------
    >>> from adakern.evaluation import rank_methods
    >>> ranking = rank_methods([[0.9, 0.8, 0.7], [0.8, 0.6, 0.7], [0.9, 0.8, 0.7]] * 2)
    >>> ranking.average_ranks.round(2), round(ranking.critical_distance, 2)
    (array([1.  , 2.33, 2.67]), 1.35)
    """
    ranks = ranks_by_dataset(scores, greater_is_better=greater_is_better)
    n, k = ranks.shape
    failed = int((~np.isfinite(np.asarray(scores, float))).sum())
    notes = [f"cells without a result, ranked last: {failed}"] if failed else []
    statistic = pvalue = distance = np.nan
    if k < 3 or n < FEWEST:
        notes.append(
            f"no Friedman test: it needs three methods and {FEWEST} data sets, "
            f"there are {k} and {n}"
        )
    else:
        statistic, pvalue = 0.0, 1.0
        if np.ptp(ranks, axis=1).any():
            statistic, pvalue = map(float, stats.friedmanchisquare(*ranks.T))
        q = stats.studentized_range.ppf(1 - ALPHA, k, np.inf) / np.sqrt(2)
        distance = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    average = ranks.mean(axis=0) if n else np.full(k, np.nan)
    return Ranking(average, n, statistic, pvalue, distance, "; ".join(notes))


def wins(scores, *, greater_is_better=True):
    """Count the data sets on which each method is the best; ties share a win.

    Parameters
    ----------
    scores, greater_is_better
        As for :func:`ranks_by_dataset`.

    Returns
    -------
    ndarray of shape (n_methods,)
        Counts, which sum to the number of data sets with results.

    Examples
    --------
    >>> from adakern.evaluation import wins
    >>> wins([[0.9, 0.8, 0.9], [0.7, 0.8, 0.6]])
    array([0.5, 1. , 0.5])
    """
    losses = _as_losses(scores, greater_is_better)
    best = losses.min(axis=1, keepdims=True)
    at_best = (losses == best) & np.isfinite(best)
    return (at_best / np.maximum(at_best.sum(axis=1, keepdims=True), 1)).sum(axis=0)


def normalised_errors(errors):
    """Scale errors to 0 (best method of a data set) to 1 (median or worse).

    Parameters
    ----------
    errors : array-like of shape (n_datasets, n_methods)
        Errors; NaN, a failed run, counts as 1 and is excluded from the median.

    Returns
    -------
    ndarray of shape (n_datasets, n_methods)
        Normalised errors, all 0 if all methods are equal.

    Examples
    --------
    >>> from adakern.evaluation import normalised_errors
    >>> normalised_errors([[1.0, 2.0, 3.0, 9.0, 1.5]])
    array([[0. , 1. , 1. , 1. , 0.5]])
    """
    losses = _as_losses(errors, greater_is_better=False)
    best = losses.min(axis=1, keepdims=True)
    median = np.ma.median(np.ma.masked_invalid(losses), axis=1, keepdims=True).filled(
        np.inf
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = (losses - best) / (median - best)
    relative = np.where(losses == best, 0.0, np.nan_to_num(relative, nan=1.0))
    return np.where(np.isinf(losses), 1.0, np.clip(relative, 0.0, 1.0))


def win_matrix(scores, *, greater_is_better=True, weights=None):
    """Weighted number of wins of the row's method over the column's; ties are 1/2."""
    losses = _as_losses(scores, greater_is_better)
    first = losses[:, :, None]
    second = losses[:, None, :]
    outcomes = (first < second) + 0.5 * (first == second)
    counts = np.ones(len(losses)) if weights is None else np.asarray(weights, float)
    matrix = np.tensordot(counts, outcomes, axes=1)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def elo_ratings(matrix, *, prior=0.5, tol=1e-9, max_iter=10_000):
    """Maximum likelihood strengths of the Bradley-Terry model, on the scale of Elo.

    The probability that i beats j is ``1 / (1 + 10^((r_j - r_i) / 400))``. Solved by
    Hunter's minorisation: ``p_i <- wins_i / sum_j n_ij / (p_i + p_j)``.

    Parameters
    ----------
    matrix : array-like of shape (n_methods, n_methods)
        Number of wins of the row's method over the column's.
    prior : float, default=0.5
        Number of wins added to every pair both ways, so that all ratings are finite.
    tol : float, default=1e-9
        Relative change of the strengths below which the iterations stop.
    max_iter : int, default=10000

    Returns
    -------
    ndarray of shape (n_methods,)
        Ratings with mean 1000. A difference of 400 corresponds to odds of ten to one.

    References
    ----------
    D. R. Hunter, MM algorithms for generalized Bradley-Terry models, Annals of
    Statistics 32, 2004.

    Examples
    --------
    >>> from adakern.evaluation import elo_ratings
    >>> elo_ratings([[0, 9.5], [0.5, 0]]).round(1)
    array([1200.,  800.])
    """
    wins_of = np.asarray(matrix, float) + prior
    np.fill_diagonal(wins_of, 0.0)
    played = wins_of + wins_of.T
    total = wins_of.sum(axis=1)
    strength = np.ones(len(wins_of))
    for _ in range(max_iter if len(strength) > 1 else 0):
        new = total / (played / (strength[:, None] + strength)).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        change = np.abs(new / strength - 1).max()
        strength = new
        if change <= tol:
            break
    return ELO_CENTRE + 400.0 * np.log10(strength)


def bootstrap_elo(
    scores, *, greater_is_better=True, n_samples=200, coverage=0.95, random_state=0
):
    """Elo ratings with intervals by a bootstrap over the data sets.

    Parameters
    ----------
    scores, greater_is_better
        As for :func:`ranks_by_dataset`.
    n_samples : int, default=200
        Number of bootstrap samples.
    coverage : float, default=0.95
        Coverage of the percentile intervals.
    random_state : int, default=0
        Seed of the bootstrap.

    Returns
    -------
    ratings, low, high : ndarrays of shape (n_methods,)

    Examples
    --------
    >>> from adakern.evaluation import bootstrap_elo
    >>> scores = [[0.9, 0.8], [0.7, 0.6], [0.8, 0.9], [0.9, 0.7]]
    >>> ratings, low, high = bootstrap_elo(scores)
    >>> bool((low <= ratings).all() and (ratings <= high).all())
    True
    """
    scores = np.asarray(scores, float)
    rng = np.random.default_rng(random_state)
    n = len(scores)
    counts = [
        np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(n_samples)
    ]

    def rated(weights, tol):
        matrix = win_matrix(
            scores, greater_is_better=greater_is_better, weights=weights
        )
        return elo_ratings(matrix, tol=tol)

    tail = 50 * (1 - coverage)
    drawn = [rated(weights, 1e-7) for weights in counts]
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0)
    return rated(None, 1e-9), low, high


def pareto_front(costs, losses):
    """Find the methods that no other method beats in both respects.

    Parameters
    ----------
    costs, losses : array-like of shape (n,)
        Smaller is better; NaN is never on the front.

    Returns
    -------
    bool ndarray of shape (n,)

    Examples
    --------
    >>> from adakern.evaluation import pareto_front
    >>> pareto_front([1, 2, 3], [3, 1, 2])
    array([ True,  True, False])
    """
    costs, losses = np.asarray(costs, float), np.asarray(losses, float)
    if costs.ndim != 1 or costs.shape != losses.shape:
        raise ValueError(
            "costs and losses must be one-dimensional arrays of equal length; got "
            f"shapes {costs.shape} and {losses.shape}."
        )
    as_good = (costs[:, None] <= costs) & (losses[:, None] <= losses)
    better = as_good & ((costs[:, None] < costs) | (losses[:, None] < losses))
    return ~better.any(axis=0) & np.isfinite(costs) & np.isfinite(losses)

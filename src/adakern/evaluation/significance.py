"""Paired tests of methods over repeats and over data sets.

A difference on a data set is called significant if Nadeau and Bengio's corrected t-test
rejects at 5 % after Holm's correction over all pairs of methods on that data set. With
fewer than five pairs of scores (six data sets), or if all differences are equal,
nothing is tested.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

from adakern.evaluation.ranking import ALPHA, FEWEST, FEWEST_SETS, are_tied

__all__ = [
    "Comparison",
    "SetComparison",
    "TTest",
    "bayesian_signed_rank",
    "compare_methods",
    "compare_over_sets",
    "corrected_ttest",
    "holm_correction",
    "paired_ttest",
]


class TTest(NamedTuple):
    """Two-sided t-test: t, p-value, degrees of freedom, mean of a - b."""

    statistic: float
    pvalue: float
    df: int
    difference: float


class Comparison(NamedTuple):
    """Comparison of two methods on a data set; see :func:`compare_methods`."""

    method_a: str
    method_b: str
    n: int
    mean_a: float
    mean_b: float
    difference: float
    pvalue: float
    corrected_pvalue: float
    holm_pvalue: float
    corrected_holm_pvalue: float
    significant: bool
    winner: str
    note: str


class SetComparison(NamedTuple):
    """Comparison of two methods over data sets; see :func:`compare_over_sets`."""

    n_datasets: int
    better: int
    worse: int
    tied: int
    difference: float
    pvalue: float
    p_better: float
    p_equal: float
    p_worse: float


def paired_ttest(a, b):
    """Two-sided paired t-test of the scores of two methods on the same splits.

    The test of the papers. It finds too many differences, since the splits of repeated
    holdout overlap; :func:`corrected_ttest` corrects for that.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Scores of the two methods on the same n >= 2 repeats; finite.

    Returns
    -------
    TTest
        With `df` = n - 1. Statistic and p-value are NaN if all differences are equal.

    Examples
    --------
    >>> from adakern.evaluation import paired_ttest
    >>> test = paired_ttest([0.9, 0.8, 0.85, 0.95], [0.8, 0.75, 0.8, 0.8])
    >>> round(test.statistic, 3), round(test.pvalue, 3)
    (3.656, 0.035)
    """
    return _ttest(_differences(a, b), 0.0)


def corrected_ttest(a, b, n_train, n_test):
    """Nadeau and Bengio's corrected resampled t-test, two-sided.

    ``t = mean(d) / sqrt((1/n + n_test/n_train) var(d))`` with the differences d over n
    repeats, their variance with divisor n - 1, and n - 1 degrees of freedom. The term
    n_test/n_train accounts for overlapping training sets.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Scores of the two methods on the same n >= 2 repeats; finite.
    n_train, n_test : float or array-like of shape (n,)
        Numbers of training and test rows, positive; the mean ratio is used if they
        differ.

    Returns
    -------
    TTest
        Equal differences are treated as in :func:`paired_ttest`.

    References
    ----------
    C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning
    52, 2003.

    Examples
    --------
    >>> from adakern.evaluation import corrected_ttest
    >>> test = corrected_ttest([0.9, 0.8, 0.85, 0.95], [0.8, 0.75, 0.8, 0.8], 60, 40)
    >>> round(test.statistic, 3), round(test.pvalue, 3)
    (1.909, 0.152)
    """
    n_train, n_test = np.asarray(n_train, float), np.asarray(n_test, float)
    if not (np.all(n_train > 0) and np.all(n_test > 0)):
        raise ValueError(f"n_train={n_train} and n_test={n_test} must be positive.")
    difference = _differences(a, b)
    for sizes in (n_train, n_test):
        if sizes.ndim and sizes.shape != difference.shape:
            raise ValueError(
                "n_train and n_test must be numbers, or arrays with a number for each "
                f"of the {len(difference)} repeats; got the shape {sizes.shape}."
            )
    return _ttest(difference, np.mean(n_test / n_train))


def _paired(a, b, finite=True):
    """Scores of two methods as arrays of the same length."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.ndim != 1 or a.shape != b.shape or (finite and not np.isfinite([a, b]).all()):
        raise ValueError(
            "Compared scores must be one-dimensional arrays of equal length without "
            f"NaN or infinity (drop failed runs); got shapes {a.shape} and {b.shape}."
        )
    return a, b


def _differences(a, b):
    """a - b, with differences that are equal up to rounding made exactly equal."""
    a, b = _paired(a, b)
    if len(a) < 2:
        raise ValueError(f"A paired test needs at least two repeats; got {len(a)}.")
    # Two differences of scores in single precision: each of the four has an error of
    # up to half an eps.
    rounding = 2 * np.finfo(np.float32).eps * np.abs([a, b]).max()
    difference = a - b
    if np.ptp(difference) <= rounding:
        mean = difference.mean()
        difference = np.full_like(a, mean if abs(mean) > rounding else 0.0)
    return difference


def _ttest(difference, overlap):
    n = len(difference)
    mean = float(difference.mean())
    if np.all(difference == difference[0]):
        return TTest(np.nan, np.nan, n - 1, mean)
    statistic = float(mean / np.sqrt((1 / n + overlap) * difference.var(ddof=1)))
    return TTest(statistic, float(2 * stats.t.sf(abs(statistic), n - 1)), n - 1, mean)


def holm_correction(pvalues):
    """Holm's step-down adjustment of the p-values of one family of tests.

    For sorted p-values, ``p'_(i) = max_{j <= i} min(1, (m - j + 1) p_(j))``. Rejecting
    if p' <= alpha controls the family-wise error rate at alpha.

    Parameters
    ----------
    pvalues : array-like of shape (m,)
        In [0, 1]. NaN, a test that was not possible, stays NaN and is not counted in
        m.

    Returns
    -------
    ndarray of shape (m,)

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J.
    Statistics 6, 1979.

    Examples
    --------
    >>> from adakern.evaluation import holm_correction
    >>> holm_correction([0.01, 0.04, 0.03, 0.005])
    array([0.03, 0.06, 0.06, 0.02])
    """
    pvalues = np.asarray(pvalues, float)
    if np.any((pvalues < 0) | (pvalues > 1)):
        raise ValueError(f"p-values must lie in [0, 1]; got {pvalues}.")
    made = (~np.isnan(pvalues)).sum()
    order = np.argsort(pvalues, kind="stable")[:made]  # NaN is last
    adjusted = np.full_like(pvalues, np.nan)
    stepped = np.minimum(1, np.arange(made, 0, -1) * pvalues[order])
    adjusted[order] = np.maximum.accumulate(stepped)
    return adjusted


def compare_methods(scores, *, n_train=None, n_test=None, greater_is_better=True):
    """Compare every pair of methods over the repeats of one data set.

    Parameters
    ----------
    scores : mapping of str to array-like of shape (n,), or pandas DataFrame
        Scores of each method (a column of the frame) on the same n repeats. NaN is a
        repeat without a result: a pair is compared over the repeats that both methods
        finished.
    n_train, n_test : float or array-like of shape (n,), default=None
        Numbers of training and test rows for the corrected test, whose p-values are
        otherwise NaN.
    greater_is_better : bool, default=True
        Whether greater scores are better.

    Returns
    -------
    list of Comparison
        In the order of ``itertools.combinations``. `pvalue` is that of the paired
        t-test, `corrected_pvalue` that of Nadeau and Bengio's; `holm_pvalue` and
        `corrected_holm_pvalue` are adjusted over all pairs of this call. `significant`
        is whether the latter (without sizes, the former) is at most 0.05; `winner` is
        then the better method, otherwise "". If no test is possible (fewer than five
        common repeats, or equal differences), the p-values are NaN and `note` gives the
        reason.

    Examples
    --------
    >>> from adakern.evaluation import compare_methods
    >>> (pair,) = compare_methods(
    ...     {"svm": [0.80, 0.82, 0.81, 0.8, 0.8], "dank": [0.90, 0.91, 0.92, 0.9, 0.9]},
    ...     n_train=60, n_test=40,
    ... )
    >>> pair.winner, pair.n, pair.significant
    ('dank', 5, True)
    """
    scores = {name: np.asarray(column, float) for name, column in scores.items()}
    lengths = {name: len(column) for name, column in scores.items()}
    if len(scores) < 2 or len(set(lengths.values())) > 1:
        raise ValueError(
            "scores must have at least two methods with the same number of repeats; "
            f"got {lengths}."
        )
    (n_repeats,) = set(lengths.values())
    sizes = None
    if n_train is not None and n_test is not None:
        sizes = [
            np.broadcast_to(np.asarray(n, float), n_repeats) for n in (n_train, n_test)
        ]
    pairs = list(combinations(scores, 2))
    tests = [_test_pair(scores[a], scores[b], sizes) for a, b in pairs]
    holm = holm_correction([test["pvalue"] for test in tests])
    corrected = holm_correction([test["corrected_pvalue"] for test in tests])
    comparisons = []
    for (a, b), test, p_holm, p_corrected in zip(
        pairs, tests, holm, corrected, strict=True
    ):
        significant = bool((p_holm if sizes is None else p_corrected) <= ALPHA)
        a_is_better = (test["difference"] > 0) == greater_is_better
        comparisons.append(
            Comparison(
                method_a=a,
                method_b=b,
                **test,
                holm_pvalue=float(p_holm),
                corrected_holm_pvalue=float(p_corrected),
                significant=significant,
                winner=(a if a_is_better else b) if significant else "",
            )
        )
    return comparisons


def _test_pair(a, b, sizes):
    common = np.isfinite(a) & np.isfinite(b)
    left_out = int((np.isfinite(a) != np.isfinite(b)).sum())
    a, b, n = a[common], b[common], int(common.sum())
    pvalue = corrected = np.nan
    notes = [f"repeats finished by one method only: {left_out}"] if left_out else []
    if n < FEWEST:
        notes.append(f"not tested: {n} common repeats, {FEWEST} are needed")
    else:
        pvalue = paired_ttest(a, b).pvalue
        if np.isnan(pvalue):
            notes.append("not tested: all differences equal")
        elif sizes is not None:
            n_train, n_test = (size[common] for size in sizes)
            corrected = corrected_ttest(a, b, n_train, n_test).pvalue
    return {
        "n": n,
        "mean_a": _mean(a),
        "mean_b": _mean(b),
        "difference": _mean(a - b),
        "pvalue": pvalue,
        "corrected_pvalue": corrected,
        "note": "; ".join(notes),
    }


def _mean(values):
    return float(values.mean()) if len(values) else np.nan


def bayesian_signed_rank(a, b, rope=0.01, *, prior=0.5, n_samples=5000, random_state=0):
    """Bayesian signed-rank test of two methods over data sets.

    The weights of the data sets, to which one without a difference is added, are drawn
    from a Dirichlet distribution. Each draw counts for the outcome (smaller,
    practically equal, greater) of most pairs of data sets.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Scores of two methods on the same data sets; finite.
    rope : float, default=0.01
        Region of practical equivalence: largest difference that counts as equal.
    prior : float, default=0.5
        Weight of the added data set, positive.
    n_samples, random_state : int
        Number of draws from the posterior, and their seed.

    Returns
    -------
    p_smaller, p_equal, p_greater : float
        Posterior probabilities, which sum to 1.

    References
    ----------
    A. Benavoli et al., Time for a change, JMLR 18, 2017.

    Examples
    --------
    >>> from adakern.evaluation import bayesian_signed_rank
    >>> bayesian_signed_rank([0.8] * 8, [0.801] * 8)
    (0.0, 1.0, 0.0)
    """
    if not (rope >= 0 and prior > 0 and n_samples > 0):
        raise ValueError(
            f"rope={rope!r} must not be negative, and prior={prior!r} and "
            f"n_samples={n_samples!r} must be positive."
        )
    difference = np.subtract(*_paired(a, b))
    with_prior = np.concatenate([[0.0], difference])
    # Rounded, since 0.81 - 0.8 is more than 0.01.
    pairs = ((with_prior[:, None] + with_prior) / 2).round(12)
    rng = np.random.default_rng(random_state)
    weights = rng.dirichlet([prior, *np.ones(len(difference))], n_samples)
    smaller, greater = (
        ((weights @ outcome) * weights).sum(axis=1)
        for outcome in (pairs < -rope, pairs > rope)
    )
    shares = np.stack([smaller, 1 - smaller - greater, greater])
    return tuple(
        map(float, np.bincount(shares.argmax(axis=0), minlength=3) / n_samples)
    )


def compare_over_sets(a, b, *, greater_is_better=True, rope=0.01):
    """Compare two methods over data sets, each of which is one pair of scores.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Scores; data sets without one of them (NaN) are left out. Scores in the units of
        different targets have to be made comparable first, for example by relative
        differences from a reference.
    greater_is_better : bool, default=True
    rope : float, default=0.01
        Region of practical equivalence of :func:`bayesian_signed_rank`.

    Returns
    -------
    SetComparison
        Number of data sets on which a is `better`, `worse` and `tied` (up to rounding);
        mean `difference` a - b; two-sided `pvalue` of Wilcoxon's signed-rank test, NaN
        if all are tied; posterior probabilities that a is better than b, practically
        equal to it, or worse. With fewer than six data sets these are NaN, since no
        p-value of n pairs is below ``2 / 2**n``.

    Examples
    --------
    >>> from adakern.evaluation import compare_over_sets
    >>> comparison = compare_over_sets(
    ...     [0.9, 0.8, 0.7, 0.9, 0.8, 0.6], [0.8, 0.7, 0.7, 0.7, 0.6, 0.5]
    ... )
    >>> comparison[:4], round(comparison.p_better, 2)
    ((6, 5, 0, 1), 0.99)
    """
    a, b = _paired(a, b, finite=False)
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    unit = 1.0 if greater_is_better else np.abs([a, b]).max(initial=0)
    difference = np.where(are_tied(a, b, unit), 0.0, a - b)
    gain = difference if greater_is_better else -difference
    pvalue = worse = equal = better = np.nan
    if len(gain) >= FEWEST_SETS:
        worse, equal, better = bayesian_signed_rank(gain, np.zeros_like(gain), rope)
        if gain.any():  # differences that are equal up to rounding share a rank
            relative = difference / np.abs([a, b]).max()
            pvalue = float(stats.wilcoxon(relative.round(12)).pvalue)
    return SetComparison(
        n_datasets=len(gain),
        better=int((gain > 0).sum()),
        worse=int((gain < 0).sum()),
        tied=int((gain == 0).sum()),
        difference=_mean(difference),
        pvalue=pvalue,
        p_better=better,
        p_equal=equal,
        p_worse=worse,
    )

"""Is one method better than another? Paired tests over repeated splits."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

__all__ = [
    "Comparison",
    "TTest",
    "compare_methods",
    "corrected_ttest",
    "holm_correction",
    "paired_ttest",
]


class TTest(NamedTuple):
    """A two-sided t-test: t, p-value, degrees of freedom, mean of a - b."""

    statistic: float
    pvalue: float
    df: int
    difference: float


class Comparison(NamedTuple):
    """One pair of methods on one data set; see :func:`compare_methods`."""

    method_a: str
    method_b: str
    n: int
    mean_a: float
    mean_b: float
    difference: float
    pvalue: float
    significant: bool
    corrected_pvalue: float
    corrected_significant: bool
    holm_pvalue: float
    holm_significant: bool
    corrected_holm_pvalue: float
    winner: str
    note: str


def paired_ttest(a, b):
    """Two-sided paired t-test of the scores of two methods on the same splits.

    This is the test of the papers. The splits of repeated holdout overlap, so the
    differences are not independent and the test finds too many differences:
    :func:`corrected_ttest` allows for that.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Scores of the two methods on the same n >= 2 repeats; finite.

    Returns
    -------
    TTest
        With `df` = n - 1. Differences within rounding (8 units in the last place) count
        as zero. If all differences are zero, the statistic is 0 and the p-value 1; if
        all are equal but not zero, the statistic is infinite and the p-value 0.

    Raises
    ------
    ValueError
        If the lengths differ, there are fewer than two pairs, or a score is not finite.

    Examples
    --------
    >>> from adakern.evaluation import paired_ttest
    >>> test = paired_ttest([0.9, 0.8, 0.85, 0.95], [0.8, 0.75, 0.8, 0.8])
    >>> round(test.statistic, 3), round(test.pvalue, 3)
    (3.656, 0.035)
    """
    difference = _differences(a, b)
    return _ttest(difference, 1 / len(difference))


def corrected_ttest(a, b, n_train, n_test):
    """Nadeau and Bengio's corrected resampled t-test, two-sided.

    ``t = mean(d) / sqrt((1/n + n_test/n_train) var(d))`` with the differences d over n
    repeats, their variance with divisor n - 1, and n - 1 degrees of freedom. The added
    n_test/n_train makes up for training sets that overlap from repeat to repeat.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Scores of the two methods on the same n >= 2 repeats; finite.
    n_train, n_test : float or array-like of shape (n,)
        Sizes of the training and test part, positive; the mean of the ratio is used
        where they differ between repeats.

    Returns
    -------
    TTest
        Degenerate differences are treated as in :func:`paired_ttest`.

    Raises
    ------
    ValueError
        As in :func:`paired_ttest`, or if a size is not positive.

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
    difference = _differences(a, b)
    n_train, n_test = np.asarray(n_train, float), np.asarray(n_test, float)
    if not (np.all(n_train > 0) and np.all(n_test > 0)):
        raise ValueError(
            f"n_train={n_train} and n_test={n_test} must be positive numbers of rows."
        )
    return _ttest(difference, 1 / len(difference) + np.mean(n_test / n_train))


def _differences(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(
            "A paired test needs two one-dimensional arrays of one length, with at "
            f"least two repeats; got shapes {a.shape} and {b.shape}."
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError(
            "The scores hold NaN or infinity; leave out the repeats in which one of "
            "the methods failed (compare_methods does)."
        )
    difference = a - b
    rounding = 8 * np.finfo(float).eps * np.maximum(np.abs(a), np.abs(b))
    return np.where(np.abs(difference) <= rounding, 0.0, difference)


def _ttest(difference, variance_factor):
    mean, df = difference.mean(), len(difference) - 1
    scale = np.sqrt(variance_factor * difference.var(ddof=1))
    if np.all(difference == difference[0]):
        # No variance: t is 0/0 or a/0 in the limit. Tested on the values, since the
        # rounding of the mean leaves a tiny variance.
        statistic = 0.0 if difference[0] == 0 else float(np.copysign(np.inf, mean))
    else:
        statistic = float(mean / scale)
    return TTest(statistic, float(2 * stats.t.sf(abs(statistic), df)), df, float(mean))


def holm_correction(pvalues):
    """Holm's step-down adjustment of the p-values of one family of tests.

    Sorted upwards, ``p'_(i) = max_{j <= i} min(1, (m - j + 1) p_(j))``; rejecting where
    p' <= alpha keeps the chance of any false rejection in the family at or below alpha.

    Parameters
    ----------
    pvalues : array-like of shape (m,)
        In [0, 1]; NaN stands for a test that could not be made, stays NaN and does not
        count in m.

    Returns
    -------
    ndarray of shape (m,)

    Raises
    ------
    ValueError
        If a p-value lies outside [0, 1].

    References
    ----------
    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6, 1979.

    Examples
    --------
    >>> from adakern.evaluation import holm_correction
    >>> holm_correction([0.01, 0.04, 0.03, 0.005])
    array([0.03, 0.06, 0.06, 0.02])
    """
    pvalues = np.asarray(pvalues, float)
    made = ~np.isnan(pvalues)
    p = pvalues[made]
    if np.any((p < 0) | (p > 1)):
        raise ValueError(f"p-values must lie in [0, 1]; got {pvalues}.")
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1, np.arange(len(p), 0, -1) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(stepped)
    result = np.full_like(pvalues, np.nan)
    result[made] = adjusted
    return result


def compare_methods(
    scores, *, n_train=None, n_test=None, greater_is_better=True, alpha=0.05
):
    """Compare every pair of methods over the repeats of one data set.

    Parameters
    ----------
    scores : mapping of str to array-like of shape (n,), or pandas DataFrame
        Scores of each method (a column of the frame) on the same n repeats. NaN marks a
        repeat in which the method gave no result: a pair is compared over the repeats
        that both finished.
    n_train, n_test : float or array-like of shape (n,), default=None
        Rows in the training and test part, for the corrected test; without them its
        p-values are NaN.
    greater_is_better : bool, default=True
        Whether a greater score is the better one.
    alpha : float, default=0.05
        Significance level, in (0, 1).

    Returns
    -------
    list of Comparison
        In the order of ``itertools.combinations``. `pvalue` is the paired t-test's,
        `corrected_pvalue` that of Nadeau and Bengio; `holm_pvalue` and
        `corrected_holm_pvalue` adjust them over all pairs of this call. `winner` is the
        better method where `significant` (the paired t-test at `alpha`), else "".
        Where no test can be made the p-values are NaN and `note` says why: fewer than
        two common repeats, or two methods whose scores do not vary from repeat to
        repeat (as on a fixed, published split), which says nothing of their spread.

    Raises
    ------
    ValueError
        If `alpha` is out of range, there are fewer than two methods or their numbers
        of repeats differ.

    Examples
    --------
    >>> from adakern.evaluation import compare_methods
    >>> (pair,) = compare_methods(
    ...     {"svm": [0.80, 0.82, 0.81], "dank": [0.90, 0.91, 0.92]},
    ...     n_train=60, n_test=40,
    ... )
    >>> pair.winner, round(pair.pvalue, 4), round(pair.corrected_pvalue, 4)
    ('dank', 0.0033, 0.0099)
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha={alpha} must lie strictly between 0 and 1.")
    scores = {name: np.asarray(column, float) for name, column in scores.items()}
    lengths = {name: len(column) for name, column in scores.items()}
    if len(scores) < 2 or len(set(lengths.values())) > 1:
        raise ValueError(
            "scores must hold at least two methods with the same number of repeats; "
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
    corrected_holm = holm_correction([test["corrected_pvalue"] for test in tests])
    comparisons = []
    for (a, b), test, p_holm, p_corrected in zip(
        pairs, tests, holm, corrected_holm, strict=True
    ):
        significant = bool(test["pvalue"] <= alpha)  # False where NaN
        a_is_better = (test["difference"] > 0) == greater_is_better
        comparisons.append(
            Comparison(
                method_a=a,
                method_b=b,
                **test,
                significant=significant,
                corrected_significant=bool(test["corrected_pvalue"] <= alpha),
                holm_pvalue=float(p_holm),
                holm_significant=bool(p_holm <= alpha),
                corrected_holm_pvalue=float(p_corrected),
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
    if n < 2:
        notes.append(f"no test: common repeats {n}, needed 2")
    elif np.ptp(a) == 0 and np.ptp(b) == 0:
        notes.append("no test: the scores do not vary over the repeats")
    else:
        pvalue = paired_ttest(a, b).pvalue
        if sizes is not None:
            n_train, n_test = (size[common] for size in sizes)
            corrected = corrected_ttest(a, b, n_train, n_test).pvalue
    return {
        "n": n,
        "mean_a": float(a.mean()) if n else np.nan,
        "mean_b": float(b.mean()) if n else np.nan,
        "difference": float((a - b).mean()) if n else np.nan,
        "pvalue": pvalue,
        "corrected_pvalue": corrected,
        "note": "; ".join(notes),
    }

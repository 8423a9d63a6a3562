import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import gamma

from adakern.evaluation import (
    compare_methods,
    corrected_ttest,
    holm_correction,
    paired_ttest,
)

A = np.array([0.81, 0.83, 0.79, 0.90, 0.85, 0.77, 0.88, 0.84, 0.80, 0.86])
B = np.array([0.80, 0.80, 0.78, 0.85, 0.86, 0.75, 0.84, 0.83, 0.80, 0.81])
pvalues = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def two_sided(t, df):
    """P(|T| >= |t|) by integrating Student's density, written out."""
    scale = gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * gamma(df / 2))
    tail, _ = integrate.quad(
        lambda x: scale * (1 + x * x / df) ** (-(df + 1) / 2), abs(t), np.inf
    )
    return 2 * tail


def test_paired_ttest_is_scipys_and_the_formula():
    test = paired_ttest(A, B)
    reference = stats.ttest_rel(A, B)
    assert test.statistic == pytest.approx(reference.statistic)
    assert test.pvalue == pytest.approx(reference.pvalue)
    assert test.df == 9
    d = A - B
    t = d.mean() / math.sqrt(sum((d - d.mean()) ** 2) / 9 / 10)
    assert test.statistic == pytest.approx(t)
    assert test.pvalue == pytest.approx(two_sided(t, 9))


def test_corrected_ttest_is_the_formula_of_nadeau_and_bengio():
    test = corrected_ttest(A, B, n_train=90, n_test=60)
    d = A - B
    variance = sum((d - d.mean()) ** 2) / 9
    t = d.mean() / math.sqrt((1 / 10 + 60 / 90) * variance)
    assert test.statistic == pytest.approx(t)
    assert test.pvalue == pytest.approx(two_sided(t, 9))
    assert test.pvalue > paired_ttest(A, B).pvalue


def test_sizes_that_differ_count_by_their_mean_ratio():
    n_test = np.array([50, 70] * 5)
    same = corrected_ttest(A, B, n_train=90, n_test=60)
    assert corrected_ttest(A, B, np.full(10, 90), n_test) == pytest.approx(same)


@given(st.permutations(range(10)), st.floats(0.01, 100), st.floats(-5, 5))
def test_tests_do_not_depend_on_order_scale_or_origin(order, scale, shift):
    order = list(order)
    moved = paired_ttest(A[order] * scale + shift, B[order] * scale + shift)
    assert moved.pvalue == pytest.approx(paired_ttest(A, B).pvalue, rel=1e-6)
    swapped = paired_ttest(B, A)
    assert swapped.statistic == -paired_ttest(A, B).statistic


def test_level_is_held_under_the_null():
    """Independent equal methods: 5 % of the paired tests reject, not more."""
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(2000, 2, 10))
    rejected = sum(paired_ttest(a, b).pvalue <= 0.05 for a, b in draws)
    assert stats.binomtest(rejected, 2000, 0.05).pvalue > 0.01


def test_differences_without_variance():
    same = paired_ttest(A, A)
    assert (same.statistic, same.pvalue) == (0, 1)
    assert corrected_ttest(A, A, 50, 50).pvalue == 1
    constant = paired_ttest(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    assert (constant.statistic, constant.pvalue) == (np.inf, 0)
    assert paired_ttest([1.0, 2.0], [2.0, 3.0]).statistic == -np.inf


def test_rounding_is_no_difference():
    noisy = A * (1 + np.finfo(float).eps * np.array([1, 1, 1, 2, 1, 1, 2, 1, 1, 1]))
    assert paired_ttest(A, noisy).pvalue == 1


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0], [2.0], "at least two repeats"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], r"shapes \(2,\) and \(3,\)"),
        ([1.0, np.nan], [1.0, 2.0], "methods failed"),
    ],
)
def test_wrong_scores_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        paired_ttest(a, b)
    with pytest.raises(ValueError, match=message):
        corrected_ttest(a, b, 10, 10)


def test_sizes_must_be_positive():
    with pytest.raises(ValueError, match="n_train"):
        corrected_ttest(A, B, 0, 10)


def test_holm_on_a_worked_example():
    found = holm_correction([0.01, 0.04, 0.03, 0.005])
    np.testing.assert_allclose(found, [0.03, 0.06, 0.06, 0.02])


@given(pvalues, st.sampled_from([0.01, 0.05, 0.2]))
def test_holm_rejects_as_the_step_down_procedure(p, alpha):
    """Holm's own words: go through the sorted p while p_(i) <= alpha / (m - i + 1)."""
    # Away from ties with the level itself, where rounding decides.
    assume(all(abs(q * k - alpha) > 1e-12 for q in p for k in range(1, len(p) + 1)))
    rejected = np.zeros(len(p), bool)
    for step, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] > alpha / (len(p) - step):
            break
        rejected[i] = True
    np.testing.assert_array_equal(holm_correction(p) <= alpha, rejected)


@given(pvalues)
def test_holm_lies_between_none_and_bonferroni(p):
    adjusted = holm_correction(p)
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= np.minimum(1, len(p) * np.array(p)) + 1e-15)


def test_holm_leaves_out_tests_that_were_not_made():
    found = holm_correction([0.02, np.nan, 0.03])
    np.testing.assert_allclose(found, [0.04, np.nan, 0.04])
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        holm_correction([0.5, 1.5])


def test_compare_methods_makes_every_pair_from_arrays_or_a_frame():
    scores = {"a": A, "b": B, "c": A - 0.1}
    pairs = compare_methods(scores, n_train=90, n_test=60)
    assert [(p.method_a, p.method_b) for p in pairs] == list(
        itertools.combinations("abc", 2)
    )
    first = pairs[0]
    assert first.pvalue == paired_ttest(A, B).pvalue
    corrected = corrected_ttest(A, B, 90, 60)
    assert first.corrected_pvalue == pytest.approx(corrected.pvalue)
    assert first.winner == "a" and first.significant
    assert first.mean_a - first.mean_b == pytest.approx(first.difference)
    np.testing.assert_allclose(
        [p.holm_pvalue for p in pairs], holm_correction([p.pvalue for p in pairs])
    )
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(scores)
    assert pairs == compare_methods(frame, n_train=90, n_test=60)


def test_direction_decides_the_winner_only():
    up = compare_methods({"a": A, "b": B})[0]
    down = compare_methods({"a": A, "b": B}, greater_is_better=False)[0]
    assert (up.winner, down.winner) == ("a", "b")
    assert up.pvalue == down.pvalue


def test_no_winner_without_significance():
    pair = compare_methods({"a": A, "b": A + np.tile([0.1, -0.099], 5)})[0]
    assert not pair.significant and pair.winner == ""


def test_failed_repeats_leave_the_common_ones():
    broken = B.copy()
    broken[[2, 7]] = np.nan
    kept = np.isfinite(broken)
    pair = compare_methods({"a": A, "b": broken}, n_train=90, n_test=60)[0]
    assert pair.n == 8
    assert pair.pvalue == paired_ttest(A[kept], B[kept]).pvalue
    corrected = corrected_ttest(A[kept], B[kept], 90, 60)
    assert pair.corrected_pvalue == pytest.approx(corrected.pvalue)
    assert pair.mean_a == pytest.approx(A[kept].mean())
    assert "2" in pair.note


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        ([0.8], [0.9], "common repeats 1"),
        ([0.8, np.nan, 0.7], [np.nan, 0.9, np.nan], "common repeats 0"),
        ([0.8, 0.8, 0.8], [0.9, 0.9, 0.9], "do not vary"),
    ],
)
def test_a_pair_that_cannot_be_tested_says_why(a, b, note):
    pair = compare_methods({"a": a, "b": b}, n_train=10, n_test=10)[0]
    assert np.isnan([pair.pvalue, pair.corrected_pvalue, pair.holm_pvalue]).all()
    assert not pair.significant and pair.winner == ""
    assert note in pair.note


def test_compare_methods_refuses_nonsense():
    with pytest.raises(ValueError, match="alpha=2"):
        compare_methods({"a": A, "b": B}, alpha=2)
    with pytest.raises(ValueError, match="at least two methods"):
        compare_methods({"a": A})
    with pytest.raises(ValueError, match="same number of repeats"):
        compare_methods({"a": A, "b": B[:5]})

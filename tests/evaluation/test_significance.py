import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from adakern.evaluation import bayesian_signed_rank, compare_methods, compare_over_sets
from adakern.evaluation.significance import (
    corrected_ttest,
    holm_correction,
    paired_ttest,
)

A = np.array([0.81, 0.83, 0.79, 0.90, 0.85, 0.77, 0.88, 0.84, 0.80, 0.86])
B = np.array([0.80, 0.80, 0.78, 0.85, 0.86, 0.75, 0.84, 0.83, 0.80, 0.81])
pvalues = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def test_ttests_match_scipy_and_nadeau_bengio():
    paired, reference = paired_ttest(A, B), stats.ttest_rel(A, B)
    assert paired[:3] == pytest.approx((reference.statistic, reference.pvalue, 9))
    test, d = corrected_ttest(A, B, n_train=90, n_test=60), A - B
    t = d.mean() / math.sqrt((1 / 10 + 60 / 90) * sum((d - d.mean()) ** 2) / 9)
    assert test.statistic == pytest.approx(t)
    assert paired.pvalue < test.pvalue == pytest.approx(2 * stats.t(9).cdf(-t))
    of_sizes = corrected_ttest(A, B, np.full(10, 90), np.array([50, 70] * 5))
    assert of_sizes == pytest.approx(test), (
        "sizes that differ count by their mean ratio"
    )


@given(st.permutations(range(10)), st.floats(0.01, 100), st.floats(-5, 5))
def test_invariance_to_order_scale_and_shift(order, scale, shift):
    order = list(order)
    moved = paired_ttest(A[order] * scale + shift, B[order] * scale + shift)
    assert moved.pvalue == pytest.approx(paired_ttest(A, B).pvalue, rel=1e-6)
    assert paired_ttest(B, A).statistic == -paired_ttest(A, B).statistic


@pytest.mark.parametrize(
    "shift",
    [
        0.0,
        0.1,
        0.1 * (1 + np.finfo(float).eps * np.arange(10)),
        1e-12 * A,
        A - np.float32(A - 0.1),
    ],
    ids=[
        "none",
        "equal",
        "equal but for rounding",
        "rounding alone",
        "in single precision",
    ],
)
def test_equal_differences_give_nan(shift):
    """The t-test of them is 0/0 or a/0: once p = 0 and 1e-15 to 1e-45 in print."""
    for test in (paired_ttest(A, A - shift), corrected_ttest(A, A - shift, 60, 40)):
        assert np.isnan([test.statistic, test.pvalue]).all()
        assert test.difference == pytest.approx(np.mean(shift), abs=1e-9)
    (pair,) = compare_methods({"a": A, "b": A - shift}, n_train=60, n_test=40)
    assert pair.note == "not tested: all differences equal"
    assert not pair.significant and pair.winner == ""


@pytest.mark.parametrize(
    ("test", "arguments", "message"),
    [
        (paired_ttest, ([1.0], [2.0]), "at least two repeats"),
        (paired_ttest, (A, B[:3]), r"shapes \(10,\) and \(3,\)"),
        (corrected_ttest, ([1.0, np.nan], [1.0, 2.0], 10, 10), "drop failed runs"),
        (bayesian_signed_rank, ([0.8, np.nan], [0.8, 0.8]), "without NaN"),
        (bayesian_signed_rank, (A, B[:1]), r"shapes \(10,\) and \(1,\)"),
        (compare_over_sets, (A, B[:1]), r"shapes \(10,\) and \(1,\)"),
        (corrected_ttest, (A, B, 0, 10), "n_train"),
        (
            corrected_ttest,
            (A, B, [90, 80], 10),
            r"the 10 repeats; got the shape \(2,\)",
        ),
        (bayesian_signed_rank, (A, B, -0.1), "rope=-0.1 must not be negative"),
        (bayesian_signed_rank, (A, B, np.nan), "rope=nan must not be negative"),
        (holm_correction, ([0.5, 1.5],), r"\[0, 1\]"),
        (compare_methods, ({"a": A},), "at least two methods"),
        (compare_methods, ({"a": A, "b": B[:5]},), "same number of repeats"),
    ],
)
def test_invalid_scores_error(test, arguments, message):
    with pytest.raises(ValueError, match=message):
        test(*arguments)


@given(pvalues, st.sampled_from([0.01, 0.05, 0.2]))
def test_holm_matches_step_down_procedure(p, alpha):
    """Holm: go through the sorted p while p_(i) <= alpha / (m - i + 1)."""
    # Away from ties with the level itself, where rounding decides.
    assume(all(abs(q * k - alpha) > 1e-12 for q in p for k in range(1, len(p) + 1)))
    rejected = np.zeros(len(p), bool)
    for step, i in enumerate(np.argsort(p, kind="stable")):
        if p[i] > alpha / (len(p) - step):
            break
        rejected[i] = True
    np.testing.assert_array_equal(holm_correction(p) <= alpha, rejected)


def test_holm_ignores_nan():
    np.testing.assert_allclose(
        holm_correction([0.02, np.nan, 0.03]), [0.04, np.nan, 0.04]
    )


def test_compare_methods_all_pairs():
    """Significant: the corrected test, after Holm's correction over all pairs."""
    scores = {"a": A, "b": B, "c": B - 0.1, "d": A + np.tile([0.1, -0.099], 5)}
    pairs = compare_methods(scores, n_train=90, n_test=60)
    assert [(p.method_a, p.method_b) for p in pairs] == list(
        itertools.combinations("abcd", 2)
    )
    first = pairs[0]
    assert first.pvalue == paired_ttest(A, B).pvalue <= 0.05
    assert first.corrected_pvalue == pytest.approx(corrected_ttest(A, B, 90, 60).pvalue)
    for name in ("pvalue", "corrected_pvalue"):
        adjusted = holm_correction([getattr(p, name) for p in pairs])
        found = [getattr(p, name.replace("pvalue", "holm_pvalue")) for p in pairs]
        np.testing.assert_allclose(found, adjusted)
    for pair in pairs:
        assert pair.significant == (pair.corrected_holm_pvalue <= 0.05)
        assert (pair.winner == "") == (not pair.significant)
    assert not first.significant, "the paired t-test alone would say so"
    (turned,) = compare_methods({"a": A, "c": B - 0.1}, greater_is_better=False)
    assert (pairs[1].winner, turned.winner) == ("a", "c")
    pandas = pytest.importorskip("pandas")
    frame = compare_methods(pandas.DataFrame(scores), n_train=90, n_test=60)
    np.testing.assert_equal(frame, pairs)


def test_failed_repeats_are_left_out():
    broken = B.copy()
    broken[[2, 7]] = np.nan
    pair, common = (
        compare_methods({"a": A[rows], "b": broken[rows]}, n_train=90, n_test=60)[0]
        for rows in (slice(None), np.isfinite(broken))
    )
    assert pair._replace(note="") == common and common.n == 8
    assert "2" in pair.note


@pytest.mark.parametrize(
    ("a", "b", "note"),
    [
        (A[:4], B[:4], "4 common repeats, 5 are needed"),
        ([0.8, np.nan, 0.7], [np.nan, 0.9, np.nan], "0 common repeats"),
    ],
)
def test_untestable_pair_note(a, b, note):
    pair = compare_methods({"a": a, "b": b}, n_train=10, n_test=10)[0]
    assert np.isnan([pair.pvalue, pair.corrected_pvalue, pair.holm_pvalue]).all()
    assert not pair.significant and pair.winner == ""
    assert note in pair.note


def test_bayesian_signed_rank_matches_benavoli():
    """Draw by draw: which of the three outcomes do most pairs of sets have?"""
    difference, rope = (A - B)[:6], 0.01
    z = [0.0, *difference]
    rng = np.random.default_rng(3)
    votes = np.zeros(3)
    for w in rng.dirichlet([0.5, *np.ones(6)], 400):
        shares = np.zeros(3)
        for (wi, zi), (wj, zj) in itertools.product(zip(w, z, strict=True), repeat=2):
            mean = round((zi + zj) / 2, 12)
            shares[1 + (mean > rope) - (mean < -rope)] += wi * wj
        votes[shares.argmax()] += 1
    found = bayesian_signed_rank(A[:6], B[:6], rope, n_samples=400, random_state=3)
    np.testing.assert_allclose(found, votes / 400)
    swapped = bayesian_signed_rank(B[:6], A[:6], rope, n_samples=400, random_state=3)
    np.testing.assert_allclose(found, swapped[::-1])
    assert bayesian_signed_rank([0.81] * 8, [0.80] * 8) == (0, 1, 0), (
        "0.01 but for rounding"
    )


def test_small_significant_differences_are_practically_equal():
    """What a p-value alone would call a difference."""
    noise = np.random.default_rng(0).uniform(0.0005, 0.0015, 40)
    comparison = compare_over_sets(np.full(40, 0.8), 0.8 - noise)
    assert comparison.pvalue < 1e-6 and comparison.p_equal > 0.99
    assert (comparison.better, comparison.worse, comparison.tied) == (40, 0, 0)


def test_compare_over_sets_uses_datasets_as_pairs():
    comparison = compare_over_sets(A, B, greater_is_better=False)
    assert comparison.pvalue == pytest.approx(stats.wilcoxon((A - B).round(12)).pvalue)
    assert comparison.pvalue == compare_over_sets(A * 1e-13, B * 1e-13).pvalue
    assert (comparison.better, comparison.worse, comparison.tied) == (1, 8, 1)
    assert comparison.difference == pytest.approx((A - B).mean())
    # Five sets can never be significant: all better is one of 2^5 equally likely signs.
    assert np.isnan(compare_over_sets(A[:5], B[:5])[-4:]).all()
    six = np.arange(1, 7)
    assert compare_over_sets(six, 0 * six).pvalue == pytest.approx(2 / 2**6)
    same = compare_over_sets(A, A * (1 + 1e-15))
    assert np.isnan(same.pvalue) and same.tied == 10 and same.p_equal == 1
    assert compare_over_sets([np.nan, 0.5], [0.5, np.nan]).n_datasets == 0

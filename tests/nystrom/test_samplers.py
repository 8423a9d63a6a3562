"""Samplers against their definitions, computed densely on small data."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from adakern.kernels import gram_matrix
from adakern.nystrom import samplers
from adakern.nystrom.columns import KernelColumns, encode_targets, random_targets
from adakern.nystrom.samplers import SAMPLERS, make_plan

RIDGE = 0.005


@pytest.fixture
def data():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(25, 2)), 0.2 * rng.normal(size=(15, 2)) + 3])
    return X, np.where(X[:, 0] > 1, 1, 0)


def sample_columns(X, c, y=None, *, selection, random_state, **kernel):
    """The sample of a selection, for random labels where there are none."""
    rng = np.random.default_rng(random_state)
    targets = random_targets(len(X), rng) if y is None else encode_targets(None, y)
    return SAMPLERS[selection](
        KernelColumns(X, **kernel), targets, make_plan(len(X), c), rng
    )


def kernel_of(X, gamma=0.5):
    return KernelColumns(X, kernel="rbf", gamma=gamma), gram_matrix(X, gamma=gamma)


@pytest.mark.parametrize("selection", SAMPLERS)
@pytest.mark.parametrize("c", [0.001, 2, 9, 40])
def test_indices_are_distinct_and_reproducible(data, selection, c):
    X, y = data
    options = {"selection": selection, "random_state": 3}
    first, second = (sample_columns(X, c, y, gamma=0.5, **options) for _ in range(2))
    given_kernel = gram_matrix(X, gamma=0.5)
    precomputed = sample_columns(given_kernel, c, y, kernel="precomputed", **options)
    for other in (second, precomputed):
        np.testing.assert_array_equal(first.indices, other.indices)
        np.testing.assert_allclose(first.weights, other.weights)
    assert len(np.unique(first.indices)) == max(c, 1) == len(first.weights)
    assert first.indices.min() >= 0 and first.indices.max() < len(X)
    assert np.all(np.isfinite(first.weights)) and np.all(first.weights > 0)


def test_draw_zero_and_negative_scores(rng):
    scores = np.array([0.0, 2.0, -1.0, 1.0, 0.0])
    assert set(samplers.draw(rng, scores, 2)) == {1, 3}
    assert set(samplers.draw(rng, scores, 4)) == {0, 1, 3, 4}


def test_column_norm_probabilities(data):
    kernel, K = kernel_of(data[0])
    p = np.sum(K**2, axis=0) / np.sum(K**2)
    sample = samplers.column_norm(
        kernel, None, make_plan(40, 10), np.random.default_rng(0)
    )
    np.testing.assert_allclose(sample.weights, 1 / np.sqrt(10 * p[sample.indices]))
    plan, rng = make_plan(40, 1), np.random.default_rng(0)
    drawn = [
        samplers.column_norm(kernel, None, plan, rng).indices[0] for _ in range(2000)
    ]
    assert chisquare(np.bincount(drawn, minlength=40), 2000 * p).pvalue > 1e-3


def test_leverage_scores(data):
    kernel, K = kernel_of(data[0])
    U, _, _ = np.linalg.svd(K)
    expected = np.sum(U[:, :6] ** 2, axis=1)
    sample = samplers.leverage(kernel, None, make_plan(40, 6), np.random.default_rng(0))
    np.testing.assert_allclose(sample.weights**-2, expected[sample.indices], rtol=1e-8)


def test_ridge_leverage_scores(data):
    kernel, K = kernel_of(data[0])
    l, shift = 40, 0.3
    exact = np.diag(K @ np.linalg.inv(K + shift * np.eye(l)))
    columns = np.arange(l)
    scores = samplers.ridge_leverage_scores(kernel, columns, np.ones(l), shift, columns)
    np.testing.assert_allclose(scores, exact, rtol=1e-9)

    chosen, weights = np.array([2, 9, 33, 20]), np.array([1.0, 2.0, 1.5, 3.0])
    S = np.zeros((l, 4))
    S[chosen, range(4)] = weights
    inner = np.linalg.inv(S.T @ K @ S + shift * np.eye(4))
    dense = np.diag(K - K @ S @ inner @ S.T @ K) / shift
    rows = np.array([0, 2, 39, 17])
    scores = samplers.ridge_leverage_scores(kernel, chosen, weights, shift, rows)
    np.testing.assert_allclose(scores, dense[rows], rtol=1e-9)


def test_ridge_leverage_samples_rare_cluster(rng):
    X = np.concatenate([0.05 * rng.normal(size=(397, 2)), [[9, 9], [9, -9], [-9, 9]]])
    leverage, uniform = (
        [
            sum(sample_columns(X, 20, selection=s, random_state=k).indices >= 397)
            for k in range(20)
        ]
        for s in ("ridge-leverage", "uniform")
    )
    assert np.mean(leverage) > 2.5 > 1 > np.mean(uniform)


def pivot_pair_probabilities(K):
    """P(first = i, second = j) of randomly pivoted Cholesky, by definition."""
    P = np.zeros_like(K)
    for i, j in permutations(range(len(K)), 2):
        residual = np.diag(K - np.outer(K[:, i], K[i]) / K[i, i])
        P[i, j] = K[i, i] / np.trace(K) * residual[j] / residual.sum()
    return P


@pytest.mark.parametrize("step", [1, 4])
def test_block_rpcholesky_is_unbiased(step, rng):
    A = rng.normal(size=(5, 3))
    A[1] = A[0] + 0.05  # nearly twins: a block without rejection would draw both
    K = A @ A.T + 0.01 * np.eye(5)
    kernel, plan = KernelColumns(K, kernel="precomputed"), make_plan(5, 2, step=step)
    assert plan.step == min(step, 2)
    counts = np.zeros((5, 5))
    for _ in range(6000):
        i, j = samplers.rpcholesky(kernel, None, plan, rng).indices
        counts[i, j] += 1
    expected = 6000 * pivot_pair_probabilities(K)
    off = ~np.eye(5, dtype=bool)
    assert chisquare(counts[off], expected[off]).pvalue > 1e-3


def test_span_residuals(data):
    kernel, K = kernel_of(data[0])
    C = K[:, [3, 8, 31]]
    E = K - C @ np.linalg.pinv(C) @ K
    expected = np.sum(E**2, axis=0)
    scores = samplers.span_residuals(kernel, C, make_plan(40, 5))
    np.testing.assert_allclose(scores, expected, atol=1e-10)
    assert scores[3] == scores[8] == scores[31] == 0


def errors_by_definition(K, chosen, y, k):
    """Algorithm 2, steps 1 to 8, as printed."""
    C, D = K[:, chosen], K[np.ix_(chosen, chosen)]
    U, s, _ = np.linalg.svd(D)
    approximation = C @ (U[:, :k] / s[:k]) @ U[:, :k].T @ C.T
    E = (C - approximation[:, chosen]) * np.outer(y, y[chosen])
    return np.sum(E**2, axis=1)


@pytest.mark.parametrize("rank", [None, 1, 5])
def test_adaptive_errors_match_definition(data, rank):
    X, labels = data
    _, K = kernel_of(X)
    y = encode_targets(None, labels).weights
    chosen = np.array([1, 39, 12, 25, 30, 7, 19])
    scores = samplers.approximation_errors(K[:, chosen], chosen, y, rank)
    expected = errors_by_definition(K, chosen, y, rank or 3)
    np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-12 * scores.max())
    assert not samplers.approximation_errors(K[:, chosen], chosen, y, rank=7).any()


def test_adaptive_draws_follow_scores(data, rng):
    X, labels = data
    kernel, K = kernel_of(X)
    targets = encode_targets(None, labels)
    plan = make_plan(40, 3, step=2)
    # Given the first two columns, the third follows Algorithm 2. Every first pair
    # equally often in expectation: sum of their distributions.
    expected, counts = np.zeros(40), np.zeros(40)
    for _ in range(3000):
        drawn = samplers.adaptive_criterion(kernel, targets, plan, rng).indices
        p = errors_by_definition(K, drawn[:2], targets.weights, 1)
        p[drawn[:2]] = 0
        expected += p / p.sum()
        counts[drawn[2]] += 1
    assert chisquare(counts, expected).pvalue > 1e-3


@pytest.mark.parametrize(
    ("y", "task", "values", "weights"),
    [
        (list("baaa"), "auto", [[1], [-1], [-1], [-1]], [1, 1 / 3, 1 / 3, 1 / 3]),
        ([0, 1, 2], "auto", [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [1, 1, 1]),
        ([["u"], ["v"]], "auto", [[-1], [1]], [1, 1]),
        ([0.5, -2.0], "auto", [[0.5], [-2.0]], [0.5, 2.0]),
        ([3, 2, 5], "regression", [[3], [2], [5]], [3, 2, 5]),
        ([[3.0, 4.0], [0.0, 1.0]], "auto", [[3, 4], [0, 1]], [5, 1]),
    ],
)
def test_targets(y, task, values, weights):
    targets = encode_targets(None, np.array(y), task)
    np.testing.assert_array_equal(targets.values, values)
    np.testing.assert_allclose(targets.weights, weights)


def test_more_columns_than_rows():
    with pytest.raises(ValueError, match=r"n_columns must be at most .* 40, got 41"):
        make_plan(40, 41)


@pytest.mark.filterwarnings("error")
def test_rpcholesky_residual_at_rounding_level():
    """Smooth kernels on a plane: numerically of a rank far below the columns."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    for gamma in 2.0 ** np.arange(-10, 0, 3):
        for seed in range(3):
            options = {"selection": "rpcholesky", "random_state": seed}
            indices, _ = sample_columns(X, 120, gamma=gamma, **options)
            assert len(np.unique(indices)) == 120


def criterion(K, chosen, Y):
    """The sum over targets, from the dense approximation."""
    C = K[:, chosen]
    approximation = C @ np.linalg.pinv(K[np.ix_(chosen, chosen)], hermitian=True) @ C.T
    l = len(K)
    return RIDGE * np.trace(
        Y.T @ np.linalg.solve(approximation + RIDGE * l * np.eye(l), Y)
    )


@given(seed=st.integers(0, 2**16), n_targets=st.integers(1, 3))
@settings(max_examples=15)
def test_greedy_step_lowers_criterion_most(seed, n_targets):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(25, 3)), rng.normal(size=(25, n_targets))
    plan = make_plan(25, 6)._replace(oversampling=5)  # every row is a candidate
    kernel, K = kernel_of(X)
    chosen = samplers.greedy_criterion(
        kernel, encode_targets(None, Y), plan, rng
    ).indices
    for k in range(6):
        least = min(
            criterion(K, [*chosen[:k], i], Y) for i in set(range(25)) - set(chosen[:k])
        )
        assert criterion(K, chosen[: k + 1], Y) <= least + 1e-9


def test_linearly_dependent_candidates_fill_up():
    M = np.ones((4, 4))
    assert len(set(samplers.forward_selection(M, np.ones((4, 1)), 3))) == 3
    assert (
        len(set(samplers.forward_selection(np.zeros((3, 3)), np.zeros((3, 1)), 2))) == 2
    )

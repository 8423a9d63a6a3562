"""The greedy sampler against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adakern.kernels import gram_matrix
from adakern.nystrom import sample_columns
from adakern.nystrom.columns import KernelColumns, encode_targets
from adakern.nystrom.criteria import CRITERIA
from adakern.nystrom.factors import LowRankKernel
from adakern.nystrom.samplers import forward_selection, greedy_criterion
from adakern.nystrom.sampling import make_plan

RIDGE = 0.005


def criterion(K, chosen, Y):
    """The sum over targets, from the dense approximation."""
    C = K[:, chosen]
    approximation = C @ np.linalg.pinv(K[np.ix_(chosen, chosen)], hermitian=True) @ C.T
    l = len(K)
    return RIDGE * np.trace(Y.T @ np.linalg.solve(approximation + RIDGE * l * np.eye(l), Y))


@given(seed=st.integers(0, 2**16), n_targets=st.integers(1, 3))
@settings(max_examples=15)
def test_each_step_lowers_the_criterion_most(seed, n_targets):
    rng = np.random.default_rng(seed)
    l = 25
    X, Y = rng.normal(size=(l, 3)), rng.normal(size=(l, n_targets))
    K = gram_matrix(X, gamma=0.5)
    pool = rng.choice(l, 10, replace=False)
    M = K[:, pool].T @ K[:, pool] + RIDGE * l * K[np.ix_(pool, pool)]
    order, gains = forward_selection(M, K[:, pool].T @ Y, 6)
    chosen, value = [], np.sum(Y**2) / l
    for j, gain in zip(order, gains, strict=True):
        after = {i: criterion(K, [*chosen, i], Y) for i in pool if i not in chosen}
        assert value - after[pool[j]] == pytest.approx(gain / l, rel=1e-6, abs=1e-9)
        assert after[pool[j]] <= min(after.values()) + 1e-9
        chosen.append(pool[j])
        value = after[pool[j]]


def test_dependent_candidates_fill_up():
    M = np.ones((4, 4))
    order, gains = forward_selection(M, np.ones((4, 1)), 3)
    assert len(set(order)) == 3
    np.testing.assert_array_equal(gains, [1, 0, 0])
    order, gains = forward_selection(np.zeros((3, 3)), np.zeros((3, 1)), 2)
    assert len(set(order)) == 2 and not gains.any()


def test_all_candidates_and_one_column():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.choice([0, 1], 30)
    K, Y = gram_matrix(X, gamma=1.0), np.where(y == 1, 1.0, -1.0)[:, None]
    plan, rng = make_plan(30, 1)._replace(oversampling=30), np.random.default_rng(0)
    indices, _ = greedy_criterion(KernelColumns(X, gamma=1.0), encode_targets(y), plan, rng)
    assert indices[0] == np.argmin([criterion(K, [j], Y) for j in range(30)])


def test_closer_than_uniform_with_and_without_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] * X[:, 1] > 0
    K, Y = gram_matrix(X, gamma=0.2), np.where(y, 1.0, -1.0)[:, None]

    def risk(selection, labels, targets):
        values = []
        for seed in range(5):
            options = {"selection": selection, "gamma": 0.2, "random_state": seed}
            chosen = sample_columns(X, 20, labels, **options).indices
            factor = LowRankKernel.from_columns(K[:, chosen], chosen)
            values.append(CRITERIA["ridge-risk"](factor, targets, RIDGE))
        return np.array(values)

    greedy, uniform = risk("greedy-criterion", y, Y), risk("uniform", y, Y)
    assert np.all(greedy < uniform)
    # Without labels: the mean over random labels, mu tr (K~ + mu l I)^{-1}.
    eye = np.eye(200)
    assert np.mean(risk("greedy-criterion", None, eye)) < np.mean(risk("uniform", None, eye))

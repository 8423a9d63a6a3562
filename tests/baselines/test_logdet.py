import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from adakern.baselines import LogDetKernel
from adakern.baselines.logdet import correction, draw_pairs, project_cyclically
from adakern.kernels import gram_matrix


def make_problem(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 2))
    K = gram_matrix(X, gamma=0.5) + 0.05 * np.eye(10)
    y = np.where(np.arange(10) < 5, -1.0, 1.0)
    pairs = draw_pairs(y, 8, np.random.RandomState(seed))
    similar = y[pairs[:, 0]] == y[pairs[:, 1]]
    return K, pairs, similar, np.where(similar, 0.3, 1.6)


def learned_kernel(K, pairs, multipliers):
    i, j = pairs.T
    KE = K[:, i] - K[:, j]
    return K - KE @ correction(KE[i] - KE[j], multipliers) @ KE.T


def objective(K, xi, K_0, targets, slack):
    divergence = np.trace(np.linalg.solve(K_0, K)) - np.linalg.slogdet(K)[1]
    return divergence + slack * np.sum(xi / targets - np.log(xi))


def squared_distances(K, pairs):
    i, j = pairs.T
    return K[i, i] + K[j, j] - 2 * K[i, j]


def primal_value(K, K_0, pairs, similar, targets, slack):
    """The objective at K with the optimal slacks for its distances."""
    distances = squared_distances(K, pairs)
    xi = np.where(
        similar, np.maximum(distances, targets), np.minimum(distances, targets)
    )
    return objective(K, xi, K_0, targets, slack)


def dual_value(multipliers, K_0, pairs, targets, slack):
    """The Lagrangian at its minimiser, a lower bound for feasible kernels."""
    E = np.eye(len(K_0))[:, pairs[:, 0]] - np.eye(len(K_0))[:, pairs[:, 1]]
    K = np.linalg.inv(np.linalg.inv(K_0) + (E * multipliers) @ E.T)
    xi = slack / (slack / targets - multipliers)
    violations = squared_distances(K, pairs) - xi
    return objective(K, xi, K_0, targets, slack) + multipliers @ violations


@pytest.mark.parametrize("slack", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_projections_reach_the_dual_bound(slack, seed):
    K_0, pairs, similar, targets = make_problem(seed)
    i, j = pairs.T
    EKE = K_0[np.ix_(i, i)] - K_0[np.ix_(i, j)] - K_0[np.ix_(j, i)] + K_0[np.ix_(j, j)]
    multipliers, _, change = project_cyclically(
        EKE, targets, similar, slack, 20_000, 1e-12
    )
    assert change <= 1e-12
    learned = learned_kernel(K_0, pairs, multipliers)
    assert np.linalg.eigvalsh(learned)[0] > 0
    assert np.all(np.where(similar, multipliers, -multipliers) >= 0)
    primal = primal_value(learned, K_0, pairs, similar, targets, slack)
    assert primal == pytest.approx(
        dual_value(multipliers, K_0, pairs, targets, slack), rel=1e-10
    )


def test_draw_pairs():
    y = np.array([-1.0, -1.0, -1.0, 1.0, 1.0])
    pairs = draw_pairs(y, 40, np.random.RandomState(0))
    assert np.all(pairs[:, 0] != pairs[:, 1])
    assert np.sum(y[pairs[:, 0]] == y[pairs[:, 1]]) == 20
    alone = draw_pairs(np.array([-1.0, 1.0]), 4, np.random.RandomState(0))
    assert alone.tolist() == [[0, 1], [0, 1]]


def test_learned_kernel_follows_from_multipliers():
    """K^-1 = K_0^-1 + sum of multiplier (ei - ej)(ei - ej)'."""
    X, y = make_moons(60, noise=0.2, random_state=0)
    model = LogDetKernel(C=1.0, gamma=2.0, random_state=0).fit(X, y).models_[0]
    K_0, (i, j) = gram_matrix(X, gamma=2.0), model.pairs.T
    E = np.eye(60)[:, i] - np.eye(60)[:, j]
    K = np.linalg.solve(np.eye(60) + K_0 @ (E * model.multipliers) @ E.T, K_0)
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-5).fit(K, y)
    np.testing.assert_allclose(
        model.decision_function(X), svc.decision_function(K), atol=1e-3
    )


def test_tiny_slack_gives_the_svm():
    X, y = make_moons(60, noise=0.2, random_state=0)
    model = LogDetKernel(C=3.0, gamma=2.0, slack=1e-9, random_state=0).fit(X, y)
    svc = SVC(C=3.0, gamma=2.0, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), svc.decision_function(X), atol=1e-3
    )


def test_fitted_model_can_be_saved_with_skops():
    skops = pytest.importorskip("skops.io")
    X, y = make_moons(60, noise=0.2, random_state=0)
    model = LogDetKernel(random_state=0).fit(X, y)
    data = skops.dumps(model)
    loaded = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

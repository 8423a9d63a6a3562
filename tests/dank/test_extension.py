"""Extension of F to new rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors

from adakern.dank import DANKClassifier, DANKRegressor, extension
from adakern.kernels import squared_distances

RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(60, 3)), RNG.normal(size=(45, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=60) > 0, 1, -1)
RULES = ("reciprocal", "knn", "nystrom", "hyperkernel", "none")


def fit(rule, **parameters):
    # With a small eta, F differs clearly from one.
    model = DANKClassifier(C=2.0, gamma=0.5, eta=1.0, extension=rule, random_state=0)
    return model.set_params(**parameters).fit(X, Y)


def coefficients(fitted):
    d = np.zeros(len(X))
    d[fitted.support_] = fitted.dual_coef_[0]
    return d


def dense_decision(fitted, F, rows=X_NEW):
    """f(x) = sum_i F(x, x_i) k(x, x_i) d_i + b with an explicit matrix F."""
    return (F * rbf_kernel(rows, X, gamma=0.5)) @ coefficients(
        fitted
    ) + fitted.intercept_[0]


def learned_F(fitted):
    return fitted.adaptive_factor_ @ fitted.adaptive_factor_.T


@pytest.mark.parametrize("make", [DANKClassifier, DANKRegressor])
def test_factor_rows_of_repeated_and_weighted_rows(make):
    """Two halves of a row are one row, and a row without weight is left out."""
    y = Y if make is DANKClassifier else X[:, 0]
    repeated = np.append(np.arange(60), [3, 5])
    weights = np.ones(62)
    weights[[3, 60]], weights[61] = 0.5, 0
    model = make(C=2.0, gamma=0.5, eta=1.0, tol=1e-8)
    whole = learned_F(model.fit(X, y))
    assert_allclose(model.factor_rows_, np.arange(60))
    model.fit(X[repeated], y[repeated], weights)
    rows = repeated[model.factor_rows_]
    assert sorted(rows) == list(range(60))
    assert_allclose(learned_F(model), whole[np.ix_(rows, rows)], atol=1e-3)


@pytest.mark.parametrize("k", [1, 5])
def test_nearest_neighbours(k):
    fitted = fit("knn", n_neighbors=k)
    near = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(X_NEW)[1]
    expected = dense_decision(fitted, learned_F(fitted)[near].mean(axis=1))
    assert_allclose(fitted.decision_function(X_NEW), expected, atol=1e-10)


def dense_reciprocal(train, new):
    """Equation 11 for all pairs: M_ij = 1/(r s)."""
    D = squared_distances(train, new)
    r = 1 + (D[:, None, :] < D[:, :, None]).sum(axis=2)
    s = 1 + (D[None, :, :] < D[:, None, :]).sum(axis=1)
    return 1.0 / (r * s)


@pytest.mark.parametrize("memory", [1, 1000, 2**30])
@pytest.mark.parametrize("scale", [1.0, 8.0])
@pytest.mark.parametrize("m", [3, 45])
def test_reciprocal_neighbours(monkeypatch, memory, scale, m):
    monkeypatch.setattr(extension, "RANKS_BYTES", memory)
    # A wider test set contains outliers, whose best pair has low ranks.
    fitted, rows = fit("reciprocal"), scale * X_NEW[:m]
    M, D = dense_reciprocal(X, rows), squared_distances(X, rows)
    best = np.where(M.max(axis=0) == M, D, np.inf).argmin(axis=0)
    expected = dense_decision(fitted, learned_F(fitted)[best], rows)
    assert_allclose(fitted.decision_function(rows), expected, atol=1e-10)


def test_no_extension():
    fitted = fit("none")
    expected = dense_decision(fitted, np.ones((45, 60)))
    assert_allclose(fitted.decision_function(X_NEW), expected, atol=1e-10)


@pytest.mark.parametrize("rule", ["reciprocal", "knn", "nystrom"])
@pytest.mark.parametrize("tau", [0.0, 0.01])
def test_training_rows_use_the_learned_F(rule, tau):
    fitted = fit(rule, tau=tau, tol=1e-6)
    d, expected = coefficients(fitted), dense_decision(fitted, learned_F(fitted), X)
    # The optimality conditions of the model hold for these values.
    assert_allclose(fitted.decision_function(X), expected, atol=1e-8)
    inside = (np.abs(d) > 1e-6) & (np.abs(d) < 2.0 - 1e-6)
    assert_allclose((Y * expected)[inside], 1.0, atol=1e-3)


def test_nystrom_extension_equals_formula():
    fitted = fit("nystrom")
    d, Z = coefficients(fitted), fitted.adaptive_factor_
    near = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(X_NEW)[1][:, 0]
    a = 1 + d[near, None] * rbf_kernel(X_NEW, X, gamma=0.5) * d / 4.0
    # U(x) = a U / lambda and F = U (lambda - tau/2) U'.
    F_new = a @ (Z / ((Z**2).sum(axis=0) + 0.005)) @ Z.T
    expected = dense_decision(fitted, F_new)
    assert_allclose(fitted.decision_function(X_NEW), expected, atol=1e-8)


def test_hyperkernel_is_non_negative_least_squares_solution():
    fitted = fit("hyperkernel")
    rule = fitted.models_[0].extension
    F, G = learned_F(fitted), np.column_stack([np.ones(60), rbf_kernel(X, gamma=0.5)])
    # Optimality: no anchor has a negative gradient, that of used anchors is zero.
    residual = rule.train_factor @ rule.train_factor.T - F
    slope = np.einsum("ia,ij,ja->a", G, residual, G)
    scale = np.abs(np.einsum("ia,ij,ja->a", G, F, G)).max()
    assert slope.min() >= -1e-6 * scale
    assert np.abs(slope[rule._used]).max() <= 1e-6 * scale


@pytest.mark.parametrize("rule", RULES)
def test_precomputed_kernel_equals_features(rule):
    fitted = fit(rule)
    precomputed = (
        fit(rule).set_params(kernel="precomputed").fit(rbf_kernel(X, gamma=0.5), Y)
    )
    expected = fitted.decision_function(X_NEW)
    assert_allclose(
        precomputed.decision_function(rbf_kernel(X_NEW, X, gamma=0.5)),
        expected,
        atol=1e-6,
    )


@pytest.mark.parametrize("rule", RULES)
def test_predictions_do_not_depend_on_blocks(monkeypatch, rule):
    fitted = fit(rule)
    expected = fitted.decision_function(X_NEW)

    def single_rows(n_rows, *_):
        return (slice(i, i + 1) for i in range(n_rows))

    monkeypatch.setattr(extension, "row_blocks", single_rows)
    monkeypatch.setattr("adakern.dank.exact.row_blocks", single_rows)
    assert_allclose(fitted.decision_function(X_NEW), expected, atol=1e-10)


@pytest.mark.parametrize("rule", RULES)
def test_many_classes_and_regression(rule):
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    model = DANKClassifier(C=2.0, extension=rule).fit(X, labels)
    assert model.decision_function(X_NEW).shape == (45, 3)
    assert len(model.adaptive_factor_) == len(model.eta_) == len(model.rank_) == 3
    assert model.score(X, labels) > 0.9
    target = np.sin(X[:, 0])
    assert DANKRegressor(C=5.0, extension=rule).fit(X, target).score(X, target) > 0.9

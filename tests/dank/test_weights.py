"""A weighted row is equivalent to repeated rows: in the loss, in F,
and for new rows.
"""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.svm import SVC, SVR

from adakern.dank import DANKClassifier, DANKRegressor
from adakern.dank.exact import make_problem, newton
from adakern.dank.objective import (
    best_factor,
    concave_value,
    saddle_gradient,
)
from adakern.kernels import gram_matrix
from adakern.svm.dual import classification_dual, regression_dual
from dank.oracle import objective_of, solve_dank

RULES = ("reciprocal", "knn", "nystrom", "hyperkernel", "none")
TASKS = ("classification", "regression")
NEW = np.random.default_rng(9).normal(size=(15, 3))


def make_rows(n, task, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, y if task == "regression" else np.sign(y), rng.integers(1, 4, size=n)


def make_duals(task, y, w):
    """The dual of weighted rows, and that of repeated rows."""
    make = {
        "classification": partial(classification_dual, C=2.0),
        "regression": partial(regression_dual, C=2.0, epsilon=0.1),
    }[task]
    return make(y, weights=w.astype(float)), make(y.repeat(w))


def repeat_entries(M, w):
    return M.repeat(w, axis=0).repeat(w, axis=1)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("tau", [0.0, 0.05])
def test_objective_equals_repeated_rows(task, tau):
    """Compared with the printed problem for repeated rows, with dense matrices."""
    X, y, w = make_rows(9, task)
    K, (weighted, every) = gram_matrix(X, gamma=0.5), make_duals(task, y, w)
    u = np.random.default_rng(1).uniform(0, 1, size=len(weighted.signs))
    copies = np.tile(w, len(u) // len(w))
    # The variable of a row with weight w is the sum of those of its w copies.
    point = objective_of(K, weighted, 0.7, tau)(u * copies)
    K_all, u_all = repeat_entries(K, w), u.repeat(copies)
    F = best_factor(u_all, K_all, every, 0.7, tau)
    value = concave_value(u_all, K_all, every, 0.7, tau)
    assert point.value == pytest.approx(value, rel=1e-9)
    gradient = saddle_gradient(u_all, F, K_all, every)
    assert_allclose(point.gradient.repeat(copies), gradient, atol=1e-7)
    Z = objective_of(K, weighted, 0.7, tau).factor(point)
    assert_allclose(repeat_entries(Z @ Z.T, w), F, atol=1e-7)


@pytest.mark.parametrize("task", TASKS)
def test_weighted_optimum_equals_semidefinite_program(task):
    X, y, w = make_rows(7, task)
    K, (weighted, every) = gram_matrix(X, gamma=0.5), make_duals(task, y, w)
    value, F = solve_dank(repeat_entries(K, w), every, 0.7, 0.05)
    problem, start = make_problem(K, weighted, 0.7, 0.05, 1e-8)
    solution = newton(problem, problem(start), 1e-8, max_iter=200)
    assert solution.converged
    assert solution.point.value == pytest.approx(value, rel=1e-6)
    Z = problem.factor(solution.point)
    assert_allclose(repeat_entries(Z @ Z.T, w), F, atol=2e-3)


def test_hessian_equals_repeated_rows():
    """Each copy of a row gets its share of a change."""
    X, y, w = make_rows(9, "classification")
    K, (weighted, every) = gram_matrix(X, gamma=0.5), make_duals("classification", y, w)
    u = np.random.default_rng(1).uniform(0, 1, size=len(y))
    share = objective_of(K, weighted, 0.7, 0.05)
    full = objective_of(repeat_entries(K, w), every, 0.7, 0.05)
    H = share.hessian(share(u * w))
    H_all = full.hessian(full(u.repeat(w)))
    P = np.repeat(np.eye(len(w)), w, axis=0) / w
    assert_allclose(H, P.T @ H_all @ P, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("tau", [0.0, 0.02])
def test_predictions_equal_repeated_rows(rule, tau):
    """Rows that differ by 1e-9 are not merged, but give the same problem."""
    X, y, w = make_rows(24, "classification")
    w[:4] = 0
    apart = 1e-9 * np.random.default_rng(2).normal(size=(w.sum(), 3))
    model = DANKClassifier(
        C=2.0, gamma=0.5, eta=0.7, tau=tau, tol=1e-9, extension=rule, n_neighbors=4
    )
    weighted = model.fit(X, y, sample_weight=w).decision_function(NEW)
    assert not set(model.support_) & set(range(4))
    expected = model.fit(X.repeat(w, axis=0) + apart, y.repeat(w))
    assert_allclose(weighted, expected.decision_function(NEW), atol=2e-4)


@pytest.mark.parametrize("strategy", ["decomposed", "whole"])
@pytest.mark.parametrize("task", TASKS)
def test_weights_with_strategies_for_many_rows(strategy, task):
    X, y, w = make_rows(80, task)
    w[::7] = 0
    make = DANKRegressor if task == "regression" else DANKClassifier
    model = make(
        C=2.0, gamma=0.5, eta=0.7, tau=0.0, tol=1e-8, strategy=strategy, n_clusters=1
    )
    decide = "predict" if task == "regression" else "decision_function"
    model.fit(X, y, sample_weight=w)
    values, objective = getattr(model, decide)(NEW), model.objective_
    model.fit(X.repeat(w, axis=0), y.repeat(w))  # equal rows are not merged
    assert objective == pytest.approx(model.objective_, rel=1e-6)
    assert_allclose(values, getattr(model, decide)(NEW), atol=2e-4)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@pytest.mark.parametrize("make", [DANKClassifier, DANKRegressor])
def test_repeated_rows_equal_weights(kernel, make):
    X, y, w = make_rows(30, "classification")
    w[:5] = 0
    every = np.arange(len(y)).repeat(w)
    parts, tol = (X, X[every], NEW, NEW), 0.0
    if kernel == "precomputed":
        K, K_new = gram_matrix(X, gamma=0.5), gram_matrix(NEW, X, gamma=0.5)
        # Rows are sorted by their values, and repetitions change the order.
        parts, tol = (K, K[np.ix_(every, every)], K_new, K_new[:, every]), 1e-4
    model = make(kernel=kernel)
    decide = "predict" if make is DANKRegressor else "decision_function"
    weighted = getattr(model.fit(parts[0], y, sample_weight=w), decide)(parts[2])
    plain = getattr(model.fit(parts[1], y[every]), decide)(parts[3])
    assert_allclose(weighted, plain, rtol=0, atol=tol)


def test_large_eta_equals_weighted_svm():
    X, y, _ = make_rows(60, "regression")
    w = np.random.default_rng(1).uniform(0.2, 3, size=len(y))
    options = {"C": 2.0, "gamma": 0.5, "tol": 1e-8}
    regressor = DANKRegressor(eta=1e9, tau=0.0, **options).fit(X, y, w)
    expected = SVR(**options).fit(X, y, w).predict(NEW)
    assert_allclose(regressor.predict(NEW), expected, atol=1e-4)
    labels = y > 0
    classifier = DANKClassifier(eta=1e9, tau=0.0, **options).fit(X, labels, w)
    expected = SVC(**options).fit(X, labels, w).decision_function(NEW)
    assert_allclose(classifier.decision_function(NEW), expected, atol=1e-4)


def test_unit_weights_change_nothing_and_zero_weights_raise():
    X, y, _ = make_rows(30, "classification")
    plain = DANKClassifier().fit(X, y).decision_function(NEW)
    ones = DANKClassifier().fit(X, y, np.ones(len(y))).decision_function(NEW)
    np.testing.assert_array_equal(plain, ones)
    with pytest.raises(ValueError, match="zero"):
        DANKRegressor().fit(X, y, np.zeros(len(y)))


def test_probabilities_with_a_class_of_one_weighted_row():
    """Half of its weight is left out, as for repeated rows."""
    X, y, _ = make_rows(30, "classification")
    y[0] = 7
    w = np.ones(len(y))
    w[0] = 4
    model = DANKClassifier(probability=True)
    proba = model.fit(X, y, sample_weight=w).predict_proba(X)
    repeated = model.fit(np.vstack([X, X[[0] * 3]]), np.append(y, y[[0] * 3]))
    assert_allclose(proba, repeated.predict_proba(X), rtol=1e-9)
    assert proba[0, 2] > proba[1:, 2].max()
    with pytest.raises(ValueError, match="at least 2 rows"):
        model.fit(X, y)

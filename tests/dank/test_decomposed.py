"""The strategy "decomposed": working sets, screening and clusters."""

import joblib
import numpy as np
import pytest
from sklearn.svm import SVC

from adakern.dank import decomposed, working_set
from adakern.dank.model import SparseModel
from adakern.dank.objective import SVM_TOL
from adakern.dank.partition import clusters_for
from adakern.dank.quartic import Quartic
from adakern.dank.working_set import RowsProblem, never_support
from adakern.kernels import gram_matrix
from adakern.svm.dual import classification_dual, regression_dual
from dank.oracle import solve_quartic

KERNEL = {"kernel": "rbf", "gamma": 2.0}


def rings(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where((X**2).sum(axis=1) + 0.3 * rng.normal(size=n) > 1.2, 1.0, -1.0)


def solve_exactly(X, dual, eta, kernel=KERNEL, tol=1e-10):
    """The solution with the complete Gram matrix."""
    return solve_quartic(Quartic(gram_matrix(X, **kernel), dual, eta), tol)


def solve(X, y, n_clusters=10, eta="svm", tol=1e-4, **options):
    ends = {"tol": tol, "max_iter": 200, "random_state": 0}
    dual = classification_dual(y, 2.0, False)
    problem = RowsProblem(X, KERNEL, dual, eta)
    return decomposed.solve(problem, None, n_clusters=n_clusters, **ends, **options)


def decide(T, X, solution):
    dual = classification_dual(np.ones(len(X)), 2.0)
    problem = RowsProblem(X, KERNEL, dual, None)
    return SparseModel(problem, solution).decision_function(T)


@pytest.mark.parametrize(
    ("kernel", "max_working"),
    [("rbf", 6000), ("laplacian", 6000), ("poly", 6000), ("linear", 6000), ("rbf", 40)],
)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_working_sets_reach_the_optimum(kernel, task, max_working, monkeypatch):
    monkeypatch.setattr("adakern.dank.working_set.FEWEST_NEW", 8)
    X, y = rings(150)
    dual = classification_dual(y, 2.0, False)
    if task == "regression":
        dual = regression_dual(np.sin(2 * X[:, 0]) + X[:, 1], 2.0, 0.1, False)
    params = {"kernel": kernel, "gamma": 0.5, "degree": 2, "coef0": 1.0}
    expected = solve_exactly(X, dual, 40.0, params)
    tol = 1e-7 if max_working == 6000 else 1e-6
    problem = RowsProblem(X, params, dual, 40.0)
    solution = working_set.solve(problem, None, tol, max_working=max_working)
    assert solution.converged
    assert solution.n_iter > 1
    assert solution.point.value == pytest.approx(expected.value, rel=2 * tol)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_screened_rows_are_not_support_vectors(gamma, tol):
    X, y = rings(150)
    for dual in (
        classification_dual(y, 2.0, False),
        regression_dual(X[:, 0], 2.0, 0.3, False),
    ):
        best = solve_exactly(X, dual, 40.0, {"gamma": gamma}).d
        rough = solve_exactly(X, dual, 40.0, {"gamma": gamma}, tol=tol)
        never = never_support(rough, np.ones(150), rough.gap)
        assert (np.abs(best[never]) < 1e-7).all()
        if tol == 1e-6 and gamma < 10:
            assert never.sum() > 0.5 * (best == 0).sum() > 0


def test_screening_drops_rows_during_the_solution(monkeypatch):
    X, y = rings(400)
    dual = classification_dual(y, 2.0, False)
    dropped = []

    def record_dropped(*at):
        dropped.append(never_support(*at))
        return dropped[-1]

    monkeypatch.setattr(working_set, "never_support", record_dropped)
    solution = working_set.solve(RowsProblem(X, KERNEL, dual, 40.0), None, 1e-9)
    assert solution.converged
    assert dropped[-1].any()
    assert solution.point.value == pytest.approx(
        solve_exactly(X, dual, 40.0).value, rel=1e-8
    )


def test_clusters_are_solved_separately():
    """Together they solve the problem of the blocked kernel (Lemma 5)."""
    X, y = rings(300)
    dual = classification_dual(y, 2.0, False)
    result = solve(X, y, n_clusters=4, tol=1e-10)
    eta = 0.0
    for rows, solution in zip(result.partition.rows, result.parts, strict=True):
        alone = solve_exactly(X[rows], dual.take(rows), result.eta)
        assert solution.point.value == pytest.approx(alone.value, rel=1e-7)
        np.testing.assert_allclose(result.d[rows], alone.d, atol=1e-4)
        if len(set(y[rows])) == 2:
            svm = SVC(C=2.0, gamma=2.0, tol=SVM_TOL, shrinking=False).fit(
                X[rows], y[rows]
            )
            eta += (svm.dual_coef_**2).sum()
    assert result.eta == pytest.approx(eta, rel=1e-12)
    labels = result.partition.labels
    blocked = gram_matrix(X, **KERNEL) * (labels[:, None] == labels)
    whole = solve_quartic(Quartic(blocked, dual, result.eta), 1e-9)
    total = sum(solution.point.value for solution in result.parts)
    assert total == pytest.approx(whole.value, rel=1e-8)


def test_decision_uses_the_nearest_cluster():
    X, y = rings(200)
    result = solve(X, y, n_clusters=3)
    T = np.random.default_rng(1).normal(size=(50, 2))
    for row, value in zip(T, decide(T, X, result), strict=True):
        near = ((row - result.partition.centres) ** 2).sum(axis=1).argmin()
        rows = result.partition.rows[near]
        K = gram_matrix(row[None, :], X[rows], **KERNEL)
        assert value == pytest.approx((K @ result.d[rows])[0])


def test_clusters_with_one_class_one_row_or_equal_rows():
    X = np.concatenate([np.zeros((5, 2)), np.full((1, 2), 50.0), rings(60)[0] + 100])
    y = np.where(X[:, 0] > 100, 1.0, -1.0)
    result = solve(X, y, n_clusters=3)
    assert sorted(len(rows) for rows in result.partition.rows) == [1, 5, 60]
    values = decide(X, X, result)
    assert (np.sign(values) == y).mean() > 0.95
    assert (values[:6] < 0).all()


def test_clusters_of_one_class_use_models_without_intercept():
    X = np.concatenate([rings(30)[0], rings(30)[0] + 100])
    y = np.repeat([1.0, -1.0], 30)
    result = solve(X, y, n_clusters=2)
    assert len(result.partition.rows) == 2
    duals = [
        (X[rows], classification_dual(y[rows], 2.0, False))
        for rows in result.partition.rows
    ]
    expected = sum((solve_exactly(*part, np.inf).d ** 2).sum() for part in duals)
    assert result.eta == pytest.approx(expected, rel=0.05)


def test_number_of_clusters_follows_the_budget():
    assert clusters_for(100) == 1
    assert clusters_for(10**5, memory=2**28) > clusters_for(10**5, memory=2**30)
    assert clusters_for(10**5, seconds=10) > clusters_for(10**5, seconds=1000)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_do_not_change_the_result(backend):
    X, y = rings(300)
    alone = solve(X, y, n_clusters=5, n_jobs=1)
    with joblib.parallel_config(backend):
        spread = solve(X, y, n_clusters=5, n_jobs=2)
    np.testing.assert_array_equal(spread.d, alone.d)


def test_regression_with_intercept_starts_from_zero():
    """The objective is zero at the start."""
    X, _ = rings(60)
    dual = regression_dual(np.abs(X[:, 0]), 1.0, 0.1)
    expected = solve_exactly(X, dual, 5.0)
    problem = RowsProblem(X, KERNEL, dual, 5.0)
    solution = working_set.solve(problem, np.zeros(60), 1e-7)
    assert solution.converged
    assert solution.point.value == pytest.approx(expected.value, rel=2e-7)
    assert solution.point.intercept == pytest.approx(expected.intercept, abs=1e-4)
    assert abs(solution.point.d.sum()) < 1e-12

"""Cluster by cluster: the same as each cluster alone, whatever the workers do."""

import os

import joblib
import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from adakern.dank.decomposed import cluster_decisions, decompose, for_each_cluster
from adakern.dank.interior_point import interior_point
from adakern.dank.partition import clusters_for, partition
from adakern.dank.theory import coupling
from adakern.dank.working_set import maximise_on_rows, never_support
from adakern.kernels import gram_matrix
from adakern.svm.dual import classification_dual as label_box
from adakern.svm.dual import regression_dual as tube_box
from adakern.svm.libsvm import dual_on_rows as svm_dual

KERNEL = {"kernel": "rbf", "gamma": 2.0}


def rings(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where((X**2).sum(axis=1) + 0.3 * rng.normal(size=n) > 1.2, 1.0, -1.0)
    return X, y


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_working_sets_reach_the_optimum_over_all_rows(kernel, task, monkeypatch):
    monkeypatch.setattr("adakern.dank.working_set.FEWEST_NEW", 8)
    X, y = rings(150)
    if task == "classification":
        box = label_box(y, 2.0)
    else:
        box = tube_box(np.sin(2 * X[:, 0]) + X[:, 1], 2.0, 0.1)
    params = {"kernel": kernel, "gamma": 0.5, "degree": 2, "coef0": 1.0}
    expected = interior_point(gram_matrix(X, **params), box, 40.0, tol=1e-9)
    solution = maximise_on_rows(X, box, 40.0, params, tol=1e-7)
    assert solution.converged
    assert solution.n_iter > 1
    assert solution.objective == pytest.approx(expected.objective, rel=2e-7)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_screened_rows_are_no_support_vectors(gamma, tol):
    X, y = rings(150)
    K = gram_matrix(X, gamma=gamma)
    for box in (label_box(y, 2.0), tube_box(X[:, 0], 2.0, 0.3)):
        best = interior_point(K, box, 40.0, tol=1e-10).dual_coef
        rough = interior_point(K, box, 40.0, tol=tol)
        d = rough.dual_coef
        never = never_support(d, K @ d, np.ones(150), box, rough.gap)
        assert (np.abs(best[never]) < 1e-7).all()
        if tol == 1e-6 and gamma < 10:
            assert never.sum() > 0.5 * (best == 0).sum() > 0


def test_screening_drops_rows_on_the_way():
    X, y = rings(400)
    solution = maximise_on_rows(X, label_box(y, 2.0), 40.0, KERNEL, tol=1e-9)
    assert solution.converged
    assert solution.n_screened > 0
    K = gram_matrix(X, **KERNEL)
    expected = interior_point(K, label_box(y, 2.0), 40.0, tol=1e-10)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-8)


def test_small_working_sets_reach_the_same_optimum():
    X, y = rings(150)
    box = label_box(y, 2.0)
    expected = maximise_on_rows(X, box, 40.0, KERNEL, tol=1e-6)
    small = maximise_on_rows(X, box, 40.0, KERNEL, tol=1e-6, max_working=40)
    assert small.converged
    assert small.objective == pytest.approx(expected.objective, rel=2e-6)


def test_every_cluster_solves_its_own_problem():
    X, y = rings(300)
    box = label_box(y, 2.0)
    result = solve(X, y, n_clusters=4, tol=1e-10, random_state=0)
    starts = 0.0
    for rows, solution in zip(result.partition.rows, result.solutions, strict=True):
        K = gram_matrix(X[rows], **KERNEL)
        alone = interior_point(K, box.take(rows), result.eta, tol=1e-10)
        assert solution.objective == pytest.approx(alone.objective, rel=1e-7)
        np.testing.assert_allclose(result.dual_coef[rows], alone.dual_coef, atol=1e-4)
        if len(set(y[rows])) == 2:
            svm = SVC(C=2.0, gamma=2.0).fit(X[rows], y[rows])
            starts += (svm.dual_coef_**2).sum()
    assert result.eta == pytest.approx(starts, rel=1e-12)


def test_block_diagonal_kernel_gives_the_same_solution():
    """Lemma 5: the concatenation solves the whole problem with the blocked kernel."""
    X, y = rings(120)
    box = label_box(y, 2.0)
    result = solve(X, y, eta=30.0, n_clusters=3, tol=1e-9, random_state=0)
    labels = result.partition.labels
    blocked = gram_matrix(X, **KERNEL) * (labels[:, None] == labels[None, :])
    whole = interior_point(blocked, box, 30.0, tol=1e-9)
    total = sum(solution.objective for solution in result.solutions)
    assert total == pytest.approx(whole.objective, rel=1e-8)


def test_regression_by_clusters():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(400, 1))
    target = np.sin(3 * X[:, 0]) + 0.05 * rng.normal(size=400)
    box = tube_box(target, 10.0, 0.05)
    result = decompose(X, box, SVR(C=10.0, epsilon=0.05), KERNEL, n_clusters=4)
    T = np.linspace(-2, 2, 200)[:, None]
    error = decide(T, X, result)
    assert np.abs(error - np.sin(3 * T[:, 0])).max() < 0.2


def solve(X, y, **options):
    return decompose(X, label_box(y, 2.0), SVC(C=2.0), KERNEL, **options)


def decide(T, X, result):
    return cluster_decisions(T, result.partition, supports(X, result), KERNEL)


def supports(X, result):
    parts = [(X[rows], result.dual_coef[rows]) for rows in result.partition.rows]
    return [(rows[d != 0], d[d != 0]) for rows, d in parts]


def test_decision_is_that_of_the_own_cluster():
    X, y = rings(200)
    result = solve(X, y, n_clusters=3)
    T = np.random.default_rng(1).normal(size=(50, 2))
    values = decide(T, X, result)
    for row, value in zip(T, values, strict=True):
        near = ((row - result.partition.centres) ** 2).sum(axis=1).argmin()
        rows = result.partition.rows[near]
        K = gram_matrix(row[None, :], X[rows], **KERNEL)
        assert value == pytest.approx((K @ result.dual_coef[rows])[0])


def test_clusters_of_one_class_of_one_row_and_of_copies():
    X = np.concatenate([np.zeros((5, 2)), np.full((1, 2), 50.0), rings(60)[0] + 100])
    y = np.where(X[:, 0] > 100, 1.0, -1.0)
    result = solve(X, y, n_clusters=3, random_state=0)
    sizes = sorted(len(rows) for rows in result.partition.rows)
    assert sizes == [1, 5, 60]
    values = decide(X, X, result)
    assert (np.sign(values) == y).mean() > 0.95
    assert (values[:6] < 0).all()


def test_all_clusters_of_one_class_fall_back_to_models_without_a_bias():
    X = np.concatenate([rings(30)[0], rings(30)[0] + 100])
    y = np.repeat([1.0, -1.0], 30)
    result = solve(X, y, n_clusters=2)
    assert len(result.partition.rows) == 2
    free = [
        interior_point(gram_matrix(X[r], **KERNEL), label_box(y[r], 2.0), np.inf)
        for r in result.partition.rows
    ]
    expected = sum((solution.dual_coef**2).sum() for solution in free)
    assert result.eta == pytest.approx(expected, rel=0.05)


def test_more_clusters_than_different_rows():
    X = np.repeat(np.array([[0.0], [1.0]]), 10, axis=0)
    cut = partition(X, 7, random_state=0)
    assert [len(rows) for rows in cut.rows] == [10, 10]
    np.testing.assert_array_equal(cut.assign(X), cut.labels)


def test_rows_of_a_partition_cover_all_rows_once():
    X, _ = rings(200)
    cut = partition(X, 6, random_state=0)
    joined = np.concatenate(cut.rows)
    np.testing.assert_array_equal(np.sort(joined), np.arange(200))
    assert all(len(rows) > 0 for rows in cut.rows)
    distances = ((X[:, None, :] - cut.centres[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(cut.labels, distances.argmin(axis=1))


def test_coupling_is_the_sum_over_pairs_of_different_clusters():
    X, _ = rings(80)
    labels = np.arange(80) % 3
    K = gram_matrix(X, **KERNEL)
    direct = sum(K[i, j] for i in range(80) for j in range(80) if labels[i] != labels[j])
    assert coupling(X, labels, KERNEL) == pytest.approx(direct)
    estimate = coupling(X, labels, KERNEL, n_sample=60, random_state=0)
    assert estimate == pytest.approx(direct, rel=0.2)
    assert coupling(X, np.zeros(80, dtype=int), KERNEL) == 0


def test_budget_decides_the_number_of_clusters():
    assert clusters_for(100) == 1
    assert clusters_for(10**5, memory=2**28) > clusters_for(10**5, memory=2**30)
    assert clusters_for(10**5, seconds=10) > clusters_for(10**5, seconds=1000)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_number_of_workers_does_not_change_the_result(backend):
    X, y = rings(300)

    def with_workers(n_jobs):
        return solve(X, y, n_clusters=5, random_state=0, n_jobs=n_jobs)

    alone = with_workers(1)
    with joblib.parallel_config(backend):
        np.testing.assert_array_equal(with_workers(2).dual_coef, alone.dual_coef)


def test_dask_workers_give_the_same_result():
    distributed = pytest.importorskip("distributed")
    X, y = rings(200)
    options = {"n_clusters": 3, "random_state": 0}
    alone = solve(X, y, **options)
    with (
        distributed.Client(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ),
        joblib.parallel_config("dask"),
    ):
        spread = solve(X, y, n_jobs=-1, **options)
    np.testing.assert_array_equal(spread.dual_coef, alone.dual_coef)


def fail_on_second(rows):
    if rows[0, 0] == 1:
        raise ValueError("too hot")
    return rows


def die_on_second(rows):
    if rows[0, 0] == 1:
        os._exit(9)
    return rows


def test_error_in_a_cluster_names_it():
    tasks = [(np.full((4, 1), c),) for c in range(3)]
    with pytest.raises(RuntimeError, match=r"cluster 1 \(4 rows\): too hot"):
        for_each_cluster(fail_on_second, tasks)


def test_death_of_a_worker_names_the_cluster():
    tasks = [(np.full((4 + c, 1), c),) for c in range(3)]
    with (
        joblib.parallel_config("loky"),
        pytest.raises(RuntimeError, match=r"worker died.*cluster 1 \(5 rows\)"),
    ):
        for_each_cluster(die_on_second, tasks, n_jobs=2)


def test_start_is_that_of_libsvm():
    X, y = rings(100)
    d = svm_dual(X, label_box(y, 2.0), SVC(C=2.0), KERNEL)
    svm = SVC(C=2.0, gamma=2.0).fit(X, y)
    np.testing.assert_array_equal(d[svm.support_], svm.dual_coef_[0])
    laplacian = {"kernel": "laplacian", "gamma": 1.0}
    d = svm_dual(X, label_box(y, 2.0), SVC(C=2.0), laplacian)
    svm = SVC(C=2.0, kernel="precomputed").fit(gram_matrix(X, **laplacian), y)
    np.testing.assert_array_equal(d[svm.support_], svm.dual_coef_[0])


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_array_libraries_agree(library):
    xp = pytest.importorskip(library)
    X, y = rings(150)
    options = {"n_clusters": 3, "tol": 1e-7, "random_state": 0}
    expected = solve(X, y, **options)
    A, b = xp.asarray(X), xp.asarray(y)
    result = solve(A, b, **options)
    d = np.asarray(result.dual_coef)
    np.testing.assert_allclose(d, expected.dual_coef, atol=1e-4)
    parts = [(xp.asarray(rows), xp.asarray(dual)) for rows, dual in supports(X, expected)]
    np.testing.assert_allclose(
        np.asarray(cluster_decisions(A, result.partition, parts, KERNEL)),
        decide(X, X, expected),
        atol=1e-9,
    )


def test_float32_predicts_as_float64_far_from_the_origin():
    X, y = rings(200)
    T = np.random.default_rng(1).normal(size=(200, 2))
    exact = solve(X, y, random_state=0)
    wanted = decide(T, X, exact)
    far, far_T = (A.astype(np.float32) + np.float32(1e3) for A in (X, T))
    result = solve(far, y.astype(np.float32), random_state=0)
    values = decide(far_T, far, result)
    assert values.dtype == np.float32
    assert ((values > 0) == (wanted > 0)).mean() > 0.98


def test_balanced_rows_start_from_zero():
    """The dual variables of a model with a bias, where h is zero at the start."""
    X, _ = rings(60)
    box = tube_box(np.abs(X[:, 0]), 1.0, 0.1)
    expected = interior_point(gram_matrix(X, **KERNEL), box, 5.0, balanced=True, tol=1e-9)
    solution = maximise_on_rows(X, box, 5.0, KERNEL, start=np.zeros(60), balanced=True, tol=1e-7)
    assert solution.converged
    assert solution.objective == pytest.approx(expected.objective, rel=2e-7)
    assert solution.intercept == pytest.approx(expected.intercept, abs=1e-4)
    assert abs(solution.dual_coef.sum()) < 1e-12

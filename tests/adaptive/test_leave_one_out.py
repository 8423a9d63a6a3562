"""Closed-form leave-one-out predictions and gradients, checked directly."""

import itertools
from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.optimize._numdiff import approx_derivative
from scipy.stats import multivariate_normal
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from adakern import linalg
from adakern._utils.arrays import device_context
from adakern.adaptive import leave_one_out as search
from adakern.adaptive.leave_one_out import (
    Evidence,
    LeaveOneOutError,
    Search,
    tune_scales,
)
from adakern.adaptive.members.base import Setting
from adakern.adaptive.members.kernel_ridge import (
    FEWEST_CENTRES,
    KernelRidge,
    NystromKernelRidge,
)
from adakern.kernels import gram_matrix
from adakern.linalg import invert_definite, leave_one_out, ridge_solution
from devices import put

KERNELS = ["laplacian", "l2-laplacian", "rbf"]

#: No search: the starting point is used.
NO_SEARCH = Search(max_iter=0)


def make_nystrom(kernel, max_support, **options):
    """The Nyström form with at most `max_support` centres."""
    setting = Setting(max_support=max_support)
    return NystromKernelRidge(
        kernel=kernel, setting=setting, **{"random_state": 0} | options
    )


def make_problem(n=25, d=3, k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])[:, :k]
    return X, Y + 0.1 * rng.standard_normal(Y.shape), rng.uniform(0.5, 3.0, n)


@pytest.mark.parametrize("kernel", [*KERNELS, "linear"])
@pytest.mark.parametrize("weighted", [True, False])
def test_closed_forms_equal_explicit_leave_one_out(kernel, weighted):
    """By Cholesky, by eigenvectors for several ridges, and from a low-rank factor."""
    X, Y, weights = make_problem()
    weights = weights if weighted else np.ones(len(X))
    K, ridges = gram_matrix(X, kernel=kernel, gamma=0.4), np.array([0.3, 2.0])
    expected = np.empty((2, *Y.shape))
    for (k, alpha), i in itertools.product(enumerate(ridges), range(len(X))):
        rest = np.arange(len(X)) != i
        A = K[np.ix_(rest, rest)] + alpha * np.diag(1 / weights[rest])
        expected[k, i] = K[i, rest] @ np.linalg.solve(A, Y[rest])
    sample_weight = weights if weighted else None
    for alpha, of_one in zip(ridges, expected, strict=True):
        np.testing.assert_allclose(
            leave_one_out(K, Y, alpha, sample_weight), of_one, atol=1e-10
        )
    left_out = leave_one_out(K, Y, ridges, sample_weight)
    np.testing.assert_allclose(left_out, expected, atol=1e-10)
    values, vectors = np.linalg.eigh(K)
    V = X if kernel == "linear" else vectors * np.sqrt(np.maximum(values, 0))
    low_rank = list(linalg.leave_one_out_low_rank(V, Y, ridges, sample_weight))
    np.testing.assert_allclose([rows for rows, _ in low_rank], expected, atol=1e-8)
    fitted = K @ np.linalg.solve(K + np.diag(ridges[1] / weights), Y)
    np.testing.assert_allclose(V @ low_rank[1][1], fitted, atol=1e-8)


def test_numerically_indefinite_matrix_gets_larger_ridge():
    rng = np.random.default_rng(0)
    vectors, _ = np.linalg.qr(rng.standard_normal((30, 30)))
    values = np.append(np.linspace(1, 2, 28), [-1e-6, 1e-6])
    K, Y = vectors * values @ vectors.T, rng.standard_normal((30, 2))
    K = (K + K.T) / 2
    A = K.copy()
    with pytest.raises(np.linalg.LinAlgError):
        invert_definite(A)
    np.testing.assert_array_equal(A, K)
    dual, ridge = ridge_solution(K.copy(), Y, 1e-8)
    assert 1e-6 < ridge < 1e-5
    np.testing.assert_allclose(K @ dual + ridge * dual, Y, atol=1e-6)
    R = np.linalg.inv(
        K + (1e-8 + linalg.definite_shift(K + 1e-8 * np.eye(30))) * np.eye(30)
    )
    residuals = Y - leave_one_out(K, Y, 1e-8)
    np.testing.assert_allclose(residuals, R @ Y / np.diag(R)[:, None], rtol=1e-6)
    with pytest.raises(ValueError, match="not finite"):
        ridge_solution(np.full((2, 2), np.nan), np.ones((2, 1)), 1.0)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [0.05, 0.2])
def test_single_precision_error_is_within_rounding(kernel, size):
    """Random errors of eps in the entries are a matrix of norm eps sqrt(n), relative to
    alpha.
    """
    X, y = load_breast_cancer(return_X_y=True)
    problem = scale(X), scale(y)[:, None], np.ones(len(X)), kernel
    scales, alpha = np.full(30, size), search.SINGLE_RIDGE * len(X)
    exact, *slopes = LeaveOneOutError(*problem)(scales, alpha)
    single, *single_slopes = LeaveOneOutError(*problem, single_from=alpha)(
        scales, alpha
    )
    bound = np.finfo(np.float32).eps * np.sqrt(len(X)) / alpha
    assert 0 < abs(single - exact) < 2 * bound
    for slope, expected in zip(single_slopes, slopes, strict=True):
        np.testing.assert_allclose(slope, expected, atol=2 * bound)


@settings(max_examples=20)
@given(st.sampled_from(KERNELS), st.integers(0, 10**6), st.floats(-3, 2))
def test_error_and_gradient(kernel, seed, log_alpha):
    X, Y, weights = make_problem(n=15, seed=seed)
    error = LeaveOneOutError(X, Y, weights, kernel)
    point = np.append(
        np.random.default_rng(seed).uniform(-1, 0.5, X.shape[1]), log_alpha
    )
    value, by_scale, by_alpha = error(np.exp(point[:-1]), np.exp(point[-1]))
    K = gram_matrix(X * np.exp(point[:-1]), kernel=kernel, gamma=1.0)
    residuals = Y - leave_one_out(K, Y, np.exp(point[-1]), weights)
    assert np.exp(value) == pytest.approx(
        np.sum(weights[:, None] * residuals**2) / weights.sum()
    )
    numeric = approx_derivative(
        lambda p: error(np.exp(p[:-1]), np.exp(p[-1]))[0], point
    )
    assert np.append(by_scale, by_alpha) == pytest.approx(numeric, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("criterion", [LeaveOneOutError, Evidence])
@pytest.mark.parametrize("kernel", KERNELS)
def test_scale_of_group_equals_equal_scales(kernel, criterion):
    """Its slope is the sum of their slopes."""
    X, Y, weights = make_problem(d=5)
    groups = np.array([0, 1, 1, 2, 1])
    scales = np.array([0.5, 1.3, 0.8])
    value, slopes, by_alpha = criterion(X, Y, weights, kernel)(scales[groups], 0.1)
    grouped = criterion(X, Y, weights, kernel, groups=groups)(scales, 0.1)
    assert grouped[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(grouped[1], np.bincount(groups, slopes), rtol=1e-9)
    assert grouped[2] == pytest.approx(by_alpha, rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_search_keeps_scales_of_a_group_equal(kernel):
    X, Y, weights = make_problem(n=80, d=4)
    groups = np.array([0, 1, 1, 2])
    Y = Y - np.average(Y, axis=0, weights=weights)
    rng = np.random.RandomState(0)
    (scales, _), _ = tune_scales(
        X, Y, weights, kernel, rng, per_feature=True, search=Search(groups=groups)
    )
    assert scales[1] == scales[2]
    assert len(np.unique(scales)) == 3


def log_likelihood(kernel, point, X, y, weights):
    """Log likelihood of a Gaussian process with weighted noise and
    optimal amplitude.
    """
    K = gram_matrix(X * np.exp(point[:-1]), kernel=kernel, gamma=1.0)
    covariance = K + np.diag(np.exp(point[-1]) / weights)

    def negative_log_likelihood(log_amplitude):
        amplitude = np.exp(log_amplitude)
        return -multivariate_normal.logpdf(y, cov=amplitude * covariance)

    return -minimize_scalar(negative_log_likelihood, bracket=(-2, 2)).fun


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(KERNELS), st.integers(0, 10**6), st.floats(-3, 2))
def test_evidence_equals_gaussian_process(kernel, seed, log_alpha):
    """Up to a constant common to two points, and the gradient by finite differences;
    for classes all columns but one are used.
    """
    X, Y, weights = make_problem(n=15, k=1, seed=seed)
    n, rng = len(X), np.random.default_rng(seed)
    points = [
        np.append(rng.uniform(-1, 0.5, X.shape[1]), log_alpha + j) for j in (0, 1)
    ]
    evidence = Evidence(X, Y, weights, kernel)

    def value(at, of=evidence):
        return of(np.exp(at[:-1]), np.exp(at[-1]))[0]

    expected = [log_likelihood(kernel, at, X, Y[:, 0], weights) for at in points]
    assert n / 2 * (value(points[1]) - value(points[0])) == pytest.approx(
        expected[0] - expected[1], rel=1e-6, abs=1e-6
    )
    indicators = np.eye(3)[rng.integers(0, 3, n)]
    indicators -= indicators.mean(axis=0)
    for of in (evidence, Evidence(X, indicators, weights, kernel)):
        at = points[0]
        _, by_scale, by_alpha = of(np.exp(at[:-1]), np.exp(at[-1]))
        numeric = approx_derivative(lambda at, of=of: value(at, of), at)
        found = np.append(by_scale, by_alpha)
        assert found == pytest.approx(numeric, rel=1e-4, abs=1e-6)


def test_evidence_overfits_less_than_leave_one_out_on_few_rows():
    """Two of twelve features matter; mean squared error of the function over draws."""

    def target(X):
        return np.sin(2 * X[:, 0]) + X[:, 1]

    errors = {False: [], True: []}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, new = rng.standard_normal((60, 12)), rng.standard_normal((500, 12))
        Y = (target(X) + 0.3 * rng.standard_normal(60))[:, None]
        for by_evidence, values in errors.items():
            member = KernelRidge(
                kernel="rbf",
                per_feature=True,
                search=Search(30, by_evidence=by_evidence),
                random_state=0,
            )
            predicted = member.fit(X, Y, np.ones(60)).predict(new)
            values.append(np.mean((predicted[:, 0] - target(new)) ** 2))
    assert np.mean(errors[True]) < 0.75 * np.mean(errors[False])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("max_support", [15, None])
def test_member_fitted_with_pytorch_is_equal_and_stores_arrays(kernel, max_support):
    """In the Nyström form and on all rows."""
    torch = pytest.importorskip("torch")
    X, Y, weights = make_problem(n=60)
    start = np.full(3, 0.7), 0.2
    options = {"start": start, "search": NO_SEARCH, "random_state": 0}
    unfitted = KernelRidge(kernel=kernel, **options)
    if max_support:
        unfitted = make_nystrom(kernel, max_support, **options)
    expected = copy(unfitted).fit(X, Y, weights)
    with device_context(put(torch, np.empty(0))):
        member = copy(unfitted)
        predicted = member.fit(X, Y, weights).predict(X)
    # The normal equations of the Nyström form lose half of the digits.
    np.testing.assert_allclose(predicted, expected.predict(X), rtol=1e-6)
    arrays = [v for name, v in vars(member).items() if name.endswith("_")]
    assert not any(isinstance(value, torch.Tensor) for value in arrays)


@pytest.mark.parametrize("kernel", KERNELS)
def test_scales_per_feature_identify_relevant_features(kernel):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((120, 6))
    Y = np.sin(2 * X[:, :1])
    (scales, _), _ = tune_scales(X, Y, np.ones(120), kernel, rng, per_feature=True)
    assert scales[0] > 3 * scales[1:].max()


@pytest.mark.parametrize("seed", [0, 3])
def test_search_is_as_good_as_grid_on_all_rows(seed):
    # The optimum on few rows may be a ridge so small that the gradient vanishes.
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((600, 8))
    Y = (
        np.sin(2 * X[:, :1])
        + X[:, 1:2] * X[:, 2:3]
        + 0.3 * rng.standard_normal((600, 1))
    )
    Y -= Y.mean()

    def error(scales, alpha):
        K = gram_matrix(X * scales, kernel="rbf", gamma=1.0)
        return np.mean((Y - leave_one_out(K, Y, alpha)) ** 2)

    found, _ = tune_scales(X, Y, np.ones(600), "rbf", np.random.RandomState(seed))
    grid = [(2.0**p, 10.0**q) for p in range(-4, 1) for q in range(-4, 1)]
    assert error(*found) < 1.03 * min(error(*point) for point in grid)


@given(
    st.integers(1, 10**5),
    st.integers(1, 5000),
    st.integers(500, 4000),
    st.integers(1, 4000),
)
def test_number_of_rows_increases_in_each_search_round(n, n_kept, most, fewest):
    rows = search.rows_of_search(n, n_kept, Search(10, most, fewest))
    assert rows[-1] <= min(n, most)
    assert rows[0] == min(fewest, rows[-1])
    assert all(now < then <= 2 * now for now, then in itertools.pairwise(rows))
    assert 8 * n_kept * rows[-1] * (rows[-1] - 1) / 2 <= search.PAIRS_BYTES


@pytest.mark.parametrize("kernel", KERNELS)
def test_predict_left_out_equals_fit_without_equal_rows(kernel):
    X, Y, weights = make_problem()
    X[1::5] = X[::5]
    fold = KernelRidge(kernel=kernel, random_state=0).fit(X[:18], Y[:18], weights[:18])
    expected = np.empty_like(Y)
    scaled, weights = X * fold.scales_, weights / weights.sum()
    for i in range(len(X)):
        rest = (X[i] != X).any(axis=1)
        K = gram_matrix(scaled[rest], kernel=kernel, gamma=1.0)
        # Merged, there are 20 distinct rows with mean weight 1.
        cross = gram_matrix(scaled[i : i + 1], scaled[rest], kernel=kernel, gamma=1.0)
        centred = Y[rest] - fold.intercept_
        for j, alpha in enumerate(fold.ridges_):
            A = K + alpha * np.diag(1 / (20 * weights[rest]))
            expected[i, j] = cross[0] @ np.linalg.solve(A, centred[:, j])
        expected[i] += fold.intercept_
    left_out = fold.predict_left_out(X, Y, weights)
    # Its distance between close rows is the root of a rounding error of 1e-16.
    atol = 1e-6 if kernel == "l2-laplacian" else 1e-8
    np.testing.assert_allclose(left_out, expected, rtol=1e-6, atol=atol)


def test_copies_are_left_out_together_in_nystrom_form():
    """Noise that is repeated four times is still noise."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 2)), rng.standard_normal((60, 1))
    X = X[np.lexsort(X.T)]  # in the order of merged rows, so that the centres are equal
    once = make_nystrom("rbf", 15).fit(X, Y, np.ones(60))
    four = [np.repeat(values, 4, axis=0) for values in (X, Y)]
    again = make_nystrom("rbf", 15).fit(*four, np.ones(240))
    assert again.alpha_ == pytest.approx(once.alpha_, rel=1e-3)
    assert again.alpha_ > 1
    np.testing.assert_allclose(again.predict(X), once.predict(X), atol=1e-3)


def test_ridge_below_rounding_of_distances_is_increased():
    """Rows that differ only in irrelevant features, as in mushroom."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=5)[rng.integers(0, 5, (400, 8))]
    scales = np.array([8.0, 8.0, *[1e-7] * 6])
    K = gram_matrix(X * scales, kernel="l2-laplacian", gamma=1.0)
    start = scales, 1e-8
    assert np.linalg.eigvalsh(K)[0] < -start[1], "no such problem on this machine"
    member = KernelRidge(
        kernel="l2-laplacian", start=start, search=NO_SEARCH, random_state=0
    )
    member.fit(X, X[:, :1], np.ones(400))
    assert 1e-8 < member.alpha_ < 1e-5
    np.testing.assert_allclose(member.predict(X), X[:, :1], atol=1e-4)


def test_smooth_function_uses_few_centres():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 1900, 1))
    for kernel, start, n_centres in (
        ("rbf", (np.ones(1), 0.1), FEWEST_CENTRES),
        ("laplacian", (np.full(1, 1e4), 1e-4), 600),
    ):
        model = make_nystrom(kernel, 600, start=start, search=NO_SEARCH)
        assert len(model.fit(X, Y, np.ones(1900)).support_) == n_centres


@pytest.mark.parametrize("kernel", KERNELS)
def test_fit_without_each_equals_least_squares_without_each_fold(kernel):
    X, Y, weights = make_problem(n=60)
    fold = np.arange(60) % 3
    member = make_nystrom(kernel, 15)
    *members, whole = member.fit_without_each(X, Y, weights, fold)
    assert len(members) == 3
    centred, weights = Y - whole.intercept_, weights / weights.mean()
    G = gram_matrix(whole.support_, kernel=kernel, gamma=1.0)
    for k, model in enumerate([*members, whole]):
        rest, model.local_.share = fold != k, 0.0
        K = gram_matrix(X[rest] * whole.scales_, whole.support_, kernel=kernel)
        A = K.T @ (weights[rest, None] * K) + whole.alpha_ * G
        dual = np.linalg.solve(A, K.T @ (weights[rest, None] * centred[rest]))
        expected = gram_matrix(X * whole.scales_, whole.support_, kernel=kernel) @ dual
        expected += whole.intercept_
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-6)


def test_distant_rows_cause_no_subnormal_numbers(monkeypatch):
    """Subnormal numbers can slow a factorisation by a factor of a hundred."""
    X = np.arange(400.0)[:, None]
    data = X, np.sin(X / 9), np.ones(400), "rbf"
    inverses = []

    def record_inverse(A):
        inverses.append(invert_definite(A))
        return inverses[-1]

    monkeypatch.setattr(search, "invert_definite", record_inverse)
    value, *_ = LeaveOneOutError(*data, single_from=0)(np.ones(1), 0.5)
    exact, *_ = LeaveOneOutError(*data)(np.ones(1), 0.5)
    sizes = np.abs(inverses[0])
    assert sizes.dtype == np.float32
    assert sizes[sizes > 0].min() >= np.finfo(np.float32).smallest_normal
    assert value == pytest.approx(exact, abs=1e-5)

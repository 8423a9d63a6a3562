"""The kernel selector: Algorithm 1, its references, its limits."""

import tracemalloc

import numpy as np
import pytest

from adakern.kernels import gram_matrix, resolve_gamma
from adakern.nystrom import NystromKernelSelector
from adakern.nystrom.criteria import CRITERIA, DenseKernel
from adakern.nystrom.samplers import SAMPLERS
from adakern.nystrom.selector import REFERENCES

GRID = {"gamma": [2.0**e for e in range(-6, 3, 2)]}


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).uniform(-1, 1, size=(90, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


@pytest.fixture(scope="module")
def exact(data):
    return NystromKernelSelector(param_grid=GRID, sampling="exact").fit(*data)


def test_exact_sampling_selects_no_columns(data, exact):
    assert exact.best_params_ == {"gamma": GRID["gamma"][exact.criterion_.argmin()]}
    assert exact.columns_ is None
    with pytest.raises(ValueError, match="sampling='exact' chooses no columns"):
        exact.transform(data[0])


@pytest.mark.parametrize("sampling", [*SAMPLERS, "optimal"])
def test_criterion_at_least_exact_and_equal_with_all_columns(data, exact, sampling):
    options = {"param_grid": GRID, "sampling": sampling, "random_state": 0}
    few, all_ = (
        NystromKernelSelector(n_columns=n, **options).fit(*data) for n in (0.2, 1.0)
    )
    assert np.all(few.criterion_ >= exact.criterion_ - 1e-8)
    assert np.max(few.criterion_ - exact.criterion_) > 1e-4  # it is an approximation
    np.testing.assert_allclose(all_.criterion_, exact.criterion_, rtol=1e-6)
    assert all_.best_params_ == exact.best_params_


@pytest.mark.parametrize("name", CRITERIA)
def test_criteria_several_kernels_and_ridges(data, name):
    X, y = data
    grid = [
        {"kernel": ["rbf", "laplacian"], "gamma": [0.5], "ridge": [0.001, 0.1]},
        {"kernel": ["poly"], "degree": [2, 3], "gamma": ["scale"]},
        {"kernel": ["linear"]},
    ]
    options = {"criterion": name, "sampling": "uniform", "n_columns": 90}
    selector = NystromKernelSelector(param_grid=grid, **options).fit(X, y)
    Y = np.where(y == "yes", 1.0, -1.0)[:, None]
    for candidate, value in zip(selector.candidates_, selector.criterion_, strict=True):
        params = {"gamma": "scale", **candidate}
        ridge = params.pop("ridge", 0.005)
        params["gamma"] = resolve_gamma(params["gamma"], X)
        dense = CRITERIA[name](DenseKernel(gram_matrix(X, **params)), Y, ridge)
        assert value == pytest.approx(dense, rel=1e-6)
    assert len(selector.candidates_) == 7


def test_regression_and_multiclass(data):
    X, _ = data
    y = np.sin(3 * X[:, 0]) + 0.01
    options = {"param_grid": GRID, "sampling": "greedy-criterion", "random_state": 0}
    smooth = NystromKernelSelector(**options).fit(X, y)
    K = gram_matrix(X, **smooth.best_params_) + 0.005 * 90 * np.eye(90)
    assert smooth.best_score_ >= 0.005 * y @ np.linalg.solve(K, y)
    whole = np.digitize(y, [-0.4, 0.4])
    assert 0 < NystromKernelSelector(**options).fit(X, whole).best_score_ < 1
    assert (
        NystromKernelSelector(task="regression", **options)
        .fit(X, 10 * whole)
        .best_score_
        > 1
    )


def test_rank_truncates(data):
    options = {"param_grid": GRID, "sampling": "uniform", "random_state": 0}
    full = NystromKernelSelector(**options).fit(*data)
    low = NystromKernelSelector(rank=3, **options).fit(*data)
    assert np.all(low.criterion_ >= full.criterion_ - 1e-9)
    assert np.linalg.matrix_rank(low.transform(data[0])) == 3


def test_singular_and_constant_kernels_match_dense():
    X = np.repeat(np.arange(4.0)[:, None], 6, axis=0)  # every row six times
    y = np.repeat([0, 1, 0, 1], 6)
    grid = {"gamma": [1e-30, 1.0, 1e30]}
    reference = NystromKernelSelector(param_grid=grid, sampling="exact").fit(X, y)
    for sampling in SAMPLERS:
        options = {"sampling": sampling, "n_columns": 1.0, "random_state": 0}
        selector = NystromKernelSelector(param_grid=grid, **options).fit(X, y)
        np.testing.assert_allclose(selector.criterion_, reference.criterion_, rtol=1e-9)


@pytest.mark.parametrize("sampling", [*SAMPLERS, *REFERENCES])
def test_overflowing_candidate_is_left_out(data, sampling):
    X, y = data
    grid = {"kernel": ["poly"], "degree": [2, 400], "gamma": [10.0]}
    with pytest.warns(UserWarning, match="'degree': 400.* overflow"):
        selector = NystromKernelSelector(param_grid=grid, sampling=sampling).fit(X, y)
    assert selector.best_params_["degree"] == 2 and selector.criterion_[1] == np.inf
    with (
        pytest.warns(UserWarning, match="overflow"),
        pytest.raises(ValueError, match="no candidate kernel has a finite criterion"),
    ):
        NystromKernelSelector(
            param_grid={"kernel": ["poly"], "degree": [400], "gamma": [10.0]},
            sampling=sampling,
        ).fit(X, y)


@pytest.mark.parametrize(
    ("sampling", "n_failed"), [("exact", 1), ("ridge-leverage", 2)]
)
def test_unfactorisable_candidate_is_left_out(data, sampling, n_failed):
    options = {
        "param_grid": {"gamma": [1e-6, 100.0], "ridge": [1e-18, 1.0]},
        "ridge": 1e-18,
    }
    with pytest.warns(UserWarning, match=r"'gamma': 1e-06.* is left out"):
        selector = NystromKernelSelector(
            sampling=sampling, random_state=0, **options
        ).fit(*data)
    assert np.isinf(selector.criterion_).tolist() == [True] * n_failed + [False] * (
        4 - n_failed
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param_grid": {"gama": [1]}}, "Did you mean 'gamma'"),
        ({"param_grid": {"gamma": [0.0]}}, "'gamma' parameter of param_grid must be"),
        (
            {"param_grid": {"kernel": ["tl1"]}},
            "'kernel' parameter of param_grid must be",
        ),
        ({"param_grid": {"ridge": [-1]}}, "'ridge' parameter of param_grid"),
        ({"param_grid": {"degree": [2.5]}}, "'degree' parameter of param_grid"),
        ({"param_grid": []}, "param_grid is empty"),
        ({"n_columns": 0}, "n_columns"),
        ({"n_columns": 10, "rank": 11}, "rank must be at most .* 10, got 11"),
        ({"sampling": "greedy"}, "sampling"),
    ],
)
def test_invalid_parameters(data, options, message):
    with pytest.raises(ValueError, match=message):
        NystromKernelSelector(**options).fit(*data)


def peak_memory(l, **options):
    """Peak memory in bytes of a fit on l rows."""
    X = np.random.default_rng(0).normal(size=(l, 2))
    selector = NystromKernelSelector(
        param_grid={"gamma": [0.5]}, random_state=0, **options
    )
    tracemalloc.start()
    selector.fit(X, np.sign(X[:, 0]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("sampling", sorted(set(SAMPLERS) - {"leverage"}))
def test_peak_memory_linear_in_rows(sampling):
    """Peak memory O(l c): a few (l, c) matrices, and linear in l at fixed c."""
    half, whole = (
        peak_memory(l, sampling=sampling, n_columns=64) for l in (1500, 3000)
    )
    assert whole < 8 * (8 * 3000 * 64)  # K alone takes 47 times (8 l c)
    assert whole < 2.5 * half


def test_peak_memory_sees_gram_matrix():
    assert peak_memory(1500, sampling="exact") > 8 * 1500**2

"""DANK's exact solution, compared with independent solvers."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize._numdiff import approx_derivative
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

from adakern.dank import DANKClassifier, DANKRegressor, objective
from adakern.kernels import gram_matrix
from dank.oracle import dual_of, objective_of, problem, solve_dank

TIGHT = 1e-8


def make_model(task, **parameters):
    kind = DANKRegressor if task == "regression" else DANKClassifier
    return kind(gamma=0.5, **{"tol": TIGHT, **parameters})


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "n, C, eta, tau",
    [
        (12, 2.0, 0.3, 0.01),
        (20, 0.5, 5.0, 0.1),
        (20, 10.0, 20.0, 0.0),
        (16, 2.0, 1.0, 1.0),
        pytest.param(40, 1.0, 2.0, 0.01, marks=pytest.mark.slow),
    ],
)
def test_exact_solution_equals_semidefinite_program(
    task, fit_intercept, n, C, eta, tau
):
    X, y = problem(n, 3, task)
    fitted = make_model(task, C=C, eta=eta, tau=tau, fit_intercept=fit_intercept).fit(
        X, y
    )
    # A Gram matrix that differs from DANK's own by rounding.
    K = rbf_kernel(X, gamma=0.5)
    value, F = solve_dank(K, dual_of(task, y, C, fit_intercept), eta, tau)
    assert_allclose(fitted.objective_, value, rtol=1e-6)
    Z = fitted.adaptive_factor_
    assert_allclose(Z @ Z.T, F, atol=1e-4)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("method", ["newton", "accelerated"])
@pytest.mark.parametrize("tau", [0.0, 0.01])
def test_duality_gap_is_below_tolerance(task, method, tau):
    X, y = problem(60, 5, task)
    fitted = make_model(task, C=4.0, eta=2.0, tau=tau, method=method, tol=1e-5).fit(
        X, y
    )
    assert fitted.converged_
    # The regulariser of F is non-negative, so the objective is a larger scale.
    assert fitted.duality_gap_ <= 1e-5 * fitted.objective_
    lengths = {name: len(column) for name, column in fitted.history_.items()}
    assert lengths == dict.fromkeys(
        ("objective", "gap", "step", "seconds"), fitted.n_iter_ + 1
    )
    assert fitted.history_["objective"][-1] == fitted.objective_


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("tau", [0.0, 0.05])
def test_hessian_equals_finite_differences(task, tau, monkeypatch):
    X, y = problem(10, 7, task)
    dual = dual_of(task, y, 2.0)
    K, eta = gram_matrix(X, gamma=0.5), 0.4
    h = objective_of(K, dual, eta, tau)
    u = np.random.default_rng(0).uniform(0.2, 1.8, len(dual.signs))
    point, E = h(u), np.column_stack([dual.coefficients(e) for e in np.eye(len(u))])
    expected = -approx_derivative(lambda v: h(v).gradient, u)
    if tau:  # eigenvalues below the threshold are treated as zero
        hessian, error = h.hessian(point), 0.05 * np.abs(expected).max()
        assert_allclose(E.T @ hessian @ E, expected, atol=error)
        monkeypatch.setattr(
            objective, "row_blocks", lambda n, *_: [slice(0, 3), slice(3, n)]
        )
        assert_allclose(h.hessian(point), hessian, atol=1e-10)
        return
    here = h.at(point.d)
    assert_allclose(E.T @ here.hessian() @ E, expected, atol=1e-6)
    for rows in (
        [7, 2],
        [2, 4, 7, 8],
        [8, 4],
        [0, 1, 2, 3, 4, 9],
    ):  # stored blocks and others
        block = here.hessian(np.array(rows))
        assert_allclose(block, here.hessian()[np.ix_(rows, rows)], atol=1e-12)


@pytest.mark.parametrize("n, n_support", [(30, 30), (30, 12), (400, 400), (400, 60)])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_objective_equals_dense_computation(task, n, n_support):
    """With dense and iterative eigenvalues, for all rows and few support vectors."""
    X, y = problem(n, 9, task)
    dual, eta, tau = dual_of(task, y, 2.0), 0.7, 0.2
    K = gram_matrix(X, gamma=0.5)
    rng = np.random.default_rng(1)
    u = rng.uniform(-2, 2, len(dual.signs))
    u.reshape(-1, n)[:, rng.permutation(n)[n_support:]] = 0.0
    u = np.clip(u, 0.0, 2.0)
    F = objective.best_factor(u, K, dual, eta, tau)
    point = objective_of(K, dual, eta, tau)(u)
    assert_allclose(
        point.value, objective.saddle_value(u, F, K, dual, eta, tau), rtol=1e-12
    )
    assert_allclose(point.gradient, objective.saddle_gradient(u, F, K, dual), rtol=1e-9)
    assert_allclose(point.gap, objective.duality_gap(u, F, K, dual), rtol=1e-8)
    # With the rounding tolerance n eps times the largest eigenvalue, which is 400.
    assert len(point.parts["f"]) == np.linalg.matrix_rank(F, hermitian=True)


@pytest.mark.parametrize("tau", [0.0, 1e-9])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_large_eta_equals_svm(task, tau):
    X, y = problem(60, 13, task)
    svm = (SVR if task == "regression" else SVC)(C=2.0, gamma=0.5, tol=1e-9).fit(X, y)
    fitted = make_model(task, C=2.0, eta=1e9, tau=tau).fit(X, y)
    new = np.random.default_rng(0).normal(size=(20, 3))
    decide = "predict" if task == "regression" else "decision_function"
    assert_allclose(getattr(fitted, decide)(new), getattr(svm, decide)(new), atol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("strategy", ["exact", "decomposed", "whole"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_default_eta_does_not_depend_on_tolerance_of_libsvm(task, strategy, offset):
    X, y = problem(60, 15, task)
    kind = SVR if task == "regression" else SVC
    svm = kind(C=2.0, gamma=0.5, tol=1e-10).fit(X, y)
    eta = float((svm.dual_coef_**2).sum())
    options = {"C": 2.0, "strategy": strategy, "n_clusters": 1}
    assert_allclose(
        make_model(task, tol=1e-4, **options).fit(X + offset, y).eta_, eta, rtol=1e-4
    )
    assert make_model(task, tol=1e-4, eta=3.0, **options).fit(X, y).eta_ == 3.0


@pytest.mark.parametrize("strategy", ["exact", "decomposed", "whole"])
@pytest.mark.filterwarnings("error")
def test_default_eta_is_exact_if_libsvm_stops_early(strategy):
    X, y = (
        1000 * np.random.default_rng(0).normal(size=(40, 2)),
        np.repeat([1.0, -1.0], 20),
    )
    dual = cp.Variable(40)
    value = cp.sum(dual) - cp.sum_squares(X.T @ cp.multiply(y, dual)) / 2
    cp.Problem(cp.Maximize(value), [dual >= 0, dual <= 10, y @ dual == 0]).solve(
        "CLARABEL"
    )
    # Non-negative least squares of SciPy 1.12 fails on numbers as large as these.
    parameters = {"kernel": "linear", "C": 10.0, "extension": "none"}
    fitted = make_model("classification", strategy=strategy, **parameters).fit(X, y)
    assert_allclose(fitted.eta_, (dual.value**2).sum(), rtol=1e-4)


@pytest.mark.parametrize(
    "task, kernel, tau",
    [("classification", "rbf", 1.0), ("regression", "linear", 0.01)],
)
def test_convergence_with_large_C(task, kernel, tau):
    # The gap is the sum over the rows of C times their errors.
    X, y = problem(200, 27, task)
    parameters = {"C": 1000.0, "eta": 1.0, "tau": tau, "tol": 1e-4}
    fitted = make_model(task, kernel=kernel, **parameters).fit(X, y)
    assert fitted.converged_
    assert fitted.n_iter_ < 20


def test_steps_that_are_too_long_do_not_alternate():
    """With C and tau as large as these, rounding hides what a step gains."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-3, 3, (120, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=120)
    C, eta, tau = 3e5, 5e12, 0.1
    fitted = make_model("regression", C=C, eta=eta, tau=tau, tol=1e-4, max_iter=100)
    fitted.fit(X, y)
    assert fitted.converged_
    dual, K = dual_of("regression", y, C), rbf_kernel(X, gamma=0.5)
    d = np.zeros(120)
    d[fitted.support_] = fitted.dual_coef_[0]
    Z = fitted.adaptive_factor_
    u = np.concatenate([np.maximum(d, 0), np.maximum(-d, 0)])
    gap = objective.duality_gap(u, Z @ Z.T, K, dual)
    assert gap <= 2e-4 * abs(dual.linear @ u - d @ ((Z @ Z.T) * K) @ d / 2)


def test_steps_reach_the_bend_of_the_objective_at_once():
    """h is nearly straight until an eigenvalue of F becomes positive."""
    X, y = make_circles(150, noise=0.2, factor=0.6, random_state=1)
    fitted = make_model("classification", C=3e5, tau=0.1, tol=1e-4).fit(X, y)
    assert fitted.converged_
    assert fitted.n_iter_ <= 30  # 40 with steps that shrink to a tenth at most


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.slow
def test_steps_pass_the_bend_with_large_kernel_values():
    """Steps of half the way to it stopped before it, in four of these problems."""
    converged = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(70, 2))
        y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=70)
        model = DANKRegressor(
            0.6, kernel="poly", gamma=70.0, tau=5.0, epsilon=0.0, extension="none"
        )
        converged += (
            model.set_params(fit_intercept=False, max_iter=150).fit(X, y).converged_
        )
    assert converged >= 6

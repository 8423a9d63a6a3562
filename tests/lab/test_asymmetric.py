"""AsymmetricKernelRidge against theorem 1 and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize._numdiff import approx_derivative
from sklearn.kernel_ridge import KernelRidge

from adakern.lab import AsymmetricKernelRidge


@pytest.fixture
def problem(rng):
    """Two explicit feature maps phi(x) = A x, psi(x) = B x, and a target."""
    A, B = np.eye(5) + 0.3 * rng.normal(size=(2, 5, 5))
    X = rng.normal(size=(12, 5))
    return A, B, X, np.sin(X[:, 0]) + X[:, 1]


def kernel_of(A, B):
    return lambda X, T: (X @ A.T) @ (T @ B.T).T


def test_solution_is_stationary_point(problem):
    A, B, X, y = problem
    alpha = 0.3
    phi, psi = X @ A.T, X @ B.T
    model = AsymmetricKernelRidge(kernel_of(A, B), alpha=alpha).fit(X, y)
    w, v = psi.T @ model.dual_coef_, phi.T @ model.right_dual_coef_

    def objective(wv):
        w, v = wv[:5], wv[5:]
        return alpha * w @ v + (phi @ w - y) @ (psi @ v - y)

    point = np.concatenate([w, v])
    assert_allclose(approx_derivative(objective, point), 0, atol=1e-7)
    # The finite difference does see a point that is not stationary.
    assert abs(objective(point + 0.1) - objective(point)) > 1e-3
    T = X[:4] + 0.1
    assert_allclose(model.predict(T), T @ A.T @ w)
    assert_allclose(model.predict(T, side="right"), T @ B.T @ v)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
def test_symmetric_kernel_matches_kernel_ridge(problem, kernel):
    _, _, X, y = problem
    targets = np.column_stack([y, y**2])
    ours = AsymmetricKernelRidge(kernel, alpha=0.1, gamma=0.5).fit(X, targets)
    theirs = KernelRidge(kernel=kernel, alpha=0.1, gamma=0.5).fit(X, targets)
    T = X[:5] * 0.9
    assert_allclose(ours.predict(T), theirs.predict(T), rtol=1e-8)
    assert_allclose(ours.predict(T, side="right"), theirs.predict(T), rtol=1e-8)


def test_integer_kernel_is_cast_to_float():
    X, y = (
        np.random.default_rng(0).integers(0, 3, (20, 4)).astype(float),
        np.arange(20.0),
    )

    def kernel(X, T):
        return (X[:, None, :] == T).sum(axis=2)

    expected = KernelRidge(kernel="precomputed", alpha=1).fit(kernel(X, X) + 0.0, y)
    ours = AsymmetricKernelRidge(kernel, alpha=1).fit(X, y)
    assert_allclose(ours.predict(X), expected.predict(kernel(X, X) + 0.0))


def test_precomputed_matches_callable(problem):
    A, B, X, y = problem
    kernel, T = kernel_of(A, B), X[:4] + 1
    ours = AsymmetricKernelRidge(kernel).fit(X, y)
    precomputed = AsymmetricKernelRidge("precomputed").fit(kernel(X, X), y)
    assert_allclose(precomputed.predict(kernel(T, X)), ours.predict(T))
    assert_allclose(
        precomputed.predict(kernel(X, T).T, side="right"), ours.predict(T, side="right")
    )


@pytest.mark.parametrize("returned", [1.0, [[1.0]], None, np.full((3, 3), np.nan)])
def test_callable_that_returns_no_kernel_matrix_raises(returned):
    model = AsymmetricKernelRidge(lambda X, T: returned)
    with pytest.raises(ValueError, match=r"kernel=.* shape \(3, 3\)"):
        model.fit(np.eye(3), [1.0, 2.0, 3.0])


def test_error_messages(problem):
    _, _, X, y = problem
    with pytest.raises(ValueError, match=r"singular at alpha=1\.0"):
        AsymmetricKernelRidge("precomputed", alpha=1.0).fit(-np.eye(len(X)), y)
    with pytest.raises(ValueError, match="'left' or 'right'"):
        AsymmetricKernelRidge().fit(X, y).predict(X, side="middle")
    with pytest.raises(ValueError, match="square matrix"):
        AsymmetricKernelRidge("precomputed").fit(X, y)

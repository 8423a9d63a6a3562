"""Numerics that more than one estimator family needs."""

import numpy as np
from array_api_compat import array_namespace, is_numpy_array, is_torch_array
from scipy.linalg import cho_factor, cho_solve

__all__ = ["add_to_diagonal", "factorised", "project_onto_feasible"]


def project_onto_feasible(v, y, C, total=0.0):
    """Euclidean projection onto ``{0 <= a <= C, y'a = total}``, exactly.

    The projection is ``clip(v - t y, 0, C)`` for the scalar t at which the equality
    holds; ``y'clip(v - t y, 0, C)`` is non-increasing and piecewise linear in t, so t
    is found on its sorted breakpoints in O(n log n). (The alternating steps of the DANK
    paper end at a point of the set, not at the nearest one.)

    Parameters
    ----------
    v : ndarray of shape (n,)
        Point to project.
    y : ndarray of shape (n,)
        Signs, -1 or +1.
    C : float or ndarray of shape (n,)
        Upper bounds, positive.
    total : float, default=0.0
        Value of y'a.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.linalg import project_onto_feasible
    >>> project_onto_feasible(np.array([2.0, 0.0]), np.array([1.0, -1.0]), C=1.0)
    array([1., 1.])
    """
    # With u = y a the bounds are [0, C] for y = +1, [-C, 0] for y = -1,
    # and the projection is clip(y v - t).
    upper = np.where(y > 0, C, 0.0)
    lower = np.where(y > 0, 0.0, -np.asarray(C, dtype=v.dtype))
    u = y * v
    breakpoints = np.sort(np.concatenate([u - upper, u - lower]))

    def excess(t):
        return np.clip(u - t, lower, upper).sum() - total

    left, right = 0, len(breakpoints) - 1
    while right - left > 1:
        middle = (left + right) // 2
        if excess(breakpoints[middle]) > 0:
            left = middle
        else:
            right = middle
    a, b = breakpoints[left], breakpoints[right]
    excess_a, excess_b = excess(a), excess(b)
    t = a if excess_a == excess_b else a + (b - a) * excess_a / (excess_a - excess_b)
    return np.abs(np.clip(u - t, lower, upper))


def add_to_diagonal(A, values):
    """The square matrix A with values (n,) added to its diagonal.

    In place where the array library lets the matrix be viewed as a vector (NumPy,
    PyTorch); use the returned matrix, not A, afterwards.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.linalg import add_to_diagonal
    >>> add_to_diagonal(np.zeros((2, 2)), np.array([1.0, 2.0]))
    array([[1., 0.],
           [0., 2.]])
    """
    xp = array_namespace(A)
    flat = xp.reshape(A, (-1,))
    flat[:: A.shape[0] + 1] += values
    return xp.reshape(flat, A.shape)


def factorised(A):
    """A function ``b -> A^-1 b`` for a symmetric positive definite A.

    One Cholesky factorisation serves any number of right-hand sides. A matrix that
    rounding has made indefinite gets the smallest ridge (a power of 100 times the
    rounding of its trace) with which the factorisation runs through.

    Parameters
    ----------
    A : array of shape (n, n)
        Of NumPy, PyTorch or any array-API library. The array-API standard has no
        triangular solver: other libraries pay a general solve for each call.

    Returns
    -------
    callable
        Takes and returns an array of shape (n,).

    Raises
    ------
    ValueError
        If A is far from positive definite, or holds NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.linalg import factorised
    >>> factorised(np.diag([2.0, 4.0]))(np.array([2.0, 2.0]))
    array([1. , 0.5])
    """
    xp = array_namespace(A)
    if not (is_numpy_array(A) or is_torch_array(A)):
        return lambda b: xp.linalg.solve(A, b)
    ridge = 0.0
    rounding = float(xp.finfo(A.dtype).eps) * float(xp.linalg.trace(A))
    while ridge <= 1e9 * rounding:
        try:
            return _cholesky_solver(add_to_diagonal(A, ridge * xp.ones_like(A[0, :])))
        except (np.linalg.LinAlgError, RuntimeError):  # PyTorch's is a RuntimeError.
            ridge = 100 * ridge or rounding
    raise ValueError(
        f"a matrix of shape {tuple(A.shape)} is not finite or not positive definite, "
        f"nor with {ridge:.2g} on its diagonal; use a positive semidefinite kernel"
    )


def _cholesky_solver(A):
    if is_numpy_array(A):
        factor = cho_factor(A, lower=True, check_finite=False)
        return lambda b: cho_solve(factor, b, check_finite=False)
    xp = array_namespace(A)
    factor = xp.linalg.cholesky(A)
    return lambda b: xp.cholesky_solve(b[:, None], factor)[:, 0]

"""Numerics that more than one estimator family needs."""

import numpy as np
import scipy.linalg

__all__ = ["leading_eigenpairs", "project_onto_feasible"]


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


def leading_eigenpairs(A, threshold, *, start=None, tol=1e-8):
    """Eigenpairs of a symmetric matrix whose eigenvalue exceeds ``threshold``.

    Block Lanczos with restarts: the Ritz vectors of the last round and two
    multiplications by A of their residuals span the next basis. A warm start from the
    vectors of a nearby matrix usually needs a single round. Where many eigenvalues lie
    above the threshold the dense decomposition takes over.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Symmetric.
    threshold : float
    start : ndarray of shape (n, k), default=None
        Approximate eigenvectors; a fixed pseudo-random block when None.
    tol : float, default=1e-8
        Frobenius norm of the residual ``A U - U diag(values)`` that is small enough.

    Returns
    -------
    values : ndarray of shape (r,)
        Falling.
    vectors : ndarray of shape (n, r)
        Orthonormal.
    block : ndarray of shape (n, k), k >= r
        What to hand over as ``start`` for the next, nearby matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.linalg import leading_eigenpairs
    >>> values, vectors, _ = leading_eigenpairs(np.diag([3.0, 0.5, 2.0]), 1.0)
    >>> values.round(6)
    array([3., 2.])
    """
    n = len(A)
    X = _start_block(n, 8) if start is None else start
    while 10 * X.shape[1] < n:
        found = _block_lanczos(A, X, threshold, tol)
        if found is not None:
            return found
        X = np.hstack([X, _start_block(n, X.shape[1])])
    values, vectors = scipy.linalg.eigh(A, subset_by_value=(threshold, np.inf))
    values, vectors = values[::-1], vectors[:, ::-1]
    return values, vectors, vectors if vectors.shape[1] else _start_block(n, 1)


def _start_block(n, width):
    """Ones (the leading eigenvector of 11' + Gamma) beside fixed random columns."""
    block = np.random.default_rng(width).standard_normal((n, width))
    block[:, 0] = 1.0
    return block


def _block_lanczos(A, X, threshold, tol, max_rounds=20):
    """The pairs above the threshold, or None if the block is too narrow for them."""
    width = X.shape[1]
    basis = _orthonormal(X)
    image = A @ basis
    for _ in range(max_rounds):
        ritz, rotation = np.linalg.eigh(basis.T @ image)
        ritz, rotation = ritz[: -width - 1 : -1], rotation[:, : -width - 1 : -1]
        basis, image = basis @ rotation, image @ rotation
        residual = image - basis * ritz
        # An eigenvalue lies within the length of the residual of each Ritz value.
        undecided = ritz + np.linalg.norm(residual, axis=0) > threshold
        wanted = ritz > threshold
        if wanted.all():
            return None
        if np.linalg.norm(residual[:, undecided]) <= tol:
            return ritz[wanted], basis[:, wanted], basis
        step = residual
        for _ in range(2):
            step = _orthonormal(step, against=basis)
            if not step.shape[1]:
                break
            step_image = A @ step
            basis = np.hstack([basis, step])
            image = np.hstack([image, step_image])
            step = step_image
    return None


def _orthonormal(X, against=None):
    """Orthonormal basis of the columns of X, orthogonal to ``against``."""
    scale = np.abs(X).max(initial=0.0)
    if against is not None:
        for _ in range(2):  # the second pass removes what rounding left of the first
            X = X - against @ (against.T @ X)
    Q, R = np.linalg.qr(X)
    return Q[:, np.abs(np.diag(R)) > 1e-12 * scale]

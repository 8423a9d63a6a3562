"""Linear algebra shared by several estimator families."""

from bisect import bisect_left

import numpy as np
from array_api_compat import array_namespace, is_numpy_array, is_torch_array
from scipy.linalg import eigh
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dpstrf, spotrf, spotri, spotrs

from adakern._utils.resources import CACHE_BYTES

#: Maximum number of columns, and minimum number of rows, for which a symmetric matrix
#: is multiplied by one vector at a time. This reads only half of the matrix, which is
#: faster if it does not fit into the cache.
FEW_COLUMNS, MANY_ROWS = 5, 2000

#: Up to this number of columns, systems are solved one by one, so that a solution does
#: not depend on the other columns, not even by rounding.
MANY_COLUMNS = 50

#: LAPACK's factorisation, solution and inverse for a dtype.
CHOLESKY = {"d": (dpotrf, dpotrs, dpotri), "f": (spotrf, spotrs, spotri)}

#: Maximum number of rounds of Lanczos before it is restarted with a wider block.
MOST_ROUNDS = 20

#: Number of rows up to which a dense eigendecomposition is as fast as Lanczos.
DENSE_ROWS = 200


def ranked_eigh(D, rank=None):
    """Eigenpairs of a positive semidefinite matrix, and its numerical rank."""
    values, vectors = np.linalg.eigh(D)
    floor = len(D) * np.finfo(values.dtype).eps * max(values[-1], 0)
    r = int(np.sum(values > floor))
    return values, vectors, len(D) - (r if rank is None else min(r, rank))


def largest_eigenpairs(A, count=None, above=None):
    """The ``count`` largest eigenvalues, or those above a value, and eigenvectors.

    They are in ascending order. LAPACK's algorithm for a part of the eigenvalues fails
    for some matrices with repeated ones, of which all are then computed.
    """
    part = {"subset_by_value": (above, np.inf)}
    if above is None:
        part = {"subset_by_index": [len(A) - count, len(A) - 1]}
    try:
        return eigh(A, **part)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(A)
        first = (
            len(A) - count if above is None else np.searchsorted(values, above, "right")
        )
        return values[first:], vectors[:, first:]


def inverse_square_root(D, rank=None):
    """Return B with ``B B' = D_k^+``, so that ``C B`` is a factor of ``C D_k^+ C'``."""
    values, vectors, start = ranked_eigh(D, rank)
    return vectors[:, start:] / np.sqrt(values[start:])


def project_onto_feasible(v, y, C, total=0.0):
    """Exact Euclidean projection onto ``{0 <= a <= C, y'a = total}``.

    It is ``clip(v - t y, 0, C)`` for the scalar t at which the equality holds, found on
    the sorted breakpoints of the piecewise linear ``y'clip(v - t y, 0, C)`` in O(n log
    n).
    """
    # With u = y a the bounds are [0, C] for y = +1, [-C, 0] for y = -1,
    # and the projection is clip(y v - t).
    upper = np.where(y > 0, C, 0.0)
    lower = np.where(y > 0, 0.0, -np.asarray(C, dtype=v.dtype))
    u = y * v
    inside = (lower <= u).all() and (u <= upper).all()
    if inside and abs(u.sum() - total) <= np.finfo(v.dtype).eps * np.abs(v).sum():
        return v.copy()  # rounding could move variables off their bounds
    breakpoints = np.sort(np.concatenate([u - upper, u - lower]))

    def excess(t):
        return np.clip(u - t, lower, upper).sum() - total

    right = bisect_left(
        breakpoints, 0.0, 1, len(breakpoints) - 1, key=lambda t: -excess(t)
    )
    a = breakpoints[right - 1]
    b = breakpoints[right]
    excess_a = excess(a)
    excess_b = excess(b)
    t = a if excess_a == excess_b else a + (b - a) * excess_a / (excess_a - excess_b)
    return np.abs(np.clip(u - t, lower, upper))


def project_onto_simplex(v):
    """Euclidean projection onto the probability simplex ``{w >= 0, 1'w = 1}``."""
    return project_onto_feasible(v, np.ones(len(v)), C=1.0, total=1.0)


def is_positive_semidefinite(K):
    """Whether the symmetric K is positive semidefinite, up to rounding errors.

    No eigenvalue may be below -1e-8 times their mean size.
    """
    size = max(np.abs(np.diag(K)).mean(), np.abs(K).mean())
    shifted = K + (1e-8 * size + np.finfo(K.dtype).tiny) * np.eye(len(K))
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True


def require_positive_semidefinite(K, kernel, method):
    """Raise ValueError if the Gram matrix of the named kernel is indefinite."""
    if not is_positive_semidefinite(K):
        values = np.linalg.eigvalsh(K)
        raise ValueError(
            f"the Gram matrix of kernel={kernel!r} is not positive semidefinite: its "
            f"smallest eigenvalue is {values[0]:.4g}, the largest {values[-1]:.4g}. "
            f"{method} needs a positive semidefinite kernel; clip or shift the "
            'spectrum, or use kernel="rbf" or "laplacian"'
        )


def symmetric_product(K, X):
    """``K X`` for symmetric K: twice as fast for few columns and large K."""
    columns = X.reshape(len(X), -1)
    if len(K) < MANY_ROWS or columns.shape[1] > FEW_COLUMNS:
        return K @ X
    # The transpose is the same matrix in the memory order of BLAS.
    products = [dsymv(1.0, K.T, column, lower=1) for column in columns.T]
    return np.column_stack(products).reshape(X.shape)


def numerical_rank(A, n_rows):
    """Rank of a positive semidefinite matrix: number of pivots above ``n_rows eps
    trace(A)``."""
    threshold = n_rows * np.finfo(float).eps * np.trace(A)
    _, _, rank, _ = dpstrf(A, tol=threshold, lower=True)
    return int(rank)


def principal_submatrix(A, rows):
    """Copy of the rows and columns ``rows`` of a square matrix."""
    take = array_namespace(A).take
    return take(take(A, rows, axis=0), rows, axis=1)


def add_to_diagonal(A, values):
    """Add values (n,) to the diagonal of a square matrix, in place if possible."""
    xp = array_namespace(A)
    flat = xp.reshape(A, (-1,))
    flat[:: A.shape[0] + 1] += values
    return xp.reshape(flat, A.shape)


def factorised(A):
    """Factorise a symmetric positive definite A; returns ``b -> A^-1 b``.

    If A is indefinite by rounding, the smallest sufficient ridge, in powers of 100, is
    added.
    """
    xp = array_namespace(A)
    if not (is_numpy_array(A) or is_torch_array(A)):
        return lambda b: xp.linalg.solve(A, b)
    if solve := _cholesky_solver(A):
        return solve
    rounding = _rounding(A)
    for ridge in (rounding, 1e2 * rounding, 1e4 * rounding):
        A = add_to_diagonal(A, ridge * xp.ones_like(A[0, :]))
        if solve := _cholesky_solver(A):
            return solve
    raise ValueError(
        f"a matrix of shape {tuple(A.shape)} is not positive definite, "
        f"even with a ridge of {ridge:.2g}; use a positive semidefinite kernel"
    )


def _cholesky_solver(A):
    """Return ``b -> A^-1 b``, or None if A is not positive definite."""
    xp = array_namespace(A)
    if is_numpy_array(A):
        # For small A, SciPy's checks take longer than LAPACK's routines.
        potrf, potrs, _ = CHOLESKY[A.dtype.char]
        # The transpose of a symmetric matrix is in the memory order of LAPACK.
        factor, failed = potrf(A.T, lower=True, clean=False)
    else:
        factor, failed = xp.linalg.cholesky_ex(A)
    # LAPACK does not always notice a NaN.
    if failed or not xp.all(xp.isfinite(xp.linalg.diagonal(factor))):
        return None
    if is_numpy_array(A):
        return lambda b: potrs(factor, b, lower=True)[0]
    return lambda b: xp.cholesky_solve(b[:, None], factor)[:, 0]


def leading_eigenpairs(A, threshold, *, start=None, tol=1e-8):
    """Eigenpairs of a symmetric matrix whose eigenvalue exceeds ``threshold``.

    Block Lanczos with restarts: the Ritz vectors and two products of A with their
    residuals span the next basis. If many eigenvalues are above the threshold, a dense
    eigendecomposition is used.
    """
    n = A.shape[0]
    rng = np.random.default_rng(0)
    if start is None:  # 1 is the leading eigenvector of 11' + Gamma, nearly
        start = np.column_stack([np.ones(n), rng.standard_normal((n, 7))])
    X = start
    while n > DENSE_ROWS and 10 * X.shape[1] < n:
        values, block = _block_lanczos(A, X, threshold, tol)
        if values is not None:
            return values, block[:, : len(values)], block
        X = np.hstack([block, rng.standard_normal(block.shape)])
    dense = A if isinstance(A, np.ndarray) else A @ np.eye(n)
    values, vectors = largest_eigenpairs(dense, above=threshold)
    values, vectors = values[::-1], vectors[:, ::-1]
    return values, vectors, vectors if vectors.shape[1] else start


def _block_lanczos(A, X, threshold, tol):
    """Eigenvalues above the threshold (None if not all were found) and their Ritz
    vectors.
    """
    width = X.shape[1]
    eps = np.finfo(float).eps
    basis = _orthonormal(X)
    image = A @ basis
    for _ in range(MOST_ROUNDS):
        ritz, rotation = np.linalg.eigh(basis.T @ image)
        ritz, rotation = ritz[: -width - 1 : -1], rotation[:, : -width - 1 : -1]
        basis, image = basis @ rotation, image @ rotation
        residual = image - basis * ritz
        # There is an eigenvalue within the residual norm of each Ritz value.
        undecided = ritz + np.linalg.norm(residual, axis=0) > threshold
        wanted = ritz > threshold
        if wanted.all():
            break
        if np.linalg.norm(residual[:, undecided]) <= max(tol, 100 * eps * ritz[0]):
            return ritz[wanted], basis
        step = residual
        for _ in range(2):
            step = _orthonormal(step, against=basis)
            if not step.shape[1]:
                break
            step_image = A @ step
            basis = np.hstack([basis, step])
            image = np.hstack([image, step_image])
            step = step_image
    return None, basis[:, :width]


def _orthonormal(X, against=None):
    """Orthonormal basis of the columns of X, orthogonal to ``against``."""
    scale = np.abs(X).max(initial=0.0)
    if against is not None:
        for _ in range(2):  # the second pass removes rounding errors of the first
            X = X - against @ (against.T @ X)
    Q, R = np.linalg.qr(X)
    return Q[:, np.abs(np.diag(R)) > 1e-12 * scale]


def left_out_residuals(dual, inverse_diagonal):
    """Leave-one-out residuals of ridge regression, ``(R Y)_i / R_ii``.

    Here ``R = (K + ridge I)^-1`` (Allen, Technometrics 16, 1974; Rifkin and Lippert,
    MIT-CSAIL-TR-2007-025). ``inverse_diagonal`` is the diagonal of R, or one per column
    of Y.
    """
    return dual / (
        inverse_diagonal[:, None] if inverse_diagonal.ndim == 1 else inverse_diagonal
    )


def _roots(weights, n):
    """Square roots of sample weights (None for ones), shape (n, 1)."""
    return np.ones((n, 1)) if weights is None else np.sqrt(weights)[:, None]


def leave_one_out(K, Y, ridge, weights=None):
    """Leave-one-out predictions of kernel ridge regression.

    Each column of Y is a regression; ``weights`` are sample weights. One ridge takes a
    Cholesky factorisation; r ridges take one eigendecomposition and give an array (r,
    n, k). K may be indefinite by rounding, as in :func:`ridge_solution`.
    """
    root = _roots(weights, len(K))
    K = root * K * root.T
    target = root * Y
    if np.ndim(ridge) == 0:
        R = ridge_inverse(K, ridge)
        return Y - left_out_residuals(R @ target, np.diag(R)) / root
    values, vectors = np.linalg.eigh(K)
    shrink = 1 / (np.maximum(values, 0)[:, None] + ridge)
    diagonals = vectors**2 @ shrink
    rotated = vectors.T @ target
    predictions = [
        Y - left_out_residuals(vectors @ (s[:, None] * rotated), diagonal) / root
        for s, diagonal in zip(shrink.T, diagonals.T, strict=True)
    ]
    return np.stack(predictions)


def leave_one_out_low_rank(V, Y, ridges, weights=None):
    """:func:`leave_one_out` for ``K = V V'`` and each ridge, with coefficients.

    Takes O(n m^2) for V of shape (n, m). Yields the predictions, (n, k), and the
    coefficients of the columns of V in the fit to all rows, (m, k).
    """
    root = _roots(weights, len(V))
    U, s, Wt = np.linalg.svd(root * V, full_matrices=False)
    target = root * Y
    leverages = U**2
    rotated = U.T @ target
    for ridge in ridges:
        shrink = s**2 / (s**2 + ridge)
        # ridge R = I - U diag(shrink) U', and the ridge cancels in the quotient.
        dual = target - U @ (shrink[:, None] * rotated)
        diagonal = 1 - leverages @ shrink
        coef = Wt.T @ ((s / (s**2 + ridge))[:, None] * rotated)
        yield Y - left_out_residuals(dual, diagonal) / root, coef


def invert_definite(A):
    """Invert A in place; if it is not definite, restore A and raise LinAlgError."""
    if not is_numpy_array(A):
        xp = array_namespace(A)
        try:
            return xp.cholesky_inverse(xp.linalg.cholesky(A))
        except RuntimeError as error:  # PyTorch's
            raise np.linalg.LinAlgError(str(error)) from None
    diagonal = A.diagonal().copy()
    # The transpose of a symmetric matrix is in the memory order of LAPACK.
    factorise, _, invert = CHOLESKY[A.dtype.char]
    _, failed = factorise(A.T, lower=1, clean=0, overwrite_a=1)
    if not failed:
        _, failed = invert(A.T, lower=1, overwrite_c=1)
    # LAPACK wrote the upper triangle of A only. Copy it to the lower one by blocks, or
    # restore it from there.
    upper = A.T if failed else A
    size = max(1, CACHE_BYTES // (A.itemsize * len(A)))
    for start in range(0, len(A), size):
        rows = slice(start, start + size)
        upper[rows, :start] = upper[:start, rows].T
        square = upper[rows, rows]
        square[:] = np.triu(square) + np.triu(square, 1).T
    if failed:
        np.fill_diagonal(A, diagonal)
        raise np.linalg.LinAlgError("kernel matrix plus ridge is not positive definite")
    return A


def definite_shift(A):
    """Shift of the diagonal that makes A definite, twice the lowest eigenvalue."""
    rounding = _rounding(A)
    xp = array_namespace(A)
    return 2 * max(-float(xp.min(xp.linalg.eigvalsh(A))), rounding)


def _rounding(A):
    """Bound on the rounding error of the eigenvalues of a finite matrix."""
    xp = array_namespace(A)
    largest = float(xp.max(xp.abs(A)))
    if not np.isfinite(largest):
        raise ValueError(f"a matrix of shape {tuple(A.shape)} is not finite")
    return float(xp.finfo(A.dtype).eps) * largest * A.shape[0]


def ridge_inverse(K, ridge):
    """``(K + ridge I)^-1``, in place, with the ridge of :func:`ridge_solution`."""
    A = add_to_diagonal(K, np.full(len(K), float(ridge)))
    try:
        return invert_definite(A)
    except np.linalg.LinAlgError:
        return invert_definite(add_to_diagonal(A, np.full(len(A), definite_shift(A))))


def ridge_solution(K, Y, ridge=0.0):
    """Return ``(K + ridge I)^-1 Y`` and the ridge used.

    The ridge is increased by :func:`definite_shift` if K is indefinite, as rounding can
    make it for nearly equal rows. K is overwritten.
    """
    xp = array_namespace(K)
    before = float(K[0, 0])
    ones = xp.ones_like(K[0, :])
    K = add_to_diagonal(K, ridge * ones)
    try:
        solve = factorised(K)
    except ValueError:
        K = add_to_diagonal(K, definite_shift(K) * ones)
        solve = factorised(K)
        ridge = float(K[0, 0]) - before  # including the shifts tried before
    if is_numpy_array(K) and Y.shape[1] > MANY_COLUMNS:
        return np.ascontiguousarray(solve(Y)), ridge
    return xp.stack([solve(column) for column in Y.T], axis=1), ridge

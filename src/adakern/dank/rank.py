"""The numerical rank of the adaptive matrix, without ever forming it."""

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, ldl, solve_triangular
from scipy.linalg.lapack import dpotrf

from adakern.kernels import gram_matrix

__all__ = ["adaptive_rank"]


def adaptive_rank(vectors, dual_coef, n_rows, eta, kernel):
    """Numerical rank of ``F = 11' + diag(d) K diag(d) / (4 eta)``.

    The number of eigenvalues above ``n eps lambda_max``, which is what
    ``numpy.linalg.matrix_rank`` counts. Beyond the support vectors all rows of F are
    equal, so that F has the non-zero eigenvalues of a matrix of one row more than there
    are support vectors; by Sylvester's law of inertia a factorisation of that matrix
    minus the threshold counts those above it, at a tenth of the cost of computing them.

    Parameters
    ----------
    vectors : ndarray of shape (m, d)
        Support vectors.
    dual_coef : ndarray of shape (m,)
        Their dual variables.
    n_rows : int
        n, all rows of the block.
    eta : float
    kernel : dict
        Keyword arguments of :func:`adakern.kernels.gram_matrix`.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.dank.rank import adaptive_rank
    >>> X, d = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> adaptive_rank(X, d, n_rows=10, eta=1.0, kernel={"kernel": "rbf", "gamma": 1.0})
    3
    """
    m = len(dual_coef)
    if m == 0:
        return 1
    order = np.argsort(-np.abs(dual_coef), kind="stable")
    scaled = dual_coef[order] / np.sqrt(4 * eta)
    ones = np.ones(m + 1)
    ones[0] = np.sqrt(n_rows - m)
    if n_rows == m:
        ones = ones[1:]
    A = np.outer(ones, ones)
    A[-m:, -m:] += scaled[:, None] * gram_matrix(vectors[order], **kernel) * scaled
    # lambda_max lies between n and n + trace(Gamma).
    largest = n_rows + float(scaled @ scaled)
    A.flat[:: len(A) + 1] -= n_rows * np.finfo(float).eps * largest
    return _positive_eigenvalues(A)


def _positive_eigenvalues(A):
    """Number of positive eigenvalues of a symmetric A, by Haynsworth's additivity.

    Cholesky's factorisation goes as far as the leading block is positive definite, all
    of whose eigenvalues count; the pivots of an LDL' factorisation of what is left
    count the others. On a rough kernel, rows in falling order of their diagonal, little
    is left.
    """
    factor, failed = dpotrf(A, lower=True, clean=False)
    if not failed:
        return len(A)
    k = failed - 1
    below = solve_triangular(factor[:k, :k], A[:k, k:], lower=True, check_finite=False)
    left = A[k:, k:] - below.T @ below
    _, D, _ = ldl(left, overwrite_a=True, check_finite=False)
    signs = eigvalsh_tridiagonal(np.diag(D), np.diag(D, 1))
    return k + int((signs > 0).sum())

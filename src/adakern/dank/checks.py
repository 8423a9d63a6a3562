"""What is asked of the data before DANK's exact solver starts to work."""

import numpy as np
from scipy.sparse.linalg import eigsh

from adakern._utils.memory import require_memory

__all__ = ["check_kernel", "extreme_eigenvalues", "reserve"]

#: Rows up to which all eigenvalues are computed to find the extreme ones.
DENSE_ROWS = 2000

#: An eigenvalue below minus this share of the largest is not rounding.
NEGATIVE_SHARE = 1e-8


def reserve(n_rows):
    """Ask for the Gram matrix's memory before any work is done."""
    require_memory(
        8 * n_rows**2,
        f'strategy="exact" stores the {n_rows} x {n_rows} Gram matrix and',
        'use strategy="decomposed" (or "whole" with tau=0) for data of this size',
    )


def check_kernel(K, kernel):
    """Refuse a Gram matrix that is not symmetric positive semidefinite."""
    if not np.isfinite(K).all():
        raise ValueError(f"kernel={kernel!r} gives infinite values on these features")
    if kernel not in ("precomputed", "tl1", "poly"):
        return  # positive semidefinite by construction
    if not np.allclose(K, K.T, atol=1e-8 * np.abs(K).max()):
        raise ValueError(f"the Gram matrix of kernel={kernel!r} is not symmetric")
    smallest, largest = extreme_eigenvalues(K)
    if smallest < -NEGATIVE_SHARE * max(largest, -smallest):
        raise ValueError(
            f"the Gram matrix of kernel={kernel!r} is not positive semidefinite: its "
            f"smallest eigenvalue is {smallest:.4g}, the largest {largest:.4g}. DANK "
            "needs a positive semidefinite kernel; clip or shift the spectrum, or use "
            'kernel="rbf" or "laplacian"'
        )


def extreme_eigenvalues(K):
    """Smallest and largest eigenvalue of a symmetric matrix."""
    if len(K) <= DENSE_ROWS:
        values = np.linalg.eigvalsh(K)
        return values[0], values[-1]
    start = np.ones(len(K))
    return np.sort(eigsh(K, k=2, which="BE", v0=start, return_eigenvectors=False))

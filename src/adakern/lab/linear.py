"""Linear systems with the transposed system beside: one factorisation for both."""

import warnings

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy.linalg import LinAlgWarning, lu_factor, lu_solve


def solver(A):
    """``solve(b, transposed=False)`` for A x = b or A'x = b, in doubles; nan if A is singular."""
    xp = array_namespace(A)
    if not is_numpy_array(A):
        double = xp.astype(A, xp.float64)
        return lambda b, transposed=False: xp.astype(
            xp.linalg.solve(double.T if transposed else double, xp.astype(b, xp.float64)), A.dtype
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)  # told by nan instead
        lu, pivots = lu_factor(A.astype(np.float64), check_finite=False)
    if not np.all(np.diag(lu)):
        return lambda b, transposed=False: np.full_like(b, np.nan)
    return lambda b, transposed=False: lu_solve(
        (lu, pivots), b.astype(np.float64), int(transposed), check_finite=False
    ).astype(A.dtype)

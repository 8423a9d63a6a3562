"""Linear systems and their transposed systems, from one factorisation."""

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from scipy.linalg.lapack import dgetrf, dgetrs


def solver(A):
    """Return ``solve(b, transposed=False)`` for A x = b or A'x = b.

    Solutions are not finite if A is singular.
    """
    if is_numpy_array(A):
        lu, pivots, _ = dgetrf(A.astype(np.float64))
        return lambda b, transposed=False: dgetrs(lu, pivots, b, int(transposed))[
            0
        ].astype(A.dtype)
    xp = array_namespace(A)
    double = xp.astype(A, xp.float64)
    return lambda b, transposed=False: xp.astype(
        xp.linalg.solve(double.T if transposed else double, xp.astype(b, xp.float64)),
        A.dtype,
    )

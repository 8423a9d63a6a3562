"""The samplers by name, and the one call that runs any of them."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions, validate_params

from adakern._utils.constraints import AT_LEAST_ONE, FINITE, POSITIVE
from adakern._utils.memory import require_memory
from adakern._utils.threads import one_blas_thread
from adakern.nystrom import samplers
from adakern.nystrom.columns import KernelColumns, encode_targets, random_targets

#: The column samplers by the names that estimators take.
SAMPLERS = {
    "uniform": samplers.uniform,
    "column-norm": samplers.column_norm,
    "leverage": samplers.leverage,
    "ridge-leverage": samplers.ridge_leverage,
    "rpcholesky": samplers.rpcholesky,
    "adaptive-deshpande": samplers.adaptive_deshpande,
    "adaptive-kumar": samplers.adaptive_kumar,
    "adaptive-criterion": samplers.adaptive_criterion,
    "greedy-criterion": samplers.greedy_criterion,
}

#: Those that use labels.
CRITERION_DRIVEN = ("adaptive-criterion", "greedy-criterion")

#: Kernels that are positive semidefinite, as a Nyström approximation needs.
NYSTROM_KERNELS = ("rbf", "laplacian", "l2-laplacian", "poly", "linear")

#: A number of things, or a fraction of them.
COUNT_OR_FRACTION = [
    Interval(RealNotInt, 0, 1, closed="right"),
    Interval(Integral, 1, None, closed="left"),
]

#: Constraints of the parameters that this function and the estimators share.
PARAMETER_CONSTRAINTS = {
    "degree": AT_LEAST_ONE,
    "coef0": FINITE,
    "task": [StrOptions({"auto", "classification", "regression"})],
    "ridge": POSITIVE,
    "step": COUNT_OR_FRACTION,
    "rank": [*AT_LEAST_ONE, None],
    "oversampling": [Interval(Real, 1, None, closed="left")],
    "random_state": ["random_state"],
}


def make_plan(n_rows, n_columns, step=0.1, rank=None, ridge=0.005, oversampling=3.0):
    """Resolve fractions and check sizes; see :func:`sample_columns`."""
    c = _count("n_columns", n_columns, n_rows, "rows")
    if rank is not None and rank > c:
        raise ValueError(
            f"rank={rank} is above the {c} columns drawn (n_columns={n_columns}); a "
            "Nyström approximation has at most that rank. Use rank=None for all of it"
        )
    require_memory(
        2 * 8 * n_rows * c,
        f"a kernel's {c} columns of {n_rows} rows, and what is made of them,",
        "take fewer columns",
    )
    step = _count("step", step, c, "columns")
    return samplers.Plan(c, step, rank, ridge, oversampling)


def _count(name, value, total, unit):
    """A whole number from a fraction of ``total`` (at least 1) or a number up to it."""
    if not isinstance(value, Integral):
        return max(1, round(value * total))
    if name == "n_columns" and value > total:
        raise ValueError(
            f"{name}={value} is more than the {total} {unit} of the data; use at most "
            f"{total}, or a fraction in (0, 1]"
        )
    return min(int(value), total)


@validate_params(
    {
        **PARAMETER_CONSTRAINTS,
        "X": ["array-like"],
        "n_columns": COUNT_OR_FRACTION,
        "y": ["array-like", None],
        "selection": [StrOptions(set(SAMPLERS))],
        "kernel": [StrOptions({*NYSTROM_KERNELS, "precomputed"})],
        "gamma": POSITIVE,
    },
    prefer_skip_nested_validation=True,
)
def sample_columns(
    X: ArrayLike,
    n_columns: float,
    y: ArrayLike | None = None,
    *,
    selection: str = "greedy-criterion",
    kernel: str = "rbf",
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 1.0,
    task: str = "auto",
    ridge: float = 0.005,
    step: float = 0.1,
    rank: int | None = None,
    oversampling: float = 3.0,
    random_state: Any = None,
) -> samplers.Sample:
    """Choose columns of a kernel matrix for its Nyström approximation.

    Parameters
    ----------
    X : array-like of shape (l, d)
        Data; the Gram matrix (l, l) when ``kernel="precomputed"``.
    n_columns : int or float
        Columns to draw: a number up to l, or a fraction of l in (0, 1].
    y : array-like of shape (l,) or (l, q), default=None
        Labels; several columns are numbers. The two criterion-driven samplers work
        without: for equal labels ("adaptive-criterion") or the mean over random ones
        ("greedy-criterion").
    selection : str, default="greedy-criterion"
        A key of ``SAMPLERS``.
    kernel : {"rbf", "laplacian", "l2-laplacian", "poly", "linear", "precomputed"}, \
            default="rbf"
    gamma, degree, coef0
        As in :func:`adakern.kernels.gram_matrix`.
    task : {"auto", "classification", "regression"}, default="auto"
        How to read y.
    ridge : float, default=0.005
        mu of the criterion; also of "ridge-leverage".
    step : int or float, default=0.1
        Columns per round of the adaptive samplers and of "rpcholesky": a number, or a
        fraction of ``n_columns``.
    rank : int, default=None
        Of the approximation that scores columns in "leverage" (default: all columns)
        and "adaptive-kumar", "adaptive-criterion" (default: half of those drawn).
    oversampling : float, default=3.0
        Candidates of "greedy-criterion" for each column, at least 1.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    indices : ndarray of int of shape (c,)
        Distinct.
    weights : ndarray of shape (c,)
        Importance weights; ones for samplers that are not importance samplers.

    Examples
    --------
    >>> import numpy as np
    >>> from adakern.nystrom import sample_columns
    >>> X = np.repeat(np.eye(3), 5, axis=0)  # three distinct rows
    >>> indices, _ = sample_columns(X, 3, selection="rpcholesky", random_state=0)
    >>> sorted(indices // 5)
    [np.int64(0), np.int64(1), np.int64(2)]
    """
    X = check_array(X, dtype=np.float64)
    columns = KernelColumns(X, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
    plan = make_plan(columns.n_rows, n_columns, step, rank, ridge, oversampling)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
    if selection not in CRITERION_DRIVEN:
        targets = None
    elif y is None:
        targets = random_targets(columns.n_rows, rng)
    else:
        check_consistent_length(X, y)
        targets = encode_targets(y, task)
    with one_blas_thread(plan.n_columns):
        return SAMPLERS[selection](columns, targets, plan, rng)

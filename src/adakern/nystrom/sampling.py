"""The samplers by name, and how many columns they draw."""

from numbers import Integral

from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from adakern._utils.constraints import AT_LEAST_ONE, POSITIVE
from adakern._utils.memory import require_memory
from adakern.nystrom import samplers

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

#: Constraints of the parameters that the estimators share.
PARAMETER_CONSTRAINTS = {
    "task": [StrOptions({"auto", "classification", "regression"})],
    "ridge": POSITIVE,
    "step": COUNT_OR_FRACTION,
    "rank": [*AT_LEAST_ONE, None],
    "random_state": ["random_state"],
}


def make_plan(n_rows, n_columns, step=0.1, rank=None, ridge=0.005):
    """Resolve fractions and check sizes; see :class:`CriterionNystroem`."""
    if isinstance(n_columns, Integral) and n_columns > n_rows:
        raise ValueError(
            f"n_columns={n_columns} is more than the {n_rows} rows of the data; use at most "
            f"{n_rows}, or a fraction in (0, 1]"
        )
    c = _count(n_columns, n_rows)
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
    return samplers.Plan(c, _count(step, c), rank, ridge)


def _count(value, total):
    """A whole number from a fraction of ``total`` (at least 1), or a number up to it."""
    return min(value, total) if isinstance(value, Integral) else max(1, round(value * total))

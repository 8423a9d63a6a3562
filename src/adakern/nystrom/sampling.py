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
    return samplers.Plan(c, step, rank, ridge)


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

"""Conversion of a recipe in Hydra's ``_target_`` form to a scikit-learn estimator."""

import numpy as np
from scipy import stats

from adakern_bench.base.dotted import (
    IS_OUTSIDE,
    check_all_passed_on,
    estimator_class,
    outside_paths,
)
from adakern_bench.base.elsewhere_worker import build
from adakern_bench.base.environments import PYTHON


class LogIntegers:
    """Log-uniform distribution over the integers from low to high."""

    def __init__(self, low, high):
        self.exact = stats.loguniform(low - 0.5, high + 0.5)

    def rvs(self, random_state=None):
        """Draw one integer."""
        return int(np.rint(self.exact.rvs(random_state=random_state)))


#: Name of a distribution -> function of (low, high) that returns it for scikit-learn's
#: random search.
DISTRIBUTIONS = {
    "uniform": lambda low, high: stats.uniform(low, high - low),
    "log_uniform": stats.loguniform,
    "integers": lambda low, high: stats.randint(low, high + 1),
    "log_integers": LogIntegers,
}


def make_estimator(recipe, params=None, *, seed=None, threads=1, is_planned=False):
    """Return the estimator of a recipe; `params` override its fixed parameters.

    ``{relative_to: C, power: 2, value: 0.1}`` stands for 0.1 * C**2. A ValueError is
    raised if `params`, which are read from result files, name a path or memory; so may
    the recipe, unless it comes from a plan, which has checked it according to
    --allow-outside.
    """
    recipe = dict(recipe)
    python = recipe.pop(PYTHON, None)
    for name, value in outside_paths({} if is_planned else recipe):
        raise ValueError(f"{name}={value!r} {IS_OUTSIDE}")
    for name, value in outside_paths(params or {}):
        raise ValueError(
            f"{name}={value!r} cannot be the result of a search, since it names a path "
            "or memory. Delete the folders search and records of these results and run "
            "again."
        )
    if python:
        from adakern_bench.base.elsewhere import elsewhere

        return elsewhere(recipe | (params or {}), python, seed, threads)
    relative = {k: v for k, v in recipe.items() if is_relative(v)}
    nested = {k: v for k, v in recipe.items() if "__" in k and k not in relative}
    later = relative.keys() | nested.keys()
    constructed = {k: v for k, v in recipe.items() if k not in later}
    # Hydra's own function would slow down the start of every job.
    estimator = build(constructed, {}, estimator_class)
    estimator.set_params(**nested)
    known = estimator.get_params()
    open_params = {"random_state": seed, "n_jobs": threads}
    defaults = {k: v for k, v in open_params.items() if k in known and k not in recipe}
    unseeded = (
        k for k, v in known.items() if k.endswith("__random_state") and v is None
    )
    estimator.set_params(**dict.fromkeys(unseeded, seed) | defaults | (params or {}))
    known = estimator.get_params()
    absolute = {k: _in_units(v["value"], v, known) for k, v in relative.items()}
    estimator.set_params(**absolute)
    check_all_passed_on(estimator)
    return estimator


def free_parameters(settings, found):
    """Parameters `found` by a search, except those that a job's settings fix."""
    return {k: v for k, v in found.items() if k not in settings["fixed"]}


def planned_estimator(settings, found, seed):
    """Return the estimator of a job with the parameters `found` by a search."""
    return make_estimator(
        settings["estimator"],
        free_parameters(settings, found),
        seed=seed,
        threads=settings["threads"],
        is_planned=True,
    )


def is_relative(value):
    """Whether a parameter or an axis is given relative to another parameter."""
    return isinstance(value, dict) and "relative_to" in value


def _in_units(value, unit, params):
    """Multiply a number by a power of its reference parameter; return anything else
    unchanged.
    """
    if not _is_number(value):
        return value
    return value * params[unit["relative_to"]] ** unit.get("power", 1)


def expand_grid(grid, fixed, step=1):
    """Return the absolute values or the distribution of each grid axis."""
    expanded = {}
    for name, axis in grid.items():
        if is_distribution(axis):
            ((kind, ends),) = axis.items()
            expanded[name] = DISTRIBUTIONS[kind](*ends)
            continue
        values = list(axis["values"] if is_relative(axis) else axis)
        if step > 1 and len(values) > 3 and all(_is_number(v) for v in values):
            values = values[::step]
        if is_relative(axis):
            values = [_in_units(value, axis, fixed) for value in values]
        expanded[name] = values
    return expanded


def is_distribution(axis):
    """Whether an axis of a grid is a distribution."""
    return isinstance(axis, dict) and len(axis) == 1 and set(axis) <= set(DISTRIBUTIONS)


def _is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)

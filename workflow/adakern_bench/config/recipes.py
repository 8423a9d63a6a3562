"""Checks of recipes, and the estimator of a method by its name."""

import re
from inspect import signature

from sklearn.base import is_classifier, is_regressor

from adakern._utils.hints import did_you_mean
from adakern._utils.warn import warn_user
from adakern_bench.base.dotted import check_all_passed_on, estimator_class
from adakern_bench.base.environments import PYTHON, python_problems
from adakern_bench.config import estimators
from adakern_bench.config.compose import available, load_config, nearest
from adakern_bench.config.estimators import DISTRIBUTIONS, expand_grid, is_relative
from adakern_bench.config.schema import TASK_RECIPE

#: Maximum number of points of a grid that is searched as a whole.
MOST_POINTS = 10_000


def method_named(name, task):
    """Return the estimator of a file of ``conf/method``, for ``adakern fit
    --method``.
    """
    if name not in (known := available("method")):
        raise ValueError(
            f"--method {name}: there is no conf/method/{name}.yaml."
            f"{did_you_mean(name, known)} "
            "A class needs its module, such as sklearn.svm.SVC"
        )
    config = load_config([f"method=[{name}]"])
    if (recipe := getattr(config.method[name], TASK_RECIPE[task])) is None:
        raise ValueError(f"--method {name} is not a method for {task}")
    if recipe.grid:
        warn_user(
            f"{name} is fitted with its defaults; `adakern compare` searches its "
            "parameters"
        )
    if python := config.method[name].python:
        raise ValueError(
            f"--method {name} is fitted with another Python ({python}), and such "
            "models cannot be saved; compare the method with `adakern compare`"
        )
    return estimators.make_estimator(recipe.estimator)


def recipe_problems(recipe, task):
    """Problems of a recipe, as sentences."""
    if "_target_" not in recipe["estimator"]:
        return ["it has no _target_: add the estimator's class to its file"]
    if PYTHON in recipe["estimator"]:  # its class can be imported only there
        return list(python_problems(recipe["estimator"]))
    try:
        estimator = estimators.make_estimator(recipe["estimator"], is_planned=True)
    except Exception as error:
        if match := re.search(r"unexpected keyword argument '(\w+)'", str(error)):
            built = estimator_class(recipe["estimator"]["_target_"])
            known = nearest(match[1], list(signature(built).parameters))
            return [f"{built.__name__} has no parameter {match[1]!r}. {known}"]
        return [str(error)]
    return [*_role(estimator, task), *_values(recipe, estimator)]


def _role(estimator, task):
    """Yield the problem of an estimator of the wrong type; some are of both types."""
    is_wrong = is_regressor if task == "classification" else is_classifier
    if is_wrong(estimator):
        name = type(estimator).__name__
        other = "regressor" if task == "classification" else "classifier"
        yield f"{name} is a {other}; move it to `{other}:` in the method's file"


def _values(recipe, estimator):
    """Yield invalid parameters and grid points, found by the estimator's own checks."""
    known = estimator.get_params()
    grid = {}
    n_points = 1
    for axis, values in recipe["grid"].items():
        try:
            points = _points(axis, values, known, recipe["random"])
        except (KeyError, TypeError, ValueError):
            yield (
                f"the grid axis {axis!r} is {values!r}; it must be a list, a mapping "
                "with relative_to (a numeric parameter) and a list of values or, if "
                "the recipe sets random (a number of points), one of "
                f"{', '.join(DISTRIBUTIONS)} with [low, high]"
            )
            continue
        grid[axis] = points
        n_points *= len(points)
        if not points:
            yield f"the grid axis {axis!r} has no points; give it values or remove it"
    if n_points > MOST_POINTS and not recipe["random"]:
        yield (
            f"the grid has {n_points:,} points, and each is fitted in every fold; at "
            f"most {MOST_POINTS:,} are allowed: leave values out, or set random to the "
            "number of points to draw"
        )
        return
    for name, value in recipe["estimator"].items():
        if is_relative(value) and value["relative_to"] in recipe["grid"]:
            yield (
                f"{name} is relative to {value['relative_to']}, which this method "
                f"searches itself; fix {value['relative_to']}, or take it over from "
                "another method with tune_with"
            )
    for candidate in [{}] + [{k: v} for k, values in grid.items() for v in values]:
        try:
            _check_parameters(estimator.set_params(**candidate))
        except ValueError as error:
            yield str(error)


def _points(axis, values, known, random):
    """Values of a grid axis; for a distribution, its bounds."""
    points = expand_grid({axis: values}, known)[axis]
    if estimators.is_distribution(values):
        (points,) = values.values()
        if not random or points[0] >= points[1]:
            raise ValueError("random is not set, or low is not below high")
    return points


def _check_parameters(estimator):
    """Check the parameters of an estimator, and of its nested estimators, as a fit
    would.
    """
    check_all_passed_on(estimator)
    for part in (estimator, *estimator.get_params().values()):
        if hasattr(part, "_parameter_constraints"):
            part._validate_params()

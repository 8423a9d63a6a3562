"""Whether an estimator can be built as a recipe says, and its grid be searched."""

from inspect import Parameter, signature

from sklearn.base import is_classifier, is_regressor

from adakern_bench.config.compose import ConfigError, nearest
from adakern_bench.records.dotted import estimator_class, targets
from adakern_bench.records.estimators import (
    DISTRIBUTIONS,
    expand_grid,
    is_distribution,
    is_relative,
    make_estimator,
)

__all__ = ["recipe_problems"]


def recipe_problems(where, recipe, task):
    """What is wrong with a recipe, a sentence each."""
    return [*_recipe(where, recipe), *_role(where, recipe, task)]


def _recipe(where, recipe):
    """Problems of one recipe: its class, its parameters, its grid."""
    target = recipe["estimator"].get("_target_")
    if not target:
        return [f"{where} has no _target_: name the estimator's class in its file"]
    name = str(target).rpartition(".")[2]
    for used in targets(recipe["estimator"]):
        try:
            estimator_class(str(used))
        except (ImportError, AttributeError, ValueError) as error:
            return [f"{where}: _target_ {used!r} cannot be used: {error}"]
    try:
        known = _parameters(estimator_class(target))
    except TypeError:  # a class with required arguments, such as a Pipeline
        known = None
    parameters = [*recipe["estimator"], *recipe["grid"]]
    unknown = [p for p in parameters if known and _is_unknown(p, known)]
    if unknown:
        return [f"{where}: {name} has no parameter {p!r}. {nearest(p, known)}" for p in unknown]
    return _values(recipe, where)


def _moving_units(recipe):
    """Fixed parameters in units of one that the same search still moves."""
    for name, value in recipe["estimator"].items():
        if is_relative(value) and value["relative_to"] in recipe["grid"]:
            yield (
                f"{name} is relative to {value['relative_to']}, which this method "
                "searches itself; fix it, or take it over from another method with "
                "tune_with"
            )


def _parameters(estimator):
    """Names of an estimator's parameters; None where it takes any (``**kwargs``)."""
    kinds = [p.kind for p in signature(estimator).parameters.values()]
    if Parameter.VAR_KEYWORD in kinds:
        return None
    return list(estimator().get_params())


def _role(where, recipe, task):
    """A classifier is for classes, a regressor for amounts; some are both."""
    try:
        estimator = make_estimator(recipe["estimator"])
    except Exception:  # `_recipe` says what is wrong with it
        return
    is_wrong = is_regressor if task == "classification" else is_classifier
    if is_wrong(estimator):
        name = type(estimator).__name__
        other = "regressor" if task == "classification" else "classifier"
        yield f"{where}: {name} is a {other}; put it under `{other}:` in its file"


def _is_unknown(parameter, known):
    """By the part before ``__``; what is behind it, the nested estimator must know."""
    name = parameter.partition("__")[0]
    return name not in known and not parameter.startswith("_")


def _values(recipe, where):
    """Problems of fixed values and grid points, by the estimator's own check."""
    loose = [axis for axis, values in recipe["grid"].items() if not _is_axis(values)]
    if loose:
        return [
            f"{where}: the grid axis {axis!r} is {recipe['grid'][axis]!r}; it must be "
            "a list, a mapping with relative_to and a list of values, or (with random) "
            f"one of {', '.join(DISTRIBUTIONS)} with [low, high]"
            for axis in loose
        ]
    if moving := list(_moving_units(recipe)):
        return [f"{where}: {problem}" for problem in moving]
    ends = {k: list(*v.values()) for k, v in recipe["grid"].items() if is_distribution(v)}
    if ends and not recipe["random"]:
        return [
            f"{where}: the grid axis {axis!r} is a distribution; say how many points "
            "to draw (random: 30)"
            for axis in ends
        ]
    try:
        estimator = make_estimator(recipe["estimator"])
        axes = recipe["grid"] | ends
        grid = expand_grid(axes, _reference_values(axes, estimator))
    except Exception as error:
        return [f"{where}: {error}"]
    problems = [
        f"{where}: the grid axis {axis!r} has no points; give it values or remove it"
        for axis, values in grid.items()
        if not values
    ]
    candidates = [{}] + [{k: v} for k, values in grid.items() for v in values]
    for candidate in candidates:
        try:
            estimator.set_params(**candidate)
            for part in (estimator, *estimator.get_params().values()):
                if hasattr(part, "_parameter_constraints"):
                    part._validate_params()
        except ValueError as error:
            problems.append(f"{where}: {error}")
    return problems


def _is_axis(values):
    if is_distribution(values):
        ((_, ends),) = values.items()
        return isinstance(ends, list) and len(ends) == 2 and ends[0] < ends[1]
    if isinstance(values, dict):
        return "relative_to" in values and isinstance(values.get("values"), list)
    return isinstance(values, list)


def _reference_values(axes, estimator):
    """Values that stand in for parameters found by a search, to size relative axes."""
    values = estimator.get_params()
    for axis in axes.values():
        if isinstance(axis, dict) and not isinstance(values.get(axis["relative_to"]), int | float):
            raise ConfigError(
                f"a grid axis is relative to {axis['relative_to']!r}, which is not a "
                "number of this estimator"
            )
    return values

"""What types cannot say: ranges, names and shapes, checked before any job starts."""

import ast
import json
import math
import re
from importlib.util import find_spec
from inspect import Parameter, signature
from pathlib import Path

from sklearn.base import is_classifier, is_regressor

from adakern.bench.config.compose import CONF, SCRIPTS, ConfigError, available, nearest
from adakern.bench.config.sweeps import base_name
from adakern.bench.runtime.dotted import OWN_METHODS, estimator_class, targets
from adakern.bench.stages.estimators import (
    DISTRIBUTIONS,
    expand_grid,
    is_distribution,
    is_relative,
    make_estimator,
)
from adakern.datasets import check_entry

__all__ = ["validate"]

CHOICES = {
    "kind": ("holdout", "kfold", "group-holdout", "time"),
    "published_split": ("never", "prefer", "require"),
    "tuning": ("nested", "published"),
    "scale": ("unit", "symmetric", "standard", "none"),
    "scale_fit": ("train", "all"),
    "scale_target": ("none", "standard"),
}


def validate(plan, conf=CONF):
    """Check a plan.

    Parameters
    ----------
    plan : adakern.bench.config.plan.Plan
    conf : path, default=CONF
        The configuration folder that the plan was composed from.

    Raises
    ------
    ConfigError
        With every problem found, one a line.
    """
    problems = [
        *_numbers(plan.config),
        *_protocol(plan.config.protocol),
        *_entries(plan),
        *_selection(plan),
        *_settings(plan.config, conf),
        *_functions(plan.config),
        *_special(plan),
    ]
    # Most data sets share a method's recipe: each distinct one is checked once.
    recipes = {}
    for dataset, method in plan.cells:
        recipe = plan.recipe(dataset, method)
        task = plan.entry(dataset).task
        key = json.dumps([method, task, recipe], default=str)
        recipes.setdefault(key, (method, task, recipe))
    for method, task, recipe in recipes.values():
        problems += _recipe(f"method {method}", recipe)
        problems += _role(f"method {method}", recipe, task)
    if problems:
        listed = "\n".join(f"  - {problem}" for problem in dict.fromkeys(problems))
        raise ConfigError(f"experiment {plan.config.name!r} cannot run:\n{listed}")


def _unbounded(value):
    return math.inf if value is None else value


def _numbers(config):
    """Ranges of the numeric settings."""
    bounds = {
        "protocol.repeats": (config.protocol.repeats, 1, math.inf),
        **{
            f"protocol.train_rows[{k}]": (n, 2, math.inf)
            for k, n in enumerate(config.protocol.train_rows)
        },
        "protocol.test_rows": (_unbounded(config.protocol.test_rows), 1, math.inf),
        "protocol.n_splits": (config.protocol.n_splits, 2, math.inf),
        "protocol.max_splits": (_unbounded(config.protocol.max_splits), 1, math.inf),
        "protocol.seed": (config.protocol.seed, 0, 2**32 - 1),
        "search.folds": (config.search.folds, 1, math.inf),
        "search.holdout_rows": (_unbounded(config.search.holdout_rows), 1, math.inf),
        "search.step": (config.search.step, 1, math.inf),
        "search.max_rows": (_unbounded(config.search.max_rows), 50, math.inf),
        "jobs.batch_rows": (config.jobs.batch_rows, 0, math.inf),
        "jobs.threads": (config.jobs.threads, 1, math.inf),
        "jobs.time_limit": (config.jobs.time_limit, 1, math.inf),
        "jobs.memory_mb": (config.jobs.memory_mb, 1, math.inf),
        "data.timeout": (config.data.timeout, 1e-3, math.inf),
        "data.retries": (config.data.retries, 0, math.inf),
    }
    for name, (value, low, high) in bounds.items():
        # Written so that NaN, which compares false with everything, is caught.
        if not low <= value <= high:
            limit = f"at least {low}" if high == math.inf else f"{low} to {high}"
            yield f"{name}={value} is out of range: it must be {limit}"
    if not 0 < config.protocol.test_size < 1:
        yield (
            f"protocol.test_size={config.protocol.test_size} is out of range: it is "
            "the share of the rows in the test part, between 0 and 1 (both excluded)"
        )


def _protocol(protocol):
    for name, choices in CHOICES.items():
        value = getattr(protocol, name)
        if value not in choices:
            yield f"protocol.{name}={value!r} is unknown. {nearest(value, choices)}"


def _entries(plan):
    protocol = plan.config.protocol
    for name, entry in plan.config.dataset.items():
        if not entry.task:
            yield (
                f"dataset.{name} has no task. If the experiment only changes a setting "
                f"of {name}, the selection must hold it: dataset=[{name},...]"
            )
            continue
        yield from check_entry(name, entry)
        if protocol.kind == "time" and entry.time is None:
            yield (
                f"dataset.{name} has no time; protocol.kind=time needs it: name the "
                "column as `time` in its entry, or use another protocol"
            )
        if protocol.kind == "group-holdout" and entry.groups is None:
            yield (
                f"dataset.{name} has no groups; protocol.kind=group-holdout needs "
                "them: name the column as `groups` in its entry, or use holdout"
            )
        if protocol.tuning == "published" and not entry.tuning_split:
            yield (
                f"dataset.{name} has no tuning split of its own; protocol.tuning="
                "published needs one: use nested"
            )
        if protocol.published_split == "require" and not entry.has_published_split:
            yield (
                f"data set {name} has no published split, and "
                "protocol.published_split=require asks for one; use prefer or never"
            )


def _selection(plan):
    config = plan.config
    if not config.name:
        yield "the experiment has no name: its file must say `name: <file name>`"
    elif not re.fullmatch(r"[\w.,=+~@-]+", config.name) or config.name.startswith("."):
        yield (
            f"name={config.name!r} is the name of a folder below {config.results}: "
            "letters, digits and _ . , = + ~ @ - are allowed, no dot at its beginning"
        )
    if not plan.cells and not (config.special and plan.datasets):
        yield (
            "nothing to do: no selected method treats the task of a selected data set "
            f"(data sets: {', '.join(plan.datasets) or 'none'}; methods: "
            f"{', '.join(plan.methods) or 'none'})"
        )
    if config.suite is not None and plan.cells:
        idle = {*plan.variants} - {method for _, method in plan.cells}
        for name in sorted(idle):
            yield (
                f"method {name} treats the task of none of the selected data sets; "
                "leave it out"
            )
    yield from _memory(plan)
    for name, method in config.method.items():
        if method.classifier is None and method.regressor is None:
            yield f"method {name} is empty: its file needs a classifier or a regressor"
    for method in config.sweep:
        if method not in plan.methods:
            yield f"sweep.{method}: no such method. {nearest(method, plan.methods)}"
    if config.published:
        path = Path("data/published") / f"{config.published}.csv"
        if not path.is_file():
            known = [p.stem for p in path.parent.glob("*.csv")]
            yield f"published={config.published!r}: no {path}. " + nearest(
                config.published, known
            )


def _memory(plan):
    """Cells whose Gram matrices are larger than the memory of a job."""
    for dataset, method in plan.cells:
        n = plan.entry(dataset).n or 0
        matrices = plan.config.method[base_name(method)].n_gram_matrices
        needed = 8 * matrices * n * n / 1e6
        if needed > plan.config.jobs.memory_mb:
            yield (
                f"{method} on {dataset} ({n} rows) needs about {needed:.0f} MB for its "
                f"matrices of {n} x {n}, and a job has {plan.config.jobs.memory_mb} MB "
                "(jobs.memory_mb). Raise that, leave the method out, or take smaller "
                "sets (suite.max_rows)"
            )


def _settings(config, conf):
    """Names in ``settings``, which may speak of data sets that are not selected."""
    datasets = sorted({*available("dataset", conf), *config.dataset})
    methods = available("method", conf)
    for dataset, of_dataset in config.settings.items():
        if base_name(dataset) not in datasets:
            yield f"settings.{dataset}: no such data set. {nearest(dataset, datasets)}"
        for method in of_dataset or {}:
            if base_name(method) not in methods:
                yield (
                    f"settings.{dataset}.{method}: no such method. "
                    f"{nearest(method, methods)}"
                )


def _functions(config):
    """Dotted names of figures, tables and scripts, looked up without importing them."""
    dotted = {f"figures.{k}": view.function for k, view in config.figures.items()}
    dotted |= {f"tables.{k}": view.function for k, view in config.tables.items()}
    for name in config.special:
        for function in ("compute", "plot", "table"):
            dotted[f"special.{name}.{function}"] = f"{name}.{function}"
    for setting, target in dotted.items():
        module, _, function = target.rpartition(".")
        try:
            spec = find_spec(module) if _may_draw(module) else None
        except ModuleNotFoundError:
            spec = None
        if spec is None or spec.origin is None:
            known = [path.stem for path in SCRIPTS.glob("*.py")]
            yield f"{setting}: there is no module {module!r}. {nearest(module, known)}"
            continue
        tree = ast.parse(Path(spec.origin).read_text())
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if function not in names:
            yield f"{setting}={target!r} names no function. {nearest(function, names)}"


def _may_draw(module):
    """Figures and tables come from the workflow's scripts, its report or methods."""
    scripts = {path.stem for path in SCRIPTS.glob("*.py")}
    return module in scripts or module.startswith(
        ("adakern.bench.report.", f"{OWN_METHODS}.")
    )


def _special(plan):
    """Special computations show one split, under names of their own."""
    config = plan.config
    for name in config.special:
        for kind in ("figures", "tables"):
            if name in getattr(config, kind):
                yield f"{kind}.{name} has the name of a special computation; rename it"
    for dataset in plan.datasets:
        if config.special and plan.n_repeats(dataset) > 1:
            yield (
                f"{', '.join(config.special)} shows one split, and {dataset} has "
                f"{plan.n_repeats(dataset)}; set protocol.repeats=1 (and "
                "protocol.kind=holdout)"
            )


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
        return [
            f"{where}: {name} has no parameter {p!r}. {nearest(p, known)}"
            for p in unknown
        ]
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
    own = parameter.partition("__")[0]
    return own not in known and not parameter.startswith("_")


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
    ends = {
        k: list(*v.values()) for k, v in recipe["grid"].items() if is_distribution(v)
    }
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
        if isinstance(axis, dict) and not isinstance(
            values.get(axis["relative_to"]), int | float
        ):
            raise ConfigError(
                f"a grid axis is relative to {axis['relative_to']!r}, which is not a "
                "number of this estimator"
            )
    return values

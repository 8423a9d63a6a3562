"""What types cannot say: ranges, names and shapes, checked before any job starts."""

import ast
import csv
import hashlib
import json
import math
import re
from contextlib import suppress
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

from adakern._utils.files import read_json, write_json
from adakern_bench.config.code_version import code_version
from adakern_bench.config.compose import ConfigError, available, nearest
from adakern_bench.config.sweeps import base_name
from adakern_bench.data import check_entry
from adakern_bench.paths import CONF, PUBLISHED, SPECIAL, results_of
from adakern_bench.records.dotted import OWN_METHODS, is_inside, is_own, outside_paths, targets

__all__ = ["validate"]

CHOICES = {
    "kind": ("holdout", "kfold", "group-holdout", "time"),
    "published_split": ("never", "prefer", "require"),
    "tuning": ("nested", "published", "both"),
    "scale": ("unit", "symmetric", "standard", "none"),
    "scale_fit": ("train", "all"),
    "scale_target": ("none", "standard"),
}


#: Modules of the report whose functions are figures and tables.
VIEWS = ("contrast", "leaderboard", "leak", "sweep")


def validate(plan, conf=CONF, allow_outside=False):
    """Raise ConfigError with every problem of a plan, one a line."""
    problems = [
        *(() if allow_outside else _places(plan.config)),
        *_names(plan),
        *_paths(plan.config),
        *_numbers(plan.config),
        *_protocol(plan.config.protocol),
        *_entries(plan),
        *_selection(plan),
        *_settings(plan.config, conf),
        *_functions(plan.config),
        *_special(plan),
        *_recipes(plan),
    ]
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
        "protocol.max_train_rows": (_unbounded(config.protocol.max_train_rows), 2, math.inf),
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
        if protocol.tuning in ("published", "both") and not entry.tuning_split:
            yield (
                f"dataset.{name} has no tuning split of its own; protocol.tuning="
                f"{protocol.tuning} needs one: use nested"
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
            yield (f"method {name} treats the task of none of the selected data sets; leave it out")
    yield from _memory(plan)
    for name, method in config.method.items():
        if method.classifier is None and method.regressor is None:
            yield f"method {name} is empty: its file needs a classifier or a regressor"
    for method in config.sweep:
        if method not in plan.methods:
            yield f"sweep.{method}: no such method. {nearest(method, plan.methods)}"
    if config.published:
        path = PUBLISHED / f"{config.published}.csv"
        if not path.is_file() or path.stem != config.published:
            known = [p.stem for p in path.parent.glob("*.csv")]
            yield f"published={config.published!r}: no {path}. " + nearest(config.published, known)
        elif config.suite is not None:
            yield from _published(plan, path)


def _published(plan, path):
    """Published numbers of a suite are of its data sets and of its splits."""
    with open(path, newline="") as file:
        told = {row.get("dataset") for row in csv.DictReader(file)}
    shown = [name for name in plan.datasets if base_name(name) in told]
    drawn = [n for n in shown if plan.entry(n).n_splits and not plan.uses_published_split(n)]
    if drawn or not shown:
        why = "other splits than those of " if drawn else "none of "
        yield (
            f"published={path.stem!r} has the results of {why}the selected data sets, such as "
            f"{(drawn or plan.datasets)[0]}; set protocol=published, or published=null"
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
                yield (f"settings.{dataset}.{method}: no such method. {nearest(method, methods)}")


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
            known = [path.stem for path in SPECIAL.glob("*.py")]
            yield f"{setting}: there is no module {module!r}. {nearest(module, known)}"
            continue
        tree = ast.parse(Path(spec.origin).read_text())
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if function not in names or function.startswith("_"):
            yield f"{setting}={target!r} names no function. {nearest(function, names)}"


def _may_draw(module):
    """Figures and tables come from workflow/special, the report or methods."""
    special = {path.stem for path in SPECIAL.glob("*.py")}
    views = {f"adakern_bench.report.{name}" for name in VIEWS}
    return module in special | views or is_own(module)


def _places(config):
    """Folders and addresses that a file may name; the command line may name others."""
    typed = {override.lstrip("+").partition("=")[0] for override in config.overrides}
    cache, uri = Path(config.data.cache), config.tracking.uri
    used = [("results", config.results), ("results", results_of(config))]
    used += [("data.cache", cache / part) for part in ("", "raw", "tables")]
    if config.data.mirror and "data.mirror" not in typed:
        used.append(("data.mirror", config.data.mirror))
    here = re.match(r"http://(127\.0\.0\.1|localhost)(:\d+)?(/|$)", uri)
    if "tracking.uri" not in typed and not here:
        file = uri.partition("sqlite:///")
        used.append(("tracking.uri", file[2] if file[1] else f"/{uri}"))
    for setting, place in used:
        if not is_inside(place):
            yield (
                f"{setting}={place} leaves the project, or lies among its code or in a "
                f"hidden folder. Name a place inside {Path.cwd()}, or type "
                "--allow-outside (with snakemake: --config allow_outside=true)"
            )


def _names(plan):
    """Names that become files: none of them leads elsewhere."""
    config = plan.config
    names = [*plan.datasets, *plan.variants, *plan.figures(), *plan.tables()]
    for name in [*names, *config.special]:
        if re.search(r"[/\\\x00-\x1f]|^\.", name):
            yield f"{name!r} is to name a file: no slash, no dot at its beginning"


def _paths(config):
    """Parameters that are a path lead to a folder of the project."""
    whole = asdict(config)
    free = ("method", "settings", "sweep", "special", "figures", "tables")
    given = {key: whole[key] for key in free}
    given["dataset"] = {name: e["loader"] for name, e in whole["dataset"].items()}
    for where, value in outside_paths(given):
        yield (f"{where}={value!r} is a path that leaves the project, or leads among its code")


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


def _recipes(plan):
    """Problems of the methods' recipes, each distinct one looked at once.

    Looking imports the class, which takes longer than all else that planning does. So
    what was found in order is noted down, with the version of its code.
    """
    notes = Path(plan.config.data.cache) / "recipes_in_order.json"
    try:
        noted = set(read_json(notes))
    except (OSError, ValueError):
        noted = set()
    in_order = set()
    for method, task, recipe in _distinct_recipes(plan):
        note = _note(method, task, recipe)
        if note in noted:
            continue
        from adakern_bench.config.recipes import recipe_problems

        problems = recipe_problems(f"method {method}", recipe, task)
        yield from problems
        if not problems and note:
            in_order.add(note)
    if in_order:
        with suppress(OSError):  # it is a matter of time alone
            write_json(notes, sorted(noted | in_order))


def _distinct_recipes(plan):
    """(method, task, recipe): most data sets share those of a method."""
    distinct = {}
    for dataset, method in plan.cells:
        found = method, plan.entry(dataset).task, plan.recipe(dataset, method)
        distinct.setdefault(json.dumps(found, default=str), found)
    return distinct.values()


def _note(method, task, recipe):
    """Stands for a recipe and its code; None for a module of the project's own."""
    used = [str(target) for target in targets(recipe["estimator"])]
    users_module = re.compile(rf"{OWN_METHODS}\.")
    if any(users_module.match(name) or not re.fullmatch(r"\w+(\.\w+)+", name) for name in used):
        return None
    code = code_version("adakern_bench.config.recipes", *used)
    text = json.dumps([method, task, recipe, code], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]

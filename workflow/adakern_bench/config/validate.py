"""Checks beyond types that precede all jobs: ranges, names and paths."""

import csv
import json
import re
from dataclasses import asdict
from pathlib import Path

from adakern_bench.base.dotted import (
    ALLOW_OUTSIDE,
    IS_OUTSIDE,
    is_inside,
    is_own,
    links_out,
    outside_paths,
)
from adakern_bench.base.elsewhere_worker import targets
from adakern_bench.base.notes import digest, notes
from adakern_bench.base.paths import PUBLISHED, ROOT, SPECIAL, results_of
from adakern_bench.base.plain_text import bullets
from adakern_bench.config.code_version import code_version, functions_of
from adakern_bench.config.compose import ConfigError, available, nearest
from adakern_bench.config.entry import check_entry, setting_problems
from adakern_bench.config.sweeps import MOST_RUNS, base_name

#: Modules of the report whose functions are figures and tables.
VIEWS = ("confirmation", "contrast", "leaderboard", "sweep")

#: Setting of the protocol, its value, and the setting of an entry that it requires.
NEEDS = (
    ("kind", "time", "time"),
    ("kind", "group-holdout", "groups"),
    ("tuning", "published", "tuning_split"),
    ("tuning", "both", "tuning_split"),
    ("published_split", "require", "n_published_splits"),
)

#: Names become folders, Snakemake wildcards, arguments of a cluster's commands and
#: cells of CSV files, in which a leading = + - or @ starts a formula.
NAME = re.compile(r"(?![.=+@-])[\w ,.=+~@()\[\]-]{1,200}")
FOLDER = re.compile(r"[\w ,.=+~@()\[\]/-]+")


def validate(plan, conf, typed, *, is_to_run=True):
    """Raise a ConfigError with all problems of a plan.

    Settings `typed` on the command line may name a mirror or a tracker anywhere.
    """
    problems = [
        *_places(plan.config, typed),
        *_names(plan),
        *(() if ALLOW_OUTSIDE in typed else _paths(plan.config)),
        *_ranges(plan.config),
        *_entries(plan),
        *_selection(plan),
        *(_metric(plan) if plan.config.metric else ()),
        *_published(plan),
        *_references(plan.config, conf),
        *_functions(plan.config),
        *(_recipes(plan) if is_to_run else ()),
    ]
    if problems:
        listed = bullets(dict.fromkeys(problems))
        raise ConfigError(f"experiment {plan.config.name!r} cannot run:\n{listed}")


def check_places(config, typed):
    """Raise a ConfigError if a configuration names a forbidden folder or address."""
    if problems := list(_places(config, typed)):
        raise ConfigError("\n".join(problems))


def _places(config, typed):
    """Yield the problems of a configuration's folders and addresses."""
    if ALLOW_OUTSIDE in typed:
        return
    typed = {override.lstrip("+").partition("=")[0] for override in typed}
    cache = Path(config.data.cache)
    uri = config.tracking.uri
    used = [("results", config.results), ("results", results_of(config))]
    used += [("data.cache", cache / part) for part in ("", "raw", "tables")]
    if config.data.mirror and "data.mirror" not in typed:
        used.append(("data.mirror", config.data.mirror))
    is_local = re.match(r"http://(127\.0\.0\.1|localhost)(:\d+)?(/|$)", uri)
    if "tracking.uri" not in typed and not is_local:
        database = re.fullmatch(r"sqlite:///([^?#]+\.db)", uri)
        used.append(("tracking.uri", database[1] if database else f"/{uri}"))
    for setting, place in used:
        if not is_inside(place, database=setting == "tracking.uri"):
            yield (
                f"{setting}={place} is outside the project, among its code or in a "
                "hidden folder, or the path of a file or a database (.db). Use a "
                f"folder inside {Path.cwd()}, or pass --allow-outside (with snakemake: "
                "--config allow_outside=true)"
            )
    for folder in (results_of(config), cache, PUBLISHED):
        for link in links_out(folder):
            yield (
                f"{link} is a symbolic link out of {folder}. Replace it by a copy of "
                "its target, or pass --allow-outside"
            )


def _names(plan):
    config = plan.config
    if set("{}") & set(str(ROOT)):
        yield (
            f"the project is in {ROOT}, and Snakemake treats braces in a path as "
            "wildcards: rename that folder"
        )
    for setting, folder in (
        ("results", config.results),
        ("data.cache", config.data.cache),
    ):
        if folder and not FOLDER.fullmatch(folder):
            yield (
                f"{setting}={folder!r} must be the path of a folder, with letters, "
                "digits, blanks and _ , . = + ~ @ - ( ) [ ] / only"
            )
    views = [*plan.figures(), *plan.tables()]
    for name in [config.name, *plan.datasets, *plan.variants, *views]:
        if not NAME.fullmatch(name):
            yield (
                f"{name!r} must be a valid name of a file: at most 200 letters, "
                "digits, blanks and _ , . = + ~ @ - ( ) [ ], not starting with . = + - "
                "or @"
            )


def _paths(config):
    """Yield the problems of parameters that are paths outside the project, or
    memory.
    """
    whole = asdict(config)
    free = ("method", "settings", "sweep", "special", "figures", "tables")
    given = {key: whole[key] for key in free}
    for method in given["method"].values():
        del method["python"]  # checked with its recipe
    given["dataset"] = {name: e["loader"] for name, e in whole["dataset"].items()}
    for where, value in outside_paths(given):
        yield f"{where}={value!r} {IS_OUTSIDE}; --allow-outside allows it"


def _ranges(config):
    """Yield the settings that are outside the range that the schema allows."""
    for section in ("protocol", "search", "jobs", "data"):
        yield from setting_problems(section, getattr(config, section))
    for name, method in config.method.items():
        yield from setting_problems(f"method.{name}", method)
        if not (method.classifier or method.regressor):
            yield f"method {name} has no recipe; its file needs classifier or regressor"
    if config.tracking.register and not config.tracking.models:
        yield ("tracking.register requires tracking.models=true")
    if re.search("[/:]", config.tracking.register or ""):
        yield (
            f"tracking.register={config.tracking.register!r}: MLflow's model names "
            "must not contain / or :"
        )


def _entries(plan):
    for name, entry in plan.config.dataset.items():
        if not entry.task:
            yield (
                f"dataset.{name} has no task. If the experiment only changes a setting "
                f"of {name}, select it as well: dataset=[{name},...]"
            )
            continue
        yield from check_entry(name, entry)
        for setting, value, needed in NEEDS:
            asked = getattr(plan.config.protocol, setting) == value
            if asked and getattr(entry, needed) is None:
                what = needed.replace("_", " ")
                yield (
                    f"dataset.{name}: protocol.{setting}={value} requires {what} in "
                    "the entry of the data set"
                )


def _selection(plan):
    config = plan.config
    if not plan.cells and not (config.special and plan.datasets):
        yield (
            "nothing to run: no selected method is both installed and suitable for the "
            "task of a selected data set "
            f"(methods: {', '.join(plan.methods) or 'none'}; "
            f"{len(plan.datasets)} data sets: "
            f"{', '.join([*plan.datasets][:5]) or 'none'}"
            f"{', ...' * (len(plan.datasets) > 5)})"
        )
    for dataset in plan.datasets:
        if (n := plan.n_repeats(dataset)) > MOST_RUNS:
            yield f"{dataset} has {n:,} splits, more than the maximum of {MOST_RUNS:,}"
        if config.special and plan.n_repeats(dataset) > 1:
            yield (
                f"{', '.join(config.special)} uses one split, but {dataset} has "
                f"{plan.n_repeats(dataset)}; set protocol.repeats=1 (and "
                "protocol.kind=holdout)"
            )
    for dataset, method in plan.cells:
        n = plan.entry(dataset).n or 0
        # Memory of the Gram matrices in MB.
        needed = 8e-6 * config.method[base_name(method)].n_gram_matrices * n**2
        if needed > config.jobs.memory_mb:
            yield (
                f"{method} on {dataset} ({n} rows) needs about {needed:.0f} MB for its "
                f"{n} x {n} matrices, but a job has {config.jobs.memory_mb} MB. Raise "
                "jobs.memory_mb, leave the method out, or use smaller data sets "
                "(suite.max_rows)"
            )


def _metric(plan):
    from adakern.evaluation import GREATER_IS_BETTER, METRICS

    metric = plan.config.metric
    tasks = sorted({plan.entry(name).task for name in plan.datasets})
    known = [
        name
        for task in tasks
        for name in METRICS.get(task, ())
        if name in GREATER_IS_BETTER
    ]
    if metric not in known:
        yield (
            f"metric={metric} cannot rank methods for {' or '.join(tasks)}; use one of "
            f"{', '.join(known)}"
        )


def _published(plan):
    """Check that published numbers belong to the selected data sets and splits."""
    name = plan.config.published
    path = PUBLISHED / f"{name}.csv"
    if not name or plan.config.suite is None or not path.is_file():
        return
    with open(path, newline="") as file:
        told = {row.get("dataset") for row in csv.DictReader(file)}
    shown = [d for d in plan.datasets if base_name(d) in told]
    drawn = [
        d for d in shown if plan.entry(d).n_splits and not plan.uses_published_split(d)
    ]
    if any(
        re.match(r"[+~]*suite\.entry\.split", change)
        for change in plan.config.overrides
    ):
        drawn = shown
    if drawn or not shown:
        why = "uses other splits of" if drawn else "has no results of"
        yield (
            f"published={name!r} {why} the selected data sets, such as "
            f"{(drawn or plan.datasets)[0]}; set protocol=published, or published=null"
        )


def _references(config, conf):
    """Check the names of data sets and methods that other sections refer to.

    ``settings`` may refer to data sets that are not selected.
    """
    datasets = sorted({*available("dataset", conf), *config.dataset})
    methods = available("method", conf)
    named = [("sweep", method, list(config.method)) for method in config.sweep]
    for dataset, of_dataset in config.settings.items():
        named.append(("settings", dataset, datasets))
        if not isinstance(of_dataset or {}, dict):
            yield (
                f"settings.{dataset} must map methods to parameters, such as dank: "
                f"{{eta: 0.1}}"
            )
            continue
        named += [
            (f"settings.{dataset}", method, methods) for method in of_dataset or {}
        ]
    if config.published:
        tables = [path.stem for path in PUBLISHED.glob("*.csv")]
        named.append((f"published (a table of {PUBLISHED})", config.published, tables))
    for where, name, known in named:
        if (name if where.startswith("published") else base_name(name)) not in known:
            yield f"{where}: there is no {name!r}. {nearest(name, known)}"


def _functions(config):
    """Check the dotted names of figures, tables and special computations without
    importing them.
    """
    views = {f"figures.{k}": view.function for k, view in config.figures.items()}
    views |= {f"tables.{k}": view.function for k, view in config.tables.items()}
    for name in config.special:
        for function in ("compute", "plot", "table"):
            views[f"special.{name}.{function}"] = f"{name}.{function}"
    special = [path.stem for path in SPECIAL.glob("*.py")]
    for setting, target in views.items():
        module, _, function = target.rpartition(".")
        allowed = [*special, *(f"adakern_bench.report.{view}" for view in VIEWS)]
        if module not in allowed and not is_own(module):
            yield (
                f"{setting}: there is no module {module!r}. {nearest(module, special)}"
            )
            continue
        known = [name for name in functions_of(module) if not name.startswith("_")]
        if function not in known:
            yield (
                f"{setting}={target!r}: there is no function {function!r} in the "
                f"module. {nearest(function, known)}"
            )


def _recipes(plan):
    """Yield the problems of the methods' recipes; valid recipes are cached, since the
    check is slow.
    """
    yield from (
        f"method {name}: raw_columns cannot be combined with python="
        f"{entry.python!r}; use max_categories to pass categories as such"
        for name, entry in plan.config.method.items()
        if entry.raw_columns and entry.python
    )
    with notes(Path(plan.config.data.cache) / "recipes_in_order.json") as in_order:
        for dataset, method in plan.cells:
            task = plan.entry(dataset).task
            recipe = plan.recipe(dataset, method)
            used = map(str, targets(recipe["estimator"]))
            code = code_version("adakern_bench.config.recipes", *used)
            note = digest(json.dumps([task, recipe, code], default=str))
            if note in in_order:
                continue
            from adakern_bench.config.recipes import recipe_problems

            problems = recipe_problems(recipe, task)
            yield from (f"method {method}: {problem}" for problem in problems)
            if not problems:
                in_order[note] = method

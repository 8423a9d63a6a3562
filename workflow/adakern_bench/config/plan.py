"""Plan of an experiment: its cells, recipes and batches of repeats."""

import os
import shlex
from dataclasses import replace
from functools import cache, cached_property
from importlib.util import find_spec
from math import inf

from adakern._utils.warn import warn_user
from adakern_bench.base.dotted import ALLOW_OUTSIDE
from adakern_bench.base.environments import PYTHON, is_variable, python_of
from adakern_bench.base.paths import CONF, results_of
from adakern_bench.config import declared, openml
from adakern_bench.config.compose import ConfigError, load_config, nearest
from adakern_bench.config.schema import TASK_RECIPE
from adakern_bench.config.sweeps import (
    Variant,
    base_name,
    check_number,
    expand_datasets,
    expand_sweep,
)
from adakern_bench.config.validate import check_places, validate
from adakern_bench.config.variant import as_variant


def load_plan(overrides=(), conf=CONF, typed=None, choose=None, *, is_to_run=True):
    """Return the plan that the overrides describe.

    By default all overrides count as `typed` on the command line. `choose` maps the
    configuration to further overrides. Recipes are checked only if the plan
    `is_to_run`.
    """
    settings = [override for override in overrides if override != ALLOW_OUTSIDE]
    typed = overrides if typed is None else typed
    config = load_config(settings, conf)
    for source in (openml, declared):
        if source.is_needed(config):
            check_places(config, typed)  # before anything is cached
            source.fill_in(config)
    if choose is not None:
        settings += choose(config)
    for name, absent in absent_needs(config.method).items():
        del config.method[name]
        config.sweep.pop(name, None)
        warn_user(
            f"method {name} is left out: {', '.join(absent)} is not installed or set"
        )
    config.compared = [name for name in config.compared if name in config.method]
    plan = Plan(as_variant(config, settings))
    validate(plan, conf, typed, is_to_run=is_to_run)
    plan.config.overrides += [ALLOW_OUTSIDE] * (ALLOW_OUTSIDE in typed)
    return plan


def with_tuners(methods, names):
    """The named methods, and those that they are tuned with, by name."""
    kept = list(names)
    for name in kept:  # grows in the loop
        kept += sorted(methods[name].tuners - {*kept})
    return {name: methods[name] for name in kept}


def absent_needs(methods):
    """Method -> missing requirements, its own and those of its tuners."""
    absent = {
        name: [need for need in _needs(methods, name) if not _is_here(need)]
        for name in methods
    }
    return {name: missing for name, missing in absent.items() if missing}


def _needs(methods, name, *before):
    """Requirements of a method and of the methods that it is tuned with."""
    if name in before:
        ring = " -> ".join((*before, name))
        raise ConfigError(
            f"tune_with is circular ({ring}); set tune_with: self in one of them"
        )
    tuners = methods[name].tuners
    of_tuners = (_needs(methods, tuner, *before, name) for tuner in tuners)
    python = methods[name].python
    own = [python] * is_variable(python) if python else methods[name].needs
    return [*own, *(need for needs in of_tuners for need in needs)]


def _is_here(need):
    if need.startswith("$"):
        value = os.environ.get(need[1:], "")
        return bool(value) and (os.sep not in value or os.path.exists(value))
    return need.isidentifier() and find_spec(need) is not None  # a.b would import a


def plan_from_snakemake(config, typed=None):
    """Return the plan of ``snakemake --config experiment=... overrides="..."``; `typed`
    contains the settings given on the command line.
    """
    known = ("experiment", "overrides", "allow_outside")
    for key in config:
        if key not in known:
            raise ConfigError(
                f"--config {key}=... is unknown. {nearest(key, known)} Settings go "
                'into overrides, such as overrides="protocol.repeats=3"'
            )
    overrides = config.get("overrides") or []
    if isinstance(overrides, str):
        try:
            overrides = shlex.split(overrides)
        except ValueError as error:
            raise ConfigError(
                f"overrides={overrides!r} cannot be parsed ({error}): quotation marks "
                "must be paired"
            ) from None
    if not isinstance(overrides, list):
        raise ConfigError(
            f"overrides={overrides!r}: Snakemake parses a colon followed by a blank "
            "as YAML; remove the blank"
        )
    overrides = tuple(override for override in overrides if override != ALLOW_OUTSIDE)
    typed = typed or {}
    said = overrides if "overrides" in typed else ()
    outside = (ALLOW_OUTSIDE,) if typed.get("allow_outside") is True else ()
    selected = (f"experiment={config['experiment']}",) if "experiment" in config else ()
    return load_plan((*selected, *overrides, *outside), typed=(*said, *outside))


#: Maximum estimated time of a group of small data sets, in seconds.
SHORT = 60
#: Number of cells from which on small data sets are grouped, minimum number of groups,
#: and maximum number of cells in a group.
GROUPED_FROM = 100
FEWEST_GROUPS = 4
MOST_CELLS = 100


class Plan:
    """Everything that is to be run for one experiment."""

    def __init__(self, config):
        self.config = config
        self.results = results_of(config)
        self.methods = config.compared
        self.table_names = list(config.dataset)
        self.dataset_variants = expand_datasets(self.table_names, config.protocol)
        self.datasets = list(self.dataset_variants)
        #: Name of the user's own table, whose report explains the best method.
        own = (name for name in self.datasets if name.startswith("my-"))
        self.own = next(own, None)
        self.variants = expand_sweep(self.methods, config.sweep)
        n_cells = len(self.datasets) * len(self.variants)
        check_number(n_cells, "pairs of a data set and a method")
        self.methods_of = {
            dataset: [
                method
                for method in self.variants
                if self._recipe_or_none(dataset, method) is not None
            ]
            for dataset in self.datasets
        }
        self.cells = [
            (dataset, method)
            for dataset, methods in self.methods_of.items()
            for method in methods
        ]

    def limited(self, batches=None, ends=None):
        """Return the plan limited to the first batches of repeats and to a time."""
        jobs = replace(self.config.jobs, batches=batches, ends=ends)
        return Plan(replace(self.config, jobs=jobs))

    def entry(self, dataset):
        """Return the entry of a data set; a sweep's point in its name is ignored."""
        return self.config.dataset[base_name(dataset)]

    def _recipe_or_none(self, dataset, method):
        # An unknown task has no recipe; `check_entry` reports it.
        recipe = TASK_RECIPE.get(self.entry(dataset).task, "")
        return getattr(self.config.method[base_name(method)], recipe, None)

    @cache  # noqa: B019 - one plan lives as long as the process
    def recipe(self, dataset, method):
        """Return the recipe of a cell: fixed parameters, remaining grid, and the method
        whose parameters it takes over.
        """
        recipe = self._recipe_or_none(dataset, method)
        if recipe is None:
            raise ConfigError(
                f"tune_with={method}: {method} has no recipe for "
                f"{self.entry(dataset).task}, the task of {dataset}; name a method "
                "that has, or set tune_with: self"
            )
        fixed = self._settings(dataset, base_name(method))
        if method in self.variants:
            fixed |= self.variants[method].params
        if base_name(method) != method:
            fixed |= self._settings(dataset, method)
        grid = {k: v for k, v in recipe.grid.items() if k not in fixed}
        tuner = recipe.tune_with if recipe.tune_with != "self" else None
        if tuner and self.search_method(dataset, tuner) is None:
            tuner = None
        python = self.config.method[base_name(method)].python
        elsewhere = python_of(python, self.entry(dataset).task)
        return {
            "estimator": recipe.estimator | fixed | elsewhere,
            "grid": grid,
            "random": recipe.random,
            "tune_with": tuner,
            "folds": recipe.folds,
            "fixed": sorted(fixed),
        }

    def _settings(self, dataset, method):
        """Parameters that the experiment fixes for a data set; those for a point of its
        sweep take precedence.
        """
        found = {}
        for name in (base_name(dataset), dataset):
            of_dataset = self.config.settings.get(name) or {}
            is_mapping = isinstance(of_dataset, dict)
            of_method = of_dataset.get(method) or {} if is_mapping else of_dataset
            if not isinstance(of_method, dict):
                raise ConfigError(
                    f"settings.{name} must map methods to parameters, such as dank: "
                    "{eta: 0.1}"
                )
            found |= of_method
        return found

    def columns_kept(self, dataset, method):
        """Options by which a method receives mixed columns without encoding."""
        entry = self.config.method[base_name(method)]
        if self.entry(dataset).format != "table":
            return {}
        kept = {"raw": entry.raw_columns, "max_categories": entry.max_categories}
        return {name: value for name, value in kept.items() if value}

    def swept(self, dataset, method):
        """Axis -> value of a cell in the sweeps of its data set and its method."""
        return (
            self.dataset_variants[dataset].swept
            | self.variants.get(method, Variant()).swept
        )

    def search_method(self, dataset, method):
        """The method whose search provides this one's best parameters, if any."""
        recipe = self.recipe(dataset, method)
        if recipe["grid"]:
            return method
        return recipe["tune_with"] and self.search_method(dataset, recipe["tune_with"])

    def hand_over_method(self, dataset, method):
        """The method whose search fixes parameters before this one's search, if any."""
        tuner = self.recipe(dataset, method)["tune_with"]
        return tuner and self.search_method(dataset, tuner)

    def searches(self, dataset):
        """Methods whose searches a data set needs, ordered so that parameters are found
        before they are taken over.
        """
        needed = [self.search_method(dataset, m) for m in self.methods_of[dataset]]
        for method in needed:  # grows in the loop
            if method:
                needed.append(self.hand_over_method(dataset, method))
        return list(dict.fromkeys(filter(None, reversed(needed))))

    def seconds_of(self, dataset, method, unknown=1.0):
        """Estimated time of a search and of a fit in seconds, from the method's
        cost.
        """
        entry = self.entry(dataset)
        cost = self.config.method[base_name(method)].cost
        n = min(entry.n or 1000, self.config.protocol.max_train_rows or inf)
        return cost.of(n, entry.d or 10, unknown)

    @cached_property
    def groups(self):
        """Number of a group -> small data sets, with all points of their sweeps, that
        run in one process.
        """
        most = self.config.jobs.cells
        if most is None and len(self.cells) >= GROUPED_FROM:
            most = min(MOST_CELLS, len(self.cells) // FEWEST_GROUPS)
        points = {}
        for dataset in self.datasets:
            points.setdefault(base_name(dataset), []).append(dataset)
        groups = []
        n_cells = 0
        seconds = 0.0
        for name in self.table_names if (most or 1) > 1 else ():
            datasets = points[name]
            cells = [(d, method) for d in datasets for method in self.methods_of[d]]
            own = sum(self.n_repeats(d) * sum(self.seconds_of(d, m)) for d, m in cells)
            if not self._is_small(name, cells) or own > SHORT:
                continue
            if not groups or n_cells + len(cells) > most or seconds + own > SHORT:
                groups.append([])
                n_cells, seconds = 0, 0.0
            groups[-1] += datasets
            n_cells, seconds = n_cells + len(cells), seconds + own
        return dict(enumerate(groups))

    def _is_small(self, name, cells):
        """Whether the jobs of a data set may share a process with those of others."""
        config = self.config
        return (
            name != self.own
            and 0 < (self.entry(name).n or 0) <= config.jobs.batch_rows
            and not (config.special or config.tracking.models)
            and not any(self.environment(*cell) for cell in cells)
        )

    def n_repeats(self, dataset):
        """Number of fits of one method on a data set."""
        protocol = self.config.protocol
        if self.uses_published_split(dataset):
            n_splits = self.entry(dataset).n_published_splits
            return min(n_splits, protocol.max_splits or n_splits)
        folds = protocol.n_splits if protocol.kind == "kfold" else 1
        return protocol.repeats * folds

    def uses_published_split(self, dataset):
        """Whether a data set uses its published splits rather than random ones."""
        return (
            self.config.protocol.published_split != "never"
            and self.entry(dataset).n_published_splits is not None
        )

    def split_kind(self, dataset):
        """Kind of split of a data set that does not use published splits."""
        swept = self.dataset_variants[dataset].swept
        entry = self.entry(dataset)
        kind = swept.get("kind", self.config.protocol.kind)
        if kind != "declared":
            return kind
        if entry.time is not None:
            return "time"
        return "holdout" if entry.groups is None else "group-holdout"

    def batches(self, dataset):
        """Names of the batches of repeats, such as "0-9", each of which is one job."""
        last = self.n_repeats(dataset) - 1
        if (self.entry(dataset).n or 0) <= self.config.jobs.batch_rows:
            return [f"0-{last}"]
        return [f"{k}-{k}" for k in range(last + 1)]

    def environment(self, dataset, method):
        """Name of the environment in which a cell is fitted; None for the
        workflow's.
        """
        python = self.recipe(dataset, method)["estimator"].get(PYTHON, {})
        return python.get("environment")

    def figures(self):
        """Names of the experiment's figures, including those of special
        computations.
        """
        return [*self.config.figures, *self.config.special]

    def tables(self):
        """Names of the experiment's tables, including those of special computations."""
        return [*self.config.tables, *self.config.special]

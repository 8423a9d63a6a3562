"""From a configuration to jobs: which files each stage reads and writes, with what.

The Snakefile and the commands that run one stage by hand both ask this plan, so that a
file name or a parameter of a job is decided in one place. A job is given only the part
of the configuration that it reads: Snakemake reruns it when that part changes, and only
then.
"""

import ast
import os
import shlex
from dataclasses import asdict
from functools import cache
from pathlib import Path

from adakern.bench.config.compose import ConfigError, load_config, nearest
from adakern.bench.config.sweeps import base_name, expand_rows, expand_sweep
from adakern.bench.config.validate import validate
from adakern.bench.runtime.code_version import code_version

__all__ = ["Plan", "load_plan", "plan_from_snakemake"]

TASK_RECIPE = {"classification": "classifier", "regression": "regressor"}


def load_plan(overrides=(), **kwargs):
    """The plan of the experiment that the overrides describe; see ``load_config``."""
    config, selected = load_config(overrides, **kwargs)
    if config.data.mirror:
        # Jobs are processes of their own and inherit it. It is no parameter of theirs:
        # where a checked table came from makes no result out of date.
        os.environ["ADAKERN_DATA_MIRROR"] = config.data.mirror
    plan = Plan(config, selected)
    validate(plan, **kwargs)
    _export_fetching(config.data)
    return plan


def _export_fetching(data):
    """Tell the jobs how to fetch, in the environment.

    A table is the same whatever the mirror and the patience; as parameters of its job
    these would make it again, and with it all that was finished.
    """
    for name in ("mirror", "timeout", "retries"):
        if getattr(data, name) is not None:
            os.environ[f"ADAKERN_DATA_{name.upper()}"] = str(getattr(data, name))


def plan_from_snakemake(config):
    """The plan of ``snakemake --config experiment=... overrides="..."``.

    Raises
    ------
    ConfigError
        With one message that names the setting, the value and the way out.
    """
    known = ("experiment", "overrides")
    for key in config:
        if key not in known:
            raise ConfigError(
                f"--config {key}=... is unknown. {nearest(key, known)} Settings go "
                'into overrides, such as overrides="protocol.repeats=3"'
            )
    overrides = config.get("overrides") or ""
    if isinstance(overrides, str):
        overrides = shlex.split(overrides)
    if "experiment" in config:
        overrides = [f"experiment={config['experiment']}", *overrides]
    return load_plan(overrides)


class Plan:
    """All jobs of one experiment.

    Parameters
    ----------
    config : adakern.bench.config.schema.Config
    selected : dict of str to list of str
        Data sets and methods to compare; the configuration may hold more, for methods
        that hand their parameters over.
    """

    def __init__(self, config, selected):
        self.config = config
        self.results = Path(config.results) / config.name
        self.methods = selected["method"]
        self.table_names = list(config.dataset)
        self.rows = expand_rows(selected["dataset"], config.protocol.train_rows)
        self.datasets = list(self.rows)
        self.variants = expand_sweep(self.methods, config.sweep)
        self.cells = [
            (dataset, method)
            for dataset in self.datasets
            for method in self.variants
            if self._has_recipe(dataset, method)
        ]

    def entry(self, dataset):
        """What is known of a data set, or of the one that a sweep of its rows is of."""
        return self.config.dataset[base_name(dataset)]

    def _has_recipe(self, dataset, method):
        return self._recipe_or_none(dataset, method) is not None

    def _recipe_or_none(self, dataset, method):
        # An unknown task has no recipe; the entry's check will name it.
        recipe = TASK_RECIPE.get(self.entry(dataset).task, "")
        return getattr(self.config.method[base_name(method)], recipe, None)

    @cache  # noqa: B019 - one plan lives as long as the process
    def recipe(self, dataset, method):
        """The recipe of a cell: fixed parameters, grid left to search, hand-over."""
        recipe = self._recipe_or_none(dataset, method)
        fixed = self._settings(dataset, base_name(method))
        if method in self.variants:
            fixed |= self.variants[method].params
        if base_name(method) != method:
            fixed |= self._settings(dataset, method)
        grid = {k: v for k, v in recipe.grid.items() if k not in fixed}
        tuner = recipe.tune_with if recipe.tune_with != "self" else None
        if tuner and self.search_method(dataset, tuner) is None:
            tuner = None
        return {
            "estimator": recipe.estimator | fixed,
            "grid": grid,
            "tune_with": tuner,
            "folds": recipe.folds or self._folds(dataset),
            "fixed": sorted(fixed),
        }

    def _settings(self, dataset, method):
        """What the experiment fixes: for the data set, then for a size of it."""
        settings = self.config.settings
        fixed = dict(settings.get(base_name(dataset), {}).get(method, {}))
        if base_name(dataset) != dataset:
            fixed |= settings.get(dataset, {}).get(method, {})
        return fixed

    def _folds(self, dataset):
        search = self.config.search
        n_rows = self.rows[dataset].swept.get("train_rows", self.entry(dataset).n)
        if None not in (search.holdout_rows, n_rows) and n_rows > search.holdout_rows:
            return 1
        return search.folds

    def search_method(self, dataset, method):
        """The method whose search holds the best parameters of this one, if any."""
        recipe = self.recipe(dataset, method)
        if recipe["grid"]:
            return method
        return recipe["tune_with"] and self.search_method(dataset, recipe["tune_with"])

    def solved_datasets(self):
        """Data sets that some method solves, in the order of the configuration."""
        return list(dict.fromkeys(dataset for dataset, _ in self.cells))

    def n_repeats(self, dataset):
        """Number of solves of one method on a data set."""
        protocol = self.config.protocol
        if uses_published_split(protocol, self.entry(dataset)):
            return 1
        folds = protocol.n_splits if protocol.kind == "kfold" else 1
        return protocol.repeats * folds

    def batches(self, dataset):
        """Names of the batches of repeats that one job solves, such as "0-9"."""
        last = self.n_repeats(dataset) - 1
        n_rows = self.entry(dataset).n
        if n_rows is not None and n_rows <= self.config.jobs.batch_rows:
            return [f"0-{last}"]
        return [f"{k}-{k}" for k in range(last + 1)]

    # Files ------------------------------------------------------------------------

    def table(self, dataset):
        return Path(self.config.data.cache) / "tables" / f"{base_name(dataset)}.npz"

    def split(self, dataset):
        return self.results / "splits" / f"{dataset}.npz"

    def search(self, dataset, method, batch):
        return self.results / "search" / dataset / method / f"{batch}.json"

    def cv_table(self, dataset, method, batch):
        return self.search(dataset, method, batch).with_suffix(".cv.csv")

    def record(self, dataset, method, batch):
        return self.results / "records" / dataset / method / f"{batch}.json"

    def records(self, datasets=None):
        return [
            self.record(dataset, method, batch)
            for dataset, method in self.cells
            if datasets is None or dataset in datasets
            for batch in self.batches(dataset)
        ]

    def published(self):
        """The papers' numbers that the experiment is compared with: a file or none."""
        name = self.config.published
        return [Path("data/published") / f"{name}.csv"] if name else []

    def figures(self):
        """Figures of the experiment's own, from records and from special scripts."""
        names = (*self.config.figures, *self.config.special)
        return [self.figure(name) for name in names]

    def tables(self):
        """Tables of the experiment's own, likewise."""
        names = (*self.config.tables, *self.config.special)
        return [self.summary_table(name) for name in names]

    def figure(self, name):
        return self.results / "figures" / f"{name}.svg"

    def summary_table(self, name):
        return self.results / "tables" / f"{name}.csv"

    def special(self, name):
        return self.results / "special" / f"{name}.parquet"

    def script(self, name):
        """The script of a special computation."""
        return Path("workflow/scripts") / f"{name}.py"

    # Inputs of jobs ---------------------------------------------------------------

    def search_inputs(self, dataset, method, batch):
        inputs = {"table": self.table(dataset), "split": self.split(dataset)}
        tuner = self.recipe(dataset, method)["tune_with"]
        if tuner:
            source = self.search_method(dataset, tuner)
            inputs["handed_over"] = self.search(dataset, source, batch)
        return inputs

    def solve_inputs(self, dataset, method, batch):
        inputs = {"table": self.table(dataset), "split": self.split(dataset)}
        source = self.search_method(dataset, method)
        if source:
            inputs["search"] = self.search(dataset, source, batch)
        return inputs

    def jobs(self, stage):
        """Inputs, outputs and settings of every job of a stage, in a runnable order."""
        if stage == "data":
            for d in self.table_names:
                yield {}, {"table": self.table(d)}, self.table_params(d)
        elif stage == "split":
            for d in self.datasets:
                inputs = {"table": self.table(d)}
                yield inputs, {"split": self.split(d)}, self.split_params(d)
        elif stage == "search":
            for d, m in self._searches():
                for batch in self.batches(d):
                    outputs = {
                        "search": self.search(d, m, batch),
                        "cv_table": self.cv_table(d, m, batch),
                    }
                    settings = self.search_params(d, m)
                    yield self.search_inputs(d, m, batch), outputs, settings
        elif stage == "solve":
            for d, m in self.cells:
                for batch in self.batches(d):
                    outputs = {"record": self.record(d, m, batch)}
                    settings = self.solve_params(d, m)
                    yield self.solve_inputs(d, m, batch), outputs, settings

    def _searches(self):
        """Cells that search a grid, those that hand over before those that take."""
        found = {}

        def visit(dataset, method):
            recipe = self.recipe(dataset, method)
            if recipe["tune_with"]:
                visit(dataset, recipe["tune_with"])
            if recipe["grid"]:
                found[dataset, method] = None

        for cell in self.cells:
            visit(*cell)
        return list(found)

    # Parameters of jobs -----------------------------------------------------------

    def job_minutes(self, batch):
        """Time that a job asks for on a cluster: its solves at their limit."""
        first, last = map(int, batch.split("-"))
        return 5 + (last - first + 1) * self.config.jobs.time_limit // 60

    def table_params(self, dataset):
        entry = asdict(self.entry(dataset))
        # Clipping happens after the split; the table holds the data as they are.
        del entry["clip"]
        return {"name": dataset, "entry": entry}

    def split_params(self, dataset):
        protocol = self.config.protocol
        keys = ("kind", "repeats", "test_size", "n_splits", "stratify", "seed")
        return {key: getattr(protocol, key) for key in keys} | {
            "train_rows": self.rows[dataset].swept.get("train_rows"),
            "test_rows": protocol.test_rows,
            "published": uses_published_split(protocol, self.entry(dataset)),
            "code": code_version("adakern.bench.stages.split"),
        }

    def _preparation(self, dataset):
        protocol = self.config.protocol
        keys = ("scale", "scale_fit", "scale_target")
        clip = self.entry(dataset).clip if protocol.clip else None
        return {key: getattr(protocol, key) for key in keys} | {"clip": clip}

    def _solver_params(self, dataset, method, stage):
        recipe = self.recipe(dataset, method)
        return {
            "preparation": self._preparation(dataset),
            "seed": self.config.protocol.seed,
            "estimator": recipe["estimator"],
            "fixed": recipe["fixed"],
            "threads": self.config.jobs.threads,
            "time_limit": self.config.jobs.time_limit,
            "code": code_version(
                f"adakern.bench.stages.{stage}", recipe["estimator"]["_target_"]
            ),
        }

    def search_params(self, dataset, method):
        recipe = self.recipe(dataset, method)
        return self._solver_params(dataset, method, "search") | {
            "grid": recipe["grid"],
            "folds": recipe["folds"],
            "step": self.config.search.step,
            "max_rows": self.config.search.max_rows,
        }

    def solve_params(self, dataset, method):
        return self._solver_params(dataset, method, "solve") | {
            "identity": {
                "experiment": self.config.name,
                "dataset": dataset,
                "method": method,
                "task": self.entry(dataset).task,
                "base_dataset": base_name(dataset),
                "base_method": base_name(method),
                "sweep": self.rows[dataset].swept | self.variants[method].swept,
            },
        }

    def special_params(self, name):
        return {
            "params": self.config.special[name],
            "preparation": {d: self._preparation(d) for d in self.datasets},
            "seed": self.config.protocol.seed,
            "code": code_version(*_imported(self.script(name))),
        }

    def figure_params(self, name):
        return self._view_params(self.config.figures[name])

    def summary_table_params(self, name):
        return self._view_params(self.config.tables[name])

    def _view_params(self, view):
        return asdict(view) | {"code": code_version(view.function)}

    def configuration(self):
        """The configuration as plain values."""
        return asdict(self.config)

    def compare_params(self):
        return {"code": code_version("adakern.bench.stages.compare")}

    def report_params(self):
        return {"code": code_version("adakern.bench.stages.report")}

    def tracking_params(self):
        uri = os.environ.get("MLFLOW_TRACKING_URI") or self.config.tracking.uri
        return {"tracking_uri": uri, "code": code_version("adakern.bench.stages.track")}


def _imported(script):
    """What a script takes from adakern; the script itself is watched by Snakemake."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("adakern")
        for alias in node.names
    ]


def uses_published_split(protocol, entry):
    """Whether the split is the data set's own rather than drawn."""
    return protocol.published_split != "never" and entry.has_published_split

"""From a configuration to jobs: which files each stage reads and writes, with what.

The Snakefile and the commands that run one stage by hand both ask this plan, so that a
file name or a parameter of a job is decided in one place. A job is given only the part
of the configuration that it reads: Snakemake reruns it when that part changes, and only
then.
"""

import os
import shlex
from dataclasses import asdict
from functools import cache
from itertools import product
from pathlib import Path

from adakern.bench.config.compose import ConfigError, load_config, nearest
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
        that hand their parameters over and for studies.
    """

    def __init__(self, config, selected):
        self.config = config
        self.results = Path(config.results) / config.name
        self.datasets = selected["dataset"]
        self.methods = selected["method"]
        self.table_names = list(config.dataset)
        self.variants = _expand_sweep(self.methods, config.sweep)
        self.cells = [
            (dataset, method)
            for dataset in self.datasets
            for method in self.variants
            if self._has_recipe(dataset, method)
        ]

    def _has_recipe(self, dataset, method):
        return self._recipe_or_none(dataset, method) is not None

    def _recipe_or_none(self, dataset, method):
        # An unknown task has no recipe; the entry's check will name it.
        recipe = TASK_RECIPE.get(self.config.dataset[dataset].task, "")
        return getattr(self.config.method[base_name(method)], recipe, None)

    @cache  # noqa: B019 - one plan lives as long as the process
    def recipe(self, dataset, method):
        """The recipe of a cell: fixed parameters, grid left to search, hand-over."""
        recipe = self._recipe_or_none(dataset, method)
        fixed = dict(self.variants.get(method, {}))
        fixed |= self.config.settings.get(dataset, {}).get(method, {})
        if base_name(method) != method:
            of_base = self.config.settings.get(dataset, {}).get(base_name(method), {})
            fixed = of_base | fixed
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

    def _folds(self, dataset):
        search, n_rows = self.config.search, self.config.dataset[dataset].n
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
        if uses_published_split(protocol, self.config.dataset[dataset]):
            return 1
        folds = protocol.n_splits if protocol.kind == "kfold" else 1
        return protocol.repeats * folds

    def batches(self, dataset):
        """Names of the batches of repeats that one job solves, such as "0-9"."""
        last = self.n_repeats(dataset) - 1
        n_rows = self.config.dataset[dataset].n
        if n_rows is not None and n_rows <= self.config.jobs.batch_rows:
            return [f"0-{last}"]
        return [f"{k}-{k}" for k in range(last + 1)]

    # Files ------------------------------------------------------------------------

    def table(self, dataset):
        return Path(self.config.data.cache) / "tables" / f"{dataset}.npz"

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

    def study_datasets(self, study):
        """Data sets of a study; one nameless job when it generates its own data."""
        return self.config.studies[study].datasets or ["none"]

    def study(self, study, dataset):
        return self.results / "studies" / study / f"{dataset}.parquet"

    def figures(self):
        """Figures of the experiment's own, from its records and its studies."""
        names = [name for name, study in self.config.studies.items() if study.plot]
        return [self.figure(name) for name in [*self.config.figures, *names]]

    def tables(self):
        """Tables of the experiment's own, likewise."""
        names = [t for study in self.config.studies.values() for t in study.tables]
        return [self.summary_table(name) for name in [*self.config.tables, *names]]

    def figure(self, name):
        return self.results / "figures" / f"{name}.svg"

    def summary_table(self, name):
        return self.results / "tables" / f"{name}.csv"

    def frames(self, name):
        """What a figure or table is made from: the records, or frames of its study."""
        study = self._study_of(name)
        if study is None:
            return [self.results / "records.parquet"]
        return [self.study(study, d) for d in self.study_datasets(study)]

    def _study_of(self, name):
        studies = self.config.studies
        if name in studies:
            return name
        return next((s for s, study in studies.items() if name in study.tables), None)

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

    def study_inputs(self, dataset):
        return {} if dataset == "none" else {"table": self.table(dataset)}

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
        elif stage == "study":
            for study in self.config.studies:
                for d in self.study_datasets(study):
                    outputs = {"frame": self.study(study, d)}
                    yield self.study_inputs(d), outputs, self.study_params(study)

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
        entry = asdict(self.config.dataset[dataset])
        # Clipping happens after the split; the table holds the data as they are.
        del entry["clip"]
        return {"name": dataset, "entry": entry}

    def split_params(self, dataset):
        protocol = self.config.protocol
        keys = ("kind", "repeats", "test_size", "n_splits", "stratify", "seed")
        return {key: getattr(protocol, key) for key in keys} | {
            "published": uses_published_split(protocol, self.config.dataset[dataset]),
            "code": code_version("adakern.bench.stages.split"),
        }

    def _preparation(self, dataset):
        protocol = self.config.protocol
        keys = ("scale", "scale_fit", "scale_target")
        clip = self.config.dataset[dataset].clip if protocol.clip else None
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
                "task": self.config.dataset[dataset].task,
            },
        }

    def study_params(self, study):
        entry = self.config.studies[study]
        return {
            "compute": entry.compute,
            "params": entry.params,
            "seed": self.config.protocol.seed,
            "threads": self.config.jobs.threads,
            "code": code_version(entry.compute),
        }

    def figure_params(self, name):
        plot = self.config.figures.get(name) or self.config.studies[name].plot
        return self._function_params(plot)

    def summary_table_params(self, name):
        study = self._study_of(name)
        tables = self.config.studies[study].tables if study else self.config.tables
        return self._function_params(tables[name])

    def _function_params(self, function):
        return {"function": function, "code": code_version(function)}

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


def base_name(method):
    """The method's own name, without the point of a sweep."""
    return method.partition("@")[0]


def uses_published_split(protocol, entry):
    """Whether the split is the data set's own rather than drawn."""
    return protocol.published_split != "never" and entry.has_published_split


def _expand_sweep(methods, sweep):
    """Methods and the fixed parameters that their point of the sweep adds."""
    variants = {}
    for method in methods:
        axes = sweep.get(method)
        if not axes:
            variants[method] = {}
            continue
        for point in product(*axes.values()):
            params = dict(zip(axes, point, strict=True))
            label = ",".join(f"{key}={value}" for key, value in params.items())
            variants[f"{method}@{label}"] = params
    return variants

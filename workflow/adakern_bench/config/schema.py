"""The configuration of a run: every setting with its type, default and meaning."""

from dataclasses import dataclass, field
from typing import Any

from adakern_bench.config.entry import DatasetEntry, number, one_of
from adakern_bench.config.suite import Suite

#: Task -> attribute of :class:`Method` with its recipe.
TASK_RECIPE = {"classification": "classifier", "regression": "regressor"}


@dataclass
class Recipe:
    """Estimator of a method for one task, and its hyperparameter search."""

    #: ``_target_`` (the class) and its fixed parameters, in Hydra's form.
    estimator: dict[str, Any] = field(default_factory=dict)
    #: Parameter -> values to search by cross-validation on the training part.
    grid: dict[str, Any] = field(default_factory=dict)
    #: Number of points drawn at random instead of the whole grid. An axis may then be a
    #: distribution: ``{uniform: [low, high]}``, ``{log_uniform: ...}``,
    #: ``{integers: ...}`` or ``{log_integers: ...}``, bounds included.
    random: int | None = number(None, least=1, most=100_000)
    #: "self", or the method whose best parameters are taken over before the search.
    tune_with: str = "self"
    #: Folds of the search; 1 means a single 20 % validation part, null uses ``search``.
    folds: int | None = number(None, least=1)


@dataclass
class Cost:
    """Cost of one fit on one core with 1,000 training rows of 10 columns."""

    #: Null if it has not been measured.
    seconds: float | None = number(None, least=0)
    #: The time of a fit grows with this power of the number of rows.
    power: float = 1.0
    #: Time of a search in seconds; a search uses at most 1,000 rows.
    search: float = number(0.0, least=0)
    #: Number of n x n matrices (n training rows) held in memory at once.
    matrices: float = number(0.0, least=0)

    def of(self, rows, d, unknown):
        """Estimated seconds of a search and of a fit; `unknown` replaces a missing
        `seconds`.
        """
        thousands = rows / 1000
        wider = max(1.0, d / 10) ** 0.7
        fit = unknown if self.seconds is None else self.seconds
        return (
            wider * self.search * min(1.0, thousands),
            wider * fit * thousands**self.power,
        )


@dataclass
class Method:
    """A method of the comparison; it is left out for tasks without a recipe."""

    classifier: Recipe | None = None
    regressor: Recipe | None = None
    description: str = ""
    reference: str = ""
    #: Required packages and, with a leading $, environment variables; if one is
    #: missing, the method is left out with a warning. Ignored if `python` is given.
    needs: list[str] = field(default_factory=list)
    #: Python that fits the method if it needs other packages than the workflow: a lock
    #: file of pip (``envs/mine.txt``), whose environment is created once, or an
    #: environment variable with the path of the executable (``$ADAKERN_MINE``).
    python: str | None = None
    #: Number of training rows from which on the fit uses a validation part of its own
    #: (for early stopping, scales or weights); null: never. If `fit` accepts `groups`,
    #: `time` or `X_val`, the validation part has unseen groups or later rows whenever
    #: the test part has; for other methods the report says that it is random.
    validates_from: int | None = number(None, least=0)
    #: Number of n x n matrices (n rows); a run is refused if they exceed
    #: jobs.memory_mb.
    n_gram_matrices: float = number(0.0, least=0)
    #: Used by `adakern compare` to choose methods that fit the time and the memory.
    cost: Cost = field(default_factory=Cost)
    #: `adakern compare` never leaves out a baseline.
    baseline: bool = False
    #: Method that this one replaces: `adakern compare` runs it only if that one is too
    #: expensive for the table.
    stands_in_for: str | None = None
    #: Whether the method handles categories and missing values itself: it gets the
    #: mixed columns as a DataFrame, and the target in its own units.
    raw_columns: bool = False
    #: Maximum number of categories per column (the rarest are merged) of a method that
    #: handles missing values and pandas' dtype category: it gets the mixed columns as
    #: such a DataFrame, with dates as numbers, and the target in its own units.
    max_categories: int = number(0, least=0)

    @property
    def tuners(self):
        """Methods whose best parameters this one takes over."""
        recipes = filter(None, (self.classifier, self.regressor))
        return {recipe.tune_with for recipe in recipes} - {"self"}


@dataclass
class Protocol:
    """How a data set is split into training and test parts, and scaled."""

    #: "holdout", "kfold", "group-holdout" (whole groups in the test part), "time" (each
    #: repeat trains on all rows before its test block), "declared" ("time" or
    #: "group-holdout" if the data set's entry names a time or groups, else "holdout"),
    #: or "both": every data set is run with "holdout" and with "declared", as
    #: ``parkinsons@kind=holdout``.
    kind: str = one_of("holdout", "kfold", "group-holdout", "time", "declared", "both")
    repeats: int = number(10, least=1, most=100_000)
    #: Fraction of the rows (for "group-holdout", of the groups) in the test part.
    test_size: float = number(0.5, least=1e-6, most=1 - 1e-6)
    #: Sizes of nested subsamples of the training part: every data set is run with each
    #: size, as ``ijcnn1@train_rows=100``.
    train_rows: list[int] = field(
        default_factory=list, metadata={"range": (2, float("inf"))}
    )
    #: Maximum number of training rows, drawn without replacement; null keeps all.
    max_train_rows: int | None = number(None, least=2)
    #: Maximum number of test rows, drawn without replacement; null keeps all.
    test_rows: int | None = number(None, least=1)
    #: Folds of "kfold"; each is one repeat.
    n_splits: int = number(5, least=2, most=100_000)
    #: Keep the class proportions in both parts.
    stratify: bool = True
    #: "never", "prefer" (if the data set has one) or "require".
    published_split: str = one_of("never", "prefer", "require")
    #: Use only this number of published splits, the first ones; null uses all.
    max_splits: int | None = number(None, least=1)
    #: "nested" (search on the training part of each split), "published" (search once,
    #: on the published tuning split, which may contain test rows), or "both": every
    #: data set is run with each, as ``uci121-iris@tuning=nested``.
    tuning: str = one_of("nested", "published", "both")
    #: "unit" ([0, 1]), "symmetric" ([-1, 1]), "standard" or "none".
    scale: str = one_of("unit", "symmetric", "standard", "none")
    #: Rows that the scaling is fitted to: "train", or "all" as in the papers, which
    #: leaks and which the report states.
    scale_fit: str = one_of("train", "all")
    #: "none" or "standard": regression targets are standardised for the fit, with the
    #: mean and deviation of the training part; metrics are in the target's own units.
    scale_target: str = one_of("none", "standard")
    #: Clip features at the percentiles that a data set's entry gives.
    clip: bool = True
    seed: int = number(0, least=0, most=2**32 - 1)


@dataclass
class Search:
    """Hyperparameter search by cross-validation on the training part."""

    folds: int = number(5, least=1)
    #: Data sets with more rows are searched with a single 20 % validation part; null:
    #: none are.
    holdout_rows: int | None = number(None, least=1)
    #: Use only every step-th point of each grid axis with more than three values, if
    #: all of them are numbers.
    step: int = number(1, least=1)
    #: Maximum number of training rows of a search, drawn at random; null uses all.
    max_rows: int | None = number(None, least=50)


@dataclass
class Jobs:
    """How the work is divided into jobs."""

    #: Up to this number of rows, all repeats of a data set are one job; beyond it each
    #: repeat is a job.
    batch_rows: int = number(2000, least=0)
    #: Maximum number of cells of small data sets that one process runs; null: for an
    #: experiment of at least 100 cells a quarter of them, but at most 100. A group
    #: takes at most about a minute.
    cells: int | None = number(None, least=1)
    threads: int = number(1, least=1, most=10_000)
    #: Time limit of a fit or search in seconds; the status beyond it is "timeout".
    time_limit: int = number(3600, least=1)
    #: Memory that a job requests on a cluster, in MB.
    memory_mb: int = number(2000, least=1)
    #: Run only this number of batches of repeats per cell, the first ones; null runs
    #: all.
    batches: int | None = number(None, least=1)
    #: Time at which all fits must end, in seconds since 1970. `compare --minutes` sets
    #: this and `batches`.
    ends: float | None = None


@dataclass
class Data:
    """Folders that data sets are read from and written to."""

    cache: str = "data"
    #: Folder with one folder per data set; if null, ADAKERN_DATA_MIRROR names it.
    mirror: str | None = None


@dataclass
class Tracking:
    """MLflow."""

    enabled: bool = True
    #: MLFLOW_TRACKING_URI takes precedence if set.
    uri: str = "sqlite:///mlflow.db"
    #: Save every fitted model below ``models/`` of the results, and log it with its run
    #: (in skops format, with a signature).
    models: bool = False
    #: Register the best method's model of the first repeat under this name.
    register: str | None = None


@dataclass
class View:
    """A figure or table of an experiment, made from its records."""

    #: Dotted name of ``function(records, **params)``, which returns a matplotlib Figure
    #: or a DataFrame. A parameter ``metric`` receives the experiment's metric, and a
    #: table's parameter ``published`` the published numbers. Modules of
    #: ``workflow/special/`` are named without a package.
    function: str = ""
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class Config:
    """The complete configuration of an experiment."""

    name: str = ""
    title: str = ""
    description: str = ""
    #: Name of the experiment's file, and overrides of the command line; set by the
    #: plan.
    experiment: str = ""
    overrides: list[str] = field(default_factory=list)
    #: The methods that are compared, also set by the plan; `method` contains those that
    #: they are tuned with as well.
    compared: list[str] = field(default_factory=list)
    #: A suite, whose data sets are added to those of ``dataset``.
    suite: Suite | None = None
    dataset: dict[str, DatasetEntry] = field(default_factory=dict)
    method: dict[str, Method] = field(default_factory=dict)
    protocol: Protocol = field(default_factory=Protocol)
    search: Search = field(default_factory=Search)
    jobs: Jobs = field(default_factory=Jobs)
    data: Data = field(default_factory=Data)
    tracking: Tracking = field(default_factory=Tracking)
    #: Metric of rankings, tests, figures and the headline, and scorer of searches where
    #: possible; null: accuracy or the root mean squared error.
    metric: str | None = None
    #: Data set -> method -> fixed parameters, which override those of the method.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Method -> parameter -> values; each point becomes a method ``name@param=value``.
    #: See ``sweeps.py`` for other kinds of axes.
    sweep: dict[str, Any] = field(default_factory=dict)
    #: Table of ``data/published/`` shown beside the measured numbers.
    published: str | None = None
    figures: dict[str, View] = field(default_factory=dict)
    tables: dict[str, View] = field(default_factory=dict)
    #: Module of ``workflow/special/`` -> parameters of its ``compute``, a computation
    #: on the rows of the split that is not a fit of a method. It has a figure and a
    #: table.
    special: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: str = "results"

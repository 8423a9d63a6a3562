"""The configuration of a run: every setting with its type, default and meaning."""

from dataclasses import dataclass, field
from typing import Any

from adakern_bench.config.entry import DatasetEntry, number, one_of
from adakern_bench.config.suite import Suite

#: The part of a :class:`Method` that treats a task.
TASK_RECIPE = {"classification": "classifier", "regression": "regressor"}


@dataclass
class Recipe:
    """How a method treats one task."""

    #: ``_target_`` (the class) and its fixed parameters, in Hydra's form.
    estimator: dict[str, Any] = field(default_factory=dict)
    #: Parameter -> values, searched by cross-validation on the training part.
    grid: dict[str, Any] = field(default_factory=dict)
    #: Number of points drawn at random instead of the whole grid. An axis may then be a
    #: distribution: ``{uniform: [low, high]}``, ``{log_uniform: ...}``,
    #: ``{integers: ...}`` or ``{log_integers: ...}``, ends included.
    random: int | None = None
    #: "self", or the method whose best parameters are taken over before the grid.
    tune_with: str = "self"
    #: Folds of the search; 1 means one 20 % validation part, null follows ``search``.
    folds: int | None = None


@dataclass
class Cost:
    """Cost of one fit on one core with 1,000 training rows of 10 columns."""

    #: Null if nobody has measured it.
    seconds: float | None = None
    #: The time of a fit grows with this power of the rows.
    power: float = 1.0
    #: Seconds of a search, which uses at most 1,000 rows.
    search: float = 0.0
    #: Number of n x n matrices (n training rows) that it holds in memory at once.
    matrices: float = 0.0

    def of(self, rows, d, unknown):
        """Seconds of a search and of a fit; `unknown` with 1,000 rows of 10 columns."""
        thousands = rows / 1000
        wider = max(1.0, d / 10) ** 0.7
        fit = unknown if self.seconds is None else self.seconds
        return (
            wider * self.search * min(1.0, thousands),
            wider * fit * thousands**self.power,
        )


@dataclass
class Method:
    """A method of the comparison; it is left out for a task without a recipe."""

    classifier: Recipe | None = None
    regressor: Recipe | None = None
    description: str = ""
    reference: str = ""
    #: Packages and, with a leading $, environment variables without which the method is
    #: left out with a warning; ignored if `python` is given.
    needs: list[str] = field(default_factory=list)
    #: The Python that it is fitted with, if its packages are not the workflow's: a lock
    #: file of pip, ``envs/mine.txt``, whose environment is made once, or a variable
    #: with the path of the executable, ``$ADAKERN_MINE``.
    python: str | None = None
    #: Number of training rows from which the fit itself chooses something (when to
    #: stop, scales, weights) on rows that it sets aside or leaves out; null: never. If
    #: `fit` takes `groups`, `time` or `X_val`, these are new groups or later rows when
    #: the test part is; for other methods the report says that they are random.
    validates_from: int | None = number(None, least=0)
    #: Number of matrices of all rows times all rows; jobs with less memory are refused.
    n_gram_matrices: float = 0
    #: `adakern compare` chooses by it what the time and the memory allow.
    cost: Cost = field(default_factory=Cost)
    #: A baseline for the others: `adakern compare` never leaves it out.
    baseline: bool = False
    #: `adakern compare` runs it only if that method is too large for the table.
    stands_in_for: str | None = None
    #: It handles categories and missing values itself: from a table of mixed columns it
    #: gets a DataFrame that contains them, and the target in its own units.
    raw_columns: bool = False
    #: It handles missing values, and pandas' dtype category with at most this number of
    #: categories per column (beyond it the rarest are merged): from a table of mixed
    #: columns it gets such a DataFrame, dates as numbers, and the target in its units.
    max_categories: int = number(0, least=0)

    @property
    def tuners(self):
        """Methods whose best parameters its recipes take over."""
        recipes = filter(None, (self.classifier, self.regressor))
        return {recipe.tune_with for recipe in recipes} - {"self"}


@dataclass
class Protocol:
    """How a data set is split into training and test parts, and scaled."""

    #: "holdout", "kfold", "group-holdout" (whole groups in the test part), "time"
    #: (each repeat trains on all rows before its test block), "declared" (one of these
    #: two if the entry of a data set names groups or a time, else "holdout") or
    #: "both": every data set with "holdout" and with "declared", as
    #: ``parkinsons@kind=holdout``.
    kind: str = one_of("holdout", "kfold", "group-holdout", "time", "declared", "both")
    repeats: int = number(10, least=1, most=100_000)
    #: Share of the rows (of the groups, for "group-holdout") in the test part.
    test_size: float = number(0.5, least=1e-6, most=1 - 1e-6)
    #: Sizes of nested samples of the training part: every data set is run with each, as
    #: ``ijcnn1@train_rows=100``.
    train_rows: list[int] = field(
        default_factory=list, metadata={"range": (2, float("inf"))}
    )
    #: Maximum number of training rows, drawn without replacement; null keeps all.
    max_train_rows: int | None = number(None, least=2)
    #: Maximum number of test rows, drawn likewise; null keeps all.
    test_rows: int | None = number(None, least=1)
    #: Folds of "kfold"; each is one repeat.
    n_splits: int = number(5, least=2, most=100_000)
    #: Keep the class proportions in both parts.
    stratify: bool = True
    #: "never", "prefer" (if the data set has one) or "require".
    published_split: str = one_of("never", "prefer", "require")
    #: Number of published splits to use, the first ones; null uses all.
    max_splits: int | None = number(None, least=1)
    #: "nested" (on the training part of each split), "published" (once, on the data
    #: set's own tuning split, which may contain test rows), or "both": every data set
    #: is run with each, as ``uci121-iris@tuning=nested``.
    tuning: str = one_of("nested", "published", "both")
    #: "unit" ([0, 1]), "symmetric" ([-1, 1]), "standard" or "none".
    scale: str = one_of("unit", "symmetric", "standard", "none")
    #: "train" (no leak) or "all" (as in the papers; the report says so).
    scale_fit: str = one_of("train", "all")
    #: "none", or "standard": regression targets are standardised for the fit, on the
    #: training part; metrics are in the target's own units.
    scale_target: str = one_of("none", "standard")
    #: Clip features at the percentiles that the data set's entry gives.
    clip: bool = True
    seed: int = number(0, least=0, most=2**32 - 1)


@dataclass
class Search:
    """Cross-validation on the training part."""

    folds: int = number(5, least=1)
    #: Data sets with more rows are searched on one 20 % validation part; null: none.
    holdout_rows: int | None = number(None, least=1)
    #: Step through the points of a grid axis; 2 halves each axis of more than three
    #: numbers. An axis that contains a word ("svm") is left as it is.
    step: int = number(1, least=1)
    #: Number of training rows that a search uses, drawn at random; null uses all.
    max_rows: int | None = number(None, least=50)


@dataclass
class Jobs:
    """How the work is divided into jobs."""

    #: Data sets up to this size run all repeats in one job; others one repeat per job.
    batch_rows: int = number(2000, least=0)
    #: Number of cells of small data sets that one process runs; null: a quarter of all
    #: from 100 on, 100 at most, and fewer if they take more than a minute.
    cells: int | None = number(None, least=1)
    threads: int = number(1, least=1, most=10_000)
    #: Time limit of one fit or search in seconds; beyond it the record says "timeout".
    time_limit: int = number(3600, least=1)
    #: Memory that a job requests on a cluster, in MB.
    memory_mb: int = number(2000, least=1)
    #: Number of batches of repeats to run of each cell, the first ones; null runs all.
    batches: int | None = number(None, least=1)
    #: Time at which all fits end, in seconds since 1970. `compare --minutes` sets both.
    ends: float | None = None


@dataclass
class Data:
    """Where data are read from and kept."""

    cache: str = "data"
    #: Folder with one folder per data set; ADAKERN_DATA_MIRROR if null.
    mirror: str | None = None


@dataclass
class Tracking:
    """MLflow."""

    enabled: bool = True
    #: MLFLOW_TRACKING_URI takes precedence if set.
    uri: str = "sqlite:///mlflow.db"
    #: Keep every fitted model, below ``models/`` of the results, and log it with its
    #: run (skops format, with its signature).
    models: bool = False
    #: Register the best method's model, of the first repeat, under this name.
    register: str | None = None


@dataclass
class View:
    """A figure or table specific to the experiment, made from its records."""

    #: Dotted name of ``function(records, **params)``, which returns a matplotlib Figure
    #: or a DataFrame. A parameter ``metric`` receives the experiment's metric, and a
    #: table's parameter ``published`` the published numbers. Modules of
    #: ``workflow/special/`` are named without a package.
    function: str = ""
    params: dict[str, Any] = field(default_factory=dict)


@dataclass
class Config:
    """One experiment, complete."""

    name: str = ""
    title: str = ""
    description: str = ""
    #: The experiment's own name, and what the command line changed; set by the plan.
    experiment: str = ""
    overrides: list[str] = field(default_factory=list)
    #: The methods that are compared, also set by the plan; others of `method` tune
    #: them.
    compared: list[str] = field(default_factory=list)
    #: The sets of a suite are added to those of ``dataset``.
    suite: Suite | None = None
    dataset: dict[str, DatasetEntry] = field(default_factory=dict)
    method: dict[str, Method] = field(default_factory=dict)
    protocol: Protocol = field(default_factory=Protocol)
    search: Search = field(default_factory=Search)
    jobs: Jobs = field(default_factory=Jobs)
    data: Data = field(default_factory=Data)
    tracking: Tracking = field(default_factory=Tracking)
    #: Rankings, tests, figures and headline go by it instead of accuracy or the root
    #: mean squared error; searches do not.
    metric: str | None = None
    #: Data set -> method -> fixed parameters, which override the method's own.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Method -> parameter -> values; each point becomes a method ``name@param=value``.
    #: For other kinds of axes see ``sweeps.py``.
    sweep: dict[str, Any] = field(default_factory=dict)
    #: Table of ``data/published/`` shown beside the measured numbers.
    published: str | None = None
    figures: dict[str, View] = field(default_factory=dict)
    tables: dict[str, View] = field(default_factory=dict)
    #: Module of ``workflow/special/`` -> parameters of its ``compute``, a computation
    #: other than a fit on the rows of the same split. It gives a figure and a table.
    special: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: str = "results"

"""The configuration of a run: every setting, its type, its default and what
it means."""

from dataclasses import dataclass, field
from typing import Any

from adakern_bench.config.entry import DatasetEntry, number, one_of
from adakern_bench.config.suite import Suite

#: The part of a :class:`Method` that treats a task.
TASK_RECIPE = {"classification": "classifier", "regression": "regressor"}


@dataclass
class Recipe:
    """How a method treats one task."""

    #: ``_target_`` (the class) and its fixed parameters, in Hydra's own form.
    estimator: dict[str, Any] = field(default_factory=dict)
    #: Parameter -> values, searched by cross-validation on the training part.
    grid: dict[str, Any] = field(default_factory=dict)
    #: So many points drawn at random instead of the whole grid. An axis may then be a
    #: distribution: ``{uniform: [low, high]}``, ``{log_uniform: ...}``,
    #: ``{integers: ...}`` or ``{log_integers: ...}``, ends included.
    random: int | None = None
    #: "self", or the method whose best parameters are taken over before the grid.
    tune_with: str = "self"
    #: Folds of the search; 1 is one 20 % validation part; null follows ``search``.
    folds: int | None = None


@dataclass
class Cost:
    """What one fit takes, on one core with 1,000 training rows of 10 columns."""

    #: Null where nobody has measured it.
    seconds: float | None = None
    #: The time of a fit grows with this power of the rows.
    power: float = 1.0
    #: Seconds of a search, which looks at so many rows at most.
    search: float = 0.0
    #: Matrices of training rows times training rows that it holds in memory at once.
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
    """A method of the comparison; a task it has no recipe for is left out."""

    classifier: Recipe | None = None
    regressor: Recipe | None = None
    description: str = ""
    reference: str = ""
    #: Packages, and with a $ before them variables of the environment, without which
    #: the method is left out with a warning; of no matter where `python` is given.
    needs: list[str] = field(default_factory=list)
    #: The Python that it is fitted with, where its packages are not the workflow's: a
    #: lock file of pip, ``envs/mine.txt``, whose environment is made once, or a
    #: variable that names the program, ``$ADAKERN_MINE``.
    python: str | None = None
    #: From so many training rows on something is chosen while it is fitted (when to
    #: stop, scales, weights) by rows that it sets aside or leaves out; null: never.
    #: Where `fit` takes `groups`, `time` or `X_val` these are new groups or later rows
    #: if the test part is; of others the report says that they are random.
    validates_from: int | None = number(None, least=0)
    #: Matrices of all rows times all rows; jobs of less memory are refused.
    n_gram_matrices: float = 0
    #: By which `adakern compare` chooses what the time and the memory allow.
    cost: Cost = field(default_factory=Cost)
    #: Others are judged by it: `adakern compare` never leaves it out.
    baseline: bool = False
    #: `adakern compare` runs it only where that method is too large for the table.
    stands_in_for: str | None = None
    #: It takes categories and missing values itself: of a table of mixed columns it
    #: gets a DataFrame with these, and the target in its own units.
    raw_columns: bool = False
    #: It takes missing values, and pandas' dtype category with so many categories of a
    #: column (of more, the rarest share one): of a table of mixed columns it gets a
    #: DataFrame with these, dates as numbers, and the target in its own units.
    max_categories: int = number(0, least=0)

    @property
    def tuners(self):
        """Methods whose best parameters its recipes take over."""
        recipes = filter(None, (self.classifier, self.regressor))
        return {recipe.tune_with for recipe in recipes} - {"self"}


@dataclass
class Protocol:
    """How a data set is cut into training and test parts, and scaled."""

    #: "holdout", "kfold", "group-holdout" (whole groups in the test part), "time"
    #: (each repeat trains on all rows before its test block), "declared" (the last
    #: two where the entry of a data set names a time or groups, else "holdout") or
    #: "both": every data set with "holdout" and with "declared", as
    #: ``parkinsons@kind=holdout``.
    kind: str = one_of("holdout", "kfold", "group-holdout", "time", "declared", "both")
    repeats: int = number(10, least=1, most=100_000)
    #: Share of the rows (of the groups, for "group-holdout") in the test part.
    test_size: float = number(0.5, least=1e-6, most=1 - 1e-6)
    #: Sizes of the training part, each drawn from the whole of it, a larger one holding
    #: the smaller: every data set is solved with each, as ``ijcnn1@train_rows=100``.
    train_rows: list[int] = field(
        default_factory=list, metadata={"range": (2, float("inf"))}
    )
    #: Training rows at most, drawn without replacement; all where null.
    max_train_rows: int | None = number(None, least=2)
    #: Test rows at most, drawn likewise; all where null.
    test_rows: int | None = number(None, least=1)
    #: Folds of "kfold"; each is one solve.
    n_splits: int = number(5, least=2, most=100_000)
    #: Keep the class proportions in both parts.
    stratify: bool = True
    #: "never", "prefer" (where the data set has one) or "require".
    published_split: str = one_of("never", "prefer", "require")
    #: Of several published splits the first so many; all where null.
    max_splits: int | None = number(None, least=1)
    #: "nested" (on the training part of each split), "published" (once, on the data
    #: set's own tuning split, which may hold test rows), or "both": every data set is
    #: solved with each, as ``uci121-iris@tuning=nested``.
    tuning: str = one_of("nested", "published", "both")
    #: "unit" ([0, 1]), "symmetric" ([-1, 1]), "standard" or "none".
    scale: str = one_of("unit", "symmetric", "standard", "none")
    #: "train" (no leak) or "all" (the papers' habit; the report says so).
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
    #: Data sets of more rows than this search on one 20 % validation part; null: none.
    holdout_rows: int | None = number(None, least=1)
    #: Every how many points of a grid axis are kept; 2 halves each axis of more than
    #: three numbers. One that holds a word ("svm") is left as it is.
    step: int = number(1, least=1)
    #: Training rows that a search looks at, drawn at random; all where null.
    max_rows: int | None = number(None, least=50)


@dataclass
class Jobs:
    """How the work is cut into jobs."""

    #: Data sets up to this many rows solve all repeats in one job, others one a job.
    batch_rows: int = number(2000, least=0)
    #: So many cells of small data sets are worked off in one process; null: a quarter
    #: of all from 100 on, 100 at most, and fewer where they take more than a minute.
    cells: int | None = number(None, least=1)
    threads: int = number(1, least=1, most=10_000)
    #: Of one solve or search, in seconds; beyond it the record says "timeout".
    time_limit: int = number(3600, least=1)
    #: Memory that a job asks for on a cluster, in MB.
    memory_mb: int = number(2000, least=1)
    #: Of each cell only the first so many batches of repeats; all where null.
    batches: int | None = number(None, least=1)
    #: When all fits end, in seconds since 1970. `adakern compare --minutes` sets both.
    ends: float | None = None


@dataclass
class Data:
    """Where data come from and go to."""

    cache: str = "data"
    #: Folder laid out as one folder a data set; ADAKERN_DATA_MIRROR when null.
    mirror: str | None = None


@dataclass
class Tracking:
    """MLflow."""

    enabled: bool = True
    #: MLFLOW_TRACKING_URI, where set, wins.
    uri: str = "sqlite:///mlflow.db"
    #: Keep every fitted model, below ``models/`` of the results, and log it with its
    #: run (skops format, with its signature).
    models: bool = False
    #: Register the kept model of the best method under this name, that of the first
    #: repeat.
    register: str | None = None


@dataclass
class View:
    """A figure or a table of the experiment's own, made from its records."""

    #: Dotted name of ``function(records, **params)``, which gives a matplotlib Figure
    #: or a DataFrame; one with a parameter ``metric`` gets the experiment's, a table's
    #: with a parameter ``published`` the published numbers too. Modules of
    #: ``workflow/special/`` go by their own name.
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
    #: A suite's sets join those of ``dataset``.
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
    #: Data set -> method -> fixed parameters, stronger than the method's own.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Method -> parameter -> values; each point becomes a method ``name@param=value``.
    #: What else an axis can be: ``sweeps.py``.
    sweep: dict[str, Any] = field(default_factory=dict)
    #: Table of ``data/published/`` shown beside the measured numbers.
    published: str | None = None
    figures: dict[str, View] = field(default_factory=dict)
    tables: dict[str, View] = field(default_factory=dict)
    #: Module of ``workflow/special/`` -> parameters of its ``compute``: what is no
    #: solve, but takes its rows from the same split. It gives a figure and a table.
    special: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: str = "results"

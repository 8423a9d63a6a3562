"""The comparison as a grid of cells, for the terminal and for the report."""

from typing import NamedTuple

import pandas as pd

from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC

__all__ = [
    "LABELS",
    "MARKS",
    "SCALES",
    "Cell",
    "Grid",
    "comparison_grids",
    "display",
    "read_tables",
]

#: Worse than the best of the row: by the paired t-test alone, or by the corrected too.
MARKS = {"paired": "○", "corrected": "●"}

LABELS = {
    "accuracy": "Accuracy (%)",
    "balanced_accuracy": "Balanced accuracy (%)",
    "f1": "F1 (%)",
    "relative_mse": "Relative mean squared error",
    "r2": "R²",
    "mae": "Mean absolute error",
    "rmse": "Root mean squared error",
    "log_loss": "Log loss",
    "auc": "Area under the ROC curve (%)",
    "brier": "Brier score",
    "calibration_error": "Calibration error (%)",
    "interval_coverage": "Coverage of 90 % intervals (%)",
    "interval_width": "Width of 90 % intervals",
    "fit_seconds": "Time to fit (s)",
    "search_seconds": "Time to search (s)",
    "predict_seconds": "Time to predict (s)",
    "predictions_per_second": "Predictions a second",
    "model_bytes": "Size of the model (MB)",
    "peak_memory_bytes": "Peak memory (MB)",
    "rank": "Rank",
    "n_support": "Support data",
    "n_iter": "Iterations",
}
#: Factors from the units of a record to those of ``LABELS``.
SCALES: dict[str, float] = {
    "accuracy": 100,
    "balanced_accuracy": 100,
    "f1": 100,
    "auc": 100,
}
SCALES |= {"calibration_error": 100, "interval_coverage": 100, "model_bytes": 1e-6}
SCALES["peak_memory_bytes"] = 1e-6
_DIGITS: dict[str, int | None] = {
    "accuracy": 2,
    "balanced_accuracy": 2,
    "f1": 2,
    "rank": 1,
    "n_support": 1,
}
_DIGITS |= {"peak_memory_bytes": 0, "n_iter": 1, "mae": None, "rmse": None}
_DIGITS |= {"predictions_per_second": 0, "interval_width": None}


class Cell(NamedTuple):
    """One method on one data set."""

    mean: float
    std: float
    n: int
    n_missing: int
    best: bool
    mark: str


class Grid(NamedTuple):
    """Data sets by methods for one task, metric and part; `cells` by (row, column)."""

    task: str
    metric: str
    split: str
    datasets: list
    methods: list
    cells: dict


def read_tables(out):
    """The CSV tables that `compare` wrote, by name; blank texts are "", not NaN.

    Parameters
    ----------
    out : Path
        Folder of the experiment's results, or of what was published of them, where a
        large table is compressed.
    """
    texts = ("split", "setting", "note", "winner")
    tables = {}
    for name in ("summary", "ttest", "ranks", "published"):
        path = out / f"{name}.csv"
        table = pd.read_csv(path if path.exists() else f"{path}.gz")
        blank = {c: table[c].astype(object).fillna("") for c in texts if c in table}
        tables[name] = table.assign(**blank)
    return tables


def display(metric, value):
    """A mean or standard deviation as people read it; "" where there is none.

    >>> from adakern_bench.report.tables import display
    >>> display("accuracy", 0.8765), display("relative_mse", 0.0123)
    ('87.65', '0.0123')
    >>> display("relative_mse", 2.1e-6)
    '2e-06'

    Parameters
    ----------
    metric : str
        Its name.
    value : object
        What is looked at.
    """
    if pd.isna(value):
        return ""
    digits = _DIGITS.get(metric, 4)
    if metric.endswith("_seconds") or digits is None:
        return f"{value:.3g}"
    if digits == 4 and 0 < abs(value) < 5e-4:  # else it would be a row of zeros
        return f"{value:.0e}"
    return f"{value * SCALES.get(metric, 1):.{digits}f}"


def comparison_grids(summary, ttest, metric_of=MAIN_METRIC.get, split="test"):
    """One grid per task for a metric, the best of each row found and the rest marked.

    The marks are of the main metric on the test part: what was tested.

    Parameters
    ----------
    summary, ttest : DataFrame
        As :func:`read_tables` gives them.
    metric_of : callable, default=the main metric of the task
        Task -> metric, or None for a task to be left out.
    split : {"test", "train", ""}, default="test"

    Returns
    -------
    list of Grid
    """
    grids = []
    for task in summary["task"].unique():
        metric = metric_of(task)
        rows = summary[
            (summary["task"] == task)
            & (summary["metric"] == metric)
            & (summary["split"] == split)
        ]
        if rows.empty:
            continue
        tested = split == "test" and metric == MAIN_METRIC[task]
        cells = {}
        for dataset, of_dataset in rows.groupby("dataset"):
            # A good fit of the training part is no merit, a lone method no winner.
            competes = split == "test" and (of_dataset["n"] > 0).sum() > 1
            best = _best(of_dataset, metric) if competes else []
            marks = _marks(ttest, dataset, best) if tested else {}
            for row in of_dataset.itertuples():
                cells[dataset, row.method] = Cell(
                    row.mean,
                    row.std,
                    row.n,
                    row.n_failed + row.n_timeout,
                    row.method in best,
                    "" if row.method in best else marks.get(row.method, ""),
                )
        grids.append(
            Grid(
                task,
                metric,
                split,
                sorted(rows["dataset"].unique()),
                sorted(rows["method"].unique()),
                cells,
            )
        )
    return grids


def _best(rows, metric):
    """Methods with the best mean (several if they tie); none without a direction."""
    means = rows.set_index("method")["mean"].dropna()
    if metric not in GREATER_IS_BETTER or means.empty:
        return []
    best = means.max() if GREATER_IS_BETTER[metric] else means.min()
    return sorted(means.index[means == best])


def _marks(ttest, dataset, best):
    """Method -> mark, for the methods that are significantly worse than the best."""
    marks = {}
    for pair in ttest[ttest["dataset"] == dataset].itertuples():
        if pair.winner in best:
            loser = pair.method_b if pair.winner == pair.method_a else pair.method_a
            mark = MARKS["corrected" if pair.corrected_significant else "paired"]
            if marks.get(loser) != MARKS["corrected"]:
                marks[loser] = mark
    return marks

"""The comparison as a grid of cells, for terminal, report and documentation."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC, QUANTITIES
from adakern.evaluation.quantities import Quantity
from adakern.evaluation.ranking import TIE
from adakern_bench.report.wording import natural

__all__ = [
    *("MARK", "RULE", "Cell", "Grid", "comparison_grids", "display", "display_table"),
    *("heading", "read_tables", "scaled"),
]

#: Of what is significantly worse than the best of its column, and what that means.
MARK = "●"
RULE = (
    "Nadeau and Bengio's corrected t-test at 5 %, after Holm's correction over all "
    "pairs of methods on the data set"
)


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

    In what was published of a run, a large table is compressed.
    """
    texts = ("split", "setting", "note", "winner")
    tables = {}
    for name in ("summary", "ttest", "ranks", "published"):
        path = out / f"{name}.csv"
        table = pd.read_csv(path if path.exists() else f"{path}.gz")
        blank = {c: table[c].astype(object).fillna("") for c in texts if c in table}
        tables[name] = table.assign(**blank)
    return tables


def _quantity(metric):
    return QUANTITIES.get(metric, Quantity(metric))


def heading(metric):
    """Label and unit of a metric."""
    return _quantity(metric).heading


def scaled(metric, values):
    """Values of a record in the unit that is shown."""
    return values * _quantity(metric).scale


def display(metric, value):
    """A mean or standard deviation as people read it; "" where there is none.

    >>> from adakern_bench.report.tables import display
    >>> display("accuracy", 0.8765), display("auc", 0.000269), display("rmse", 12.345)
    ('87.65', '0.03', '12.3')
    >>> display("relative_mse", 2.1e-6)
    '2e-06'
    """
    if pd.isna(value):
        return ""
    digits, value = _quantity(metric).digits, scaled(metric, value)
    if digits is None:
        return f"{value:.3g}"
    if 0 < abs(value) < 0.5 * 10.0**-digits:  # else it would be a row of zeros
        return f"{value:.0e}"
    return f"{value:.{digits}f}"


def display_table(frame):
    """Cells of any table as texts."""
    return [
        [f"{value:.4g}" if isinstance(value, float) else str(value) for value in row]
        for row in frame.itertuples(index=False)
    ]


def comparison_grids(summary, ttest, metric_of=MAIN_METRIC.get, split="test"):
    """One grid per task for a metric, with the best of each column and who is worse.

    `metric_of` maps a task to its metric, or to None for a task to be left out. The
    marks are of the metric that was tested, on the test part.
    """
    grids = []
    for task in summary["task"].unique():
        metric = metric_of(task)
        rows = summary[
            (summary["task"] == task) & (summary["metric"] == metric) & (summary["split"] == split)
        ]
        if rows.empty:
            continue
        tested = ttest[ttest["metric"] == metric] if split == "test" else ttest[:0]
        cells = {}
        for dataset, of_dataset in rows.groupby("dataset"):
            # A good fit of the training part is no merit, a lone method no winner.
            competes = split == "test" and (of_dataset["n"] > 0).sum() > 1
            best = _best(of_dataset, metric) if competes else []
            worse = _worse(tested[tested["dataset"] == dataset], best)
            for row in of_dataset.itertuples():
                cells[dataset, row.method] = Cell(
                    row.mean,
                    row.std,
                    row.n,
                    row.n_failed + row.n_timeout,
                    row.method in best,
                    MARK if row.method in worse else "",
                )
        datasets, methods = (
            sorted(rows[axis].unique(), key=natural) for axis in ("dataset", "method")
        )
        grids.append(Grid(task, metric, split, datasets, methods, cells))
    return grids


def _best(rows, metric):
    """Methods with the best mean (several if they tie); none without a direction.

    A method that failed on a repeat is not among them: its mean is over others.
    """
    whole = rows[rows["n_failed"] + rows["n_timeout"] == 0]
    means = whole.set_index("method")["mean"].dropna()
    if metric not in GREATER_IS_BETTER or means.empty:
        return []
    best = means.max() if GREATER_IS_BETTER[metric] else means.min()
    return list(means.index[np.isclose(means, best, rtol=TIE, atol=0)])


def _worse(pairs, best):
    """Methods that are significantly worse than one of the best."""
    pairs = pairs[pairs["winner"].isin(best)]
    losers = pairs["method_a"].where(pairs["winner"] == pairs["method_b"], pairs["method_b"])
    return set(losers) - set(best)

"""Tables of a comparison by data set and method, for terminal and report."""

from pathlib import Path

import pandas as pd

from adakern._utils.printable import as_written
from adakern.evaluation import GREATER_IS_BETTER, QUANTITIES
from adakern.evaluation.quantities import Quantity
from adakern.evaluation.ranking import are_tied
from adakern_bench.report.wording import in_natural_order

#: Mark of values that are significantly worse than the best, and the rule for it.
MARK = "●"
RULE = (
    "Nadeau and Bengio's corrected t-test at 5 %, after Holm's correction over all "
    "pairs of methods on the data set"
)


def read_tables(out):
    """Read the CSV tables written by `compare`, by name; missing texts are "", not NaN.

    Large tables of published runs may be compressed.
    """
    texts = ("split", "setting", "note", "winner")
    tables = {}
    for name in ("summary", "ttest", "ranks", "published"):
        path = out / f"{name}.csv"
        packed = Path(f"{path}.gz")
        if not (path.exists() or packed.exists()):
            raise FileNotFoundError(
                f"{path} is missing: run the experiment again, which makes it from the "
                "records without new fits"
            )
        table = read_csv(path if path.exists() else packed)
        blank = {c: table[c].astype(object).fillna("") for c in texts if c in table}
        tables[name] = table.assign(**blank)
    return tables


def ranked_by(tables, task):
    """Metric by which `compare` ranked the methods of a task."""
    ranks = tables["ranks"]
    return ranks.loc[ranks["task"] == task, "metric"].iloc[0]


def read_csv(path):
    """Read one of these tables; names are text, including "2048" and "NA"."""
    names = dict.fromkeys(("dataset", "method", "method_a", "method_b", "winner"), str)
    return pd.read_csv(path, dtype=names, keep_default_na=False, na_values=[""])


def read_runs(results):
    """Read the table of runs in a folder of results."""
    path = results / "records.parquet"
    try:
        return pd.read_parquet(path)
    except ValueError as error:
        raise OSError(
            f"{path} is damaged ({error}). Delete it and run the experiment again, "
            "which makes it from the records without new fits"
        ) from None


def _quantity(metric):
    return QUANTITIES.get(metric, Quantity(metric))


def heading(metric):
    """Label and unit of a metric."""
    return _quantity(metric).heading


def scaled(metric, values):
    """Convert values of a record to the displayed unit."""
    return values * _quantity(metric).scale


def display(metric, value):
    """Format a mean or standard deviation; "" if it is missing.

    >>> from adakern_bench.report.tables import display
    >>> display("accuracy", 0.8765), display("auc", 0.000269), display("rmse", 12.3)
    ('87.65', '0.03', '12.3')
    >>> display("relative_mse", 2.1e-6), display("rmse", 48_012.3), display("rmse", 0.5)
    ('2e-06', '48,000', '0.500')
    """
    if pd.isna(value):
        return ""
    digits, value = _quantity(metric).digits, scaled(metric, value)
    if digits is None:
        return as_written(value, 3, zeros=True)
    if 0 < abs(value) < 0.5 * 10.0**-digits:  # rounding would give zero
        return f"{value:.0e}"
    return f"{value:.{digits}f}"


def display_table(frame):
    """Format the cells of any table as text, with dashes for missing values."""
    shown = frame.map(lambda v: as_written(v, 4) if isinstance(v, float) else str(v))
    return shown.mask(frame.isna(), "\N{EN DASH}")


def comparison(tables, task, metric=None, split="test"):
    """Results of each data set and method, in natural order, with marks.

    The columns are `mean`, `std`, `n`, `missing` (runs without a result), the formatted
    texts `shown` (mean) and `spread` (standard deviation), and the marks `best` (on the
    data set; several if tied) and `worse` (significantly worse than a best one). Only
    metrics on test rows have marks, and only if there are several methods. A method
    with a failed repeat is never marked as best, since its mean is over fewer repeats.
    """
    metric = metric or ranked_by(tables, task)
    summary, tests = (
        table[(table["task"] == task) & (table["metric"] == metric)]
        for table in (tables["summary"], tables["ttest"])
    )
    rows = summary[summary["split"] == split]
    cells = rows.assign(missing=rows["n_failed"] + rows["n_timeout"])
    cells = cells.set_index(["dataset", "method"])[["mean", "std", "n", "missing"]]
    cells = cells.sort_index(key=in_natural_order)
    cells["shown"] = [display(metric, mean) or "failed" for mean in cells["mean"]]
    # The standard deviation of equal scores is only rounding error.
    spread = cells["std"].mask(
        are_tied(cells["mean"] + cells["std"], cells["mean"], cells["mean"].abs()), 0.0
    )
    cells["spread"] = [display(metric, std) for std in spread]
    cells = cells.assign(best=False, worse=False)
    if split == "test" and metric in GREATER_IS_BETTER:
        whole = cells["mean"].where(cells["missing"] == 0)
        best = whole.groupby("dataset").transform(
            "max" if GREATER_IS_BETTER[metric] else "min"
        )
        several = cells["mean"].groupby("dataset").transform("count") > 1
        unit = 1.0
        if not GREATER_IS_BETTER[metric]:
            unit = whole.abs().groupby("dataset").transform("max")
        cells["best"] = several & are_tied(whole, best, unit)
        best = set(cells.index[cells["best"]])
        worse = set()
        for test in tests.itertuples():
            if (test.dataset, test.winner) in best:
                worse |= {
                    (test.dataset, test.method_a),
                    (test.dataset, test.method_b),
                } - best
        cells["worse"] = [index in worse for index in cells.index]
    return cells

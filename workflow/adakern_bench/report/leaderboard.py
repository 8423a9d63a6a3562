"""Leaderboards made from the records of an experiment and from published results.

For a leaderboard over several experiments, see :func:`together`.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd

from adakern.evaluation import (
    GREATER_IS_BETTER,
    mean_ranks,
    pareto_front,
    wins,
)
from adakern.evaluation.quantities import main_metric
from adakern.evaluation.ranking import bootstrap_elo, normalised_errors

#: Suffix of the names of published methods.
PUBLISHED = " (published)"

#: Minimum fraction of the data sets that a published method must cover.
LEAST_COVER = 0.9


def per_task(records, function, *given):
    """Concatenate the tables that `function(task, records of the task)` returns."""
    parts = [function(task, runs, *given) for task, runs in records.groupby("task")]
    return pd.concat(parts, ignore_index=True)


def scores_of(records, metric):
    """Test scores of the runs; NaN if a run failed."""
    values = records.reindex(columns=[f"test_{metric}"]).iloc[:, 0].astype(float)
    return values.where(records["status"] == "ok")


def cell_means(records, keys, metric, statistic="mean"):
    """Means (or medians) of a metric over repeats, grouped by the columns `keys`.

    The value is NaN if a repeat failed, since the mean over the others would not be
    comparable.
    """
    cells = scores_of(records, metric).groupby(
        [records[key] for key in keys], dropna=False
    )
    return cells.agg(lambda repeats: getattr(repeats, statistic)(skipna=False))


def dependent(records):
    """Whether some data sets are splits of the same table.

    Tests over data sets assume that these are independent.
    """
    tables = records.get("base_dataset", records["dataset"])
    return tables.nunique() < records["dataset"].nunique()


def by_dataset(records, published=None, metric=None, statistic="mean"):
    """Scores of one task, with a row per data set and a column per method.

    Published methods (from ``load_published``) have the suffix " (published)". A score
    is NaN if a repeat failed or nothing is published.
    """
    (task,) = records["task"].unique()
    metric = main_metric(task, metric)
    table = cell_means(records, ["dataset", "method"], metric, statistic).unstack(
        "method"
    )
    if published is None:
        return table
    rows = published[(published["metric"] == metric) & (published["split"] == "test")]
    theirs = rows.pivot_table(index="dataset", columns="method", values="mean")
    theirs = theirs.reindex(table.index)
    covered = theirs.columns[theirs.notna().mean() >= LEAST_COVER]
    return table.join(theirs[covered].add_suffix(PUBLISHED))


def cost_seconds(records):
    """Seconds of search and fit of each run, or the total time of a failed run.

    The time of a search also counts for other methods that use its result.
    """
    columns = ["search_seconds", "fit_seconds", "run_seconds"]
    times = records.reindex(columns=columns).astype(float).fillna(0.0)
    whole = times[columns[1:]].max(axis=1)
    return times["search_seconds"] + times["fit_seconds"].where(
        records["status"] == "ok", whole
    )


def leaderboard(records, published=None, metric=None, statistic="mean", datasets=""):
    """Rank the methods over all data sets of an experiment, separately by task.

    One row per method, by mean rank: `mean_rank` (failed data sets have the worst
    rank), `elo` with a 95 % interval over data sets, `wins`, the mean of the metric,
    `normalised_error` (0 for the best method of a data set, 1 for the median or worse),
    `n_failed` data sets, `rank_measured` among the measured methods, `seconds` of
    search and fit over all data sets (means over repeats), `on_front` (no other method
    is better in both time and rank, and the method finished on some data set), and
    `source`: measured or published. `metric` and `statistic` must be those of the
    published numbers unless they are means of the main metric; `datasets` is a regular
    expression that selects data sets by name.
    """
    records = records[records["dataset"].map(re.compile(datasets).search).notna()]
    if records.empty:
        return pd.DataFrame(columns=["task", "method", "mean_rank"])
    return per_task(records, _leaderboard, published, metric, statistic)


def _leaderboard(task, records, published, metric, statistic):
    """Rows of `leaderboard` for one task."""
    metric = main_metric(task, metric)
    greater = {"greater_is_better": GREATER_IS_BETTER[metric]}
    table = by_dataset(records, published, metric, statistic)
    scores = table.to_numpy()
    ratings, low, high = bootstrap_elo(scores, **greater)
    errors = normalised_errors(1 - scores if GREATER_IS_BETTER[metric] else scores)
    board = pd.DataFrame(
        {
            "task": task,
            "method": table.columns,
            "mean_rank": mean_ranks(scores, **greater),
            "elo": ratings,
            "elo_low": low,
            "elo_high": high,
            "wins": wins(scores, **greater),
            f"mean_{metric}": table.mean().to_numpy(),
            "normalised_error": errors.mean(0),
            "n_datasets": len(table),
            "n_failed": table.isna().sum().to_numpy(),
        }
    )
    cost = cost_seconds(records).groupby([records["method"], records["dataset"]]).mean()
    board["seconds"] = board["method"].map(cost.groupby("method").sum())
    measured = ~table.columns.str.endswith(PUBLISHED)
    board.loc[measured, "rank_measured"] = mean_ranks(scores[:, measured], **greater)
    board["source"] = np.where(measured, "measured", "published")
    finished = board["seconds"].where(board["n_failed"] < len(table))
    board["on_front"] = pareto_front(finished, board["mean_rank"])
    return board.sort_values(["mean_rank", "method"], ignore_index=True)


def plot_time_against_rank(records, metric=None):
    """Plot mean rank against time of search and fit, with the Pareto front."""
    # Imported here, since Matplotlib takes two seconds and `adakern show` draws
    # nothing.
    from adakern_bench.report.figures import method_styles, plot_fronts

    board = leaderboard(records, metric=metric)
    methods = board.rename(columns={"mean_rank": "score"}).set_index(["task", "method"])
    styles = method_styles(board["method"])
    label = "Search and fit, total over the data sets (s)"
    points = methods[["seconds", "score"]].where(
        methods["n_failed"] < methods["n_datasets"]
    )
    return plot_fronts(
        points, label, "Mean rank (1: best)", styles, greater_is_better=False
    )


def together(folders, max_rows=np.inf, datasets=""):
    """Collect the records of methods that ran on all data sets of several folders.

    The methods may be in different folders; only repeats that all methods have are
    used. Raises a ValueError if the runs of a method come from several commits, or if
    runs are duplicated or use different splits. `datasets` is a regular expression, as
    in :func:`leaderboard`.
    """
    records = pd.concat(
        pd.read_parquet(Path(folder) / "records.parquet") for folder in folders
    )
    n = (
        (records["n_train"] + records["n_test"])
        .groupby(records["dataset"])
        .transform("max")
    )
    records = records[
        records["dataset"].map(re.compile(datasets).search).notna() & (n <= max_rows)
    ]
    covered = records.groupby("method")["dataset"].transform("nunique")
    records = records[covered == records["dataset"].nunique()]
    twice = records[records.duplicated(["dataset", "method", "repeat"])]
    if names := sorted(set(twice["method"])):
        raise ValueError(
            f"Several folders have runs of {', '.join(names)}; leave one of them out."
        )
    runs = records.groupby(["dataset", "repeat"])
    same = ["data_fingerprint", "protocol_seed", "n_train", "n_test"]
    differ = [name for name in same if (runs[name].nunique() > 1).any()]
    commits = records.groupby("method")["commit"].nunique(dropna=False)
    if differ := ["commit"] * bool((commits > 1).any()) + differ:
        raise ValueError(
            f"The runs differ in {', '.join(differ)} and cannot be compared: repeat "
            "them at one commit and with one protocol."
        )
    return records[runs["method"].transform("nunique") == records["method"].nunique()]

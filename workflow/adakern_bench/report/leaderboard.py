"""Leaderboards: the records of an experiment, and published results beside them.

One over several experiments is made of the records that :func:`together` returns.
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
from adakern_bench.report.figures import method_styles, plot_fronts

#: Behind the names of published methods.
PUBLISHED = " (published)"

#: A published method that covers fewer of the data sets is left out.
LEAST_COVER = 0.9


def cell_means(records, keys, metric, statistic="mean"):
    """Means (or medians) of a metric over the repeats, by the columns `keys`.

    One failed repeat fails the cell: a mean over the others is another number.
    """
    values = records.reindex(columns=[f"test_{metric}"]).iloc[:, 0].astype(float)
    values = values.where(records["status"] == "ok")
    cells = values.groupby([records[key] for key in keys], dropna=False)
    return cells.agg(lambda repeats: getattr(repeats, statistic)(skipna=False))


def by_dataset(records, published=None, metric=None, statistic="mean"):
    """Scores of one task, a row a data set and a column a method.

    Published methods (as from ``load_published``) get the suffix " (published)". NaN
    where a repeat failed, or nothing is published.
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
    """Search and fit of each run, or all that a failed one took.

    A method that takes over a search needs it too.
    """
    columns = ["search_seconds", "fit_seconds", "run_seconds"]
    times = records.reindex(columns=columns).astype(float).fillna(0.0)
    whole = times[columns[1:]].max(axis=1)
    return times["search_seconds"] + times["fit_seconds"].where(
        records["status"] == "ok", whole
    )


def leaderboard(records, published=None, metric=None, statistic="mean", datasets=""):
    """Who stands where, over all data sets of an experiment; one leaderboard a task.

    One row a method, by mean rank: `mean_rank` (failed cells have the worst), `elo`
    with its 95 % interval over data sets, `wins`, the mean of the metric,
    `normalised_error` (0 the best of a data set, 1 its median or worse), `n_failed`
    cells, `rank_measured` among the measured methods alone, `seconds` of search and fit
    over all data sets (means over the repeats), `on_front` where no other method is
    better in both time and rank and not all cells failed, and `source`: measured or
    published. `metric` and `statistic` are those of the published numbers where they
    are not the main metric's means; `datasets` is a regular expression that finds the
    names of those that count.
    """
    records = records[records["dataset"].map(re.compile(datasets).search).notna()]
    if records.empty:
        return pd.DataFrame(columns=["task", "method", "mean_rank"])
    if records["task"].nunique() > 1:
        tasks = records.groupby("task")
        parts = [leaderboard(part, published, metric, statistic) for _, part in tasks]
        return pd.concat(parts, ignore_index=True)
    task = records["task"].iloc[0]
    metric = main_metric(task, metric)
    greater = {"greater_is_better": GREATER_IS_BETTER[metric]}
    table = by_dataset(records, published, metric, statistic)
    scores = table.to_numpy()
    ratings, low, high = bootstrap_elo(scores, **greater)
    errors = normalised_errors(1 - scores if GREATER_IS_BETTER[metric] else scores)
    columns = {
        "task": task,
        "method": table.columns,
        "mean_rank": mean_ranks(scores, **greater),
    }
    columns |= {
        "elo": ratings,
        "elo_low": low,
        "elo_high": high,
        "wins": wins(scores, **greater),
    }
    columns |= {
        f"mean_{metric}": table.mean().to_numpy(),
        "normalised_error": errors.mean(0),
    }
    columns |= {"n_datasets": len(table), "n_failed": table.isna().sum().to_numpy()}
    board = pd.DataFrame(columns)
    cost = cost_seconds(records).groupby([records["method"], records["dataset"]]).mean()
    board["seconds"] = board["method"].map(cost.groupby("method").sum())
    measured = ~table.columns.str.endswith(PUBLISHED)
    board.loc[measured, "rank_measured"] = mean_ranks(scores[:, measured], **greater)
    board["source"] = np.where(measured, "measured", "published")
    finished = board["seconds"].where(board["n_failed"] < len(table))
    board["on_front"] = pareto_front(finished, board["mean_rank"])
    return board.sort_values(["mean_rank", "method"], ignore_index=True)


def plot_time_against_rank(records, metric=None):
    """Mean rank against the time of search and fit, and the Pareto front of both."""
    tasks = records.groupby("task")
    boards = pd.concat([leaderboard(part, metric=metric) for _, part in tasks])
    methods = boards.rename(columns={"mean_rank": "score"}).set_index(
        ["task", "method"]
    )
    styles = method_styles(boards["method"])
    label = "Search and fit, total over the data sets (s)"
    points = methods[["seconds", "score"]].where(
        methods["n_failed"] < methods["n_datasets"]
    )
    return plot_fronts(
        points, label, "Mean rank (1: best)", styles, greater_is_better=False
    )


def together(folders, max_rows=np.inf, datasets=""):
    """Records of the methods that ran on all data sets of all folders, up to a size.

    Methods of one suite may lie in several folders; the repeats that all ran count.
    ValueError where they are of several commits or splits, or hold a run twice.
    `datasets` is a regular expression, as in :func:`leaderboard`.
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
            f"Several folders hold runs of {', '.join(names)}; leave out one."
        )
    runs = records.groupby(["dataset", "repeat"])
    same = ["data_fingerprint", "protocol_seed", "n_train", "n_test"]
    differ = [name for name in same if (runs[name].nunique() > 1).any()]
    if differ := ["commit"] * (records["commit"].nunique(dropna=False) > 1) + differ:
        raise ValueError(
            f"Methods ran with several values of {', '.join(differ)} and cannot be "
            "compared: run them again at one commit and with one protocol."
        )
    return records[runs["method"].transform("nunique") == records["method"].nunique()]

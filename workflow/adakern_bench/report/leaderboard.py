"""Leaderboards of an experiment: its records, and published results beside them."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from adakern.evaluation import (
    GREATER_IS_BETTER,
    bootstrap_elo,
    mean_ranks,
    normalised_errors,
    pareto_front,
    wins,
)

__all__ = ["agreement", "by_dataset", "leaderboard", "plot_time_against_rank"]

#: What a leaderboard of a task goes by: what others publish.
LEADING_METRIC = {"classification": "accuracy", "regression": "rmse"}

#: Behind the names of published methods.
PUBLISHED = " (published)"

#: A published method that covers fewer of the data sets is left out.
LEAST_COVER = 0.9

#: Published results and the method here that follows their protocol.
SAME_METHOD = {"svm_C": "svm-2014", "rforest_R": "forest-2014"}


def by_dataset(records, published=None):
    """Means over the repeats, a row a data set and a column a method.

    Parameters
    ----------
    records : DataFrame
        As in ``records.parquet``, of one task.
    published : DataFrame, default=None
        As from ``load_published``; its methods get the suffix " (published)".

    Returns
    -------
    DataFrame
        NaN where a repeat failed, or nothing is published.
    """
    metric = _metric(records)
    finished = records["status"] == "ok"
    values = records[f"test_{metric}"].where(finished)
    # One failed repeat fails the cell: a mean over the others is another number.
    table = values.groupby([records["dataset"], records["method"]]).agg(
        lambda repeats: repeats.mean(skipna=False)
    )
    table = table.unstack("method").astype(float)
    if published is not None:
        table = table.join(_published(published, metric, table.index))
    return table


def _metric(records):
    (task,) = records["task"].unique()
    return LEADING_METRIC[task]


def _published(published, metric, datasets):
    rows = published[(published["metric"] == metric) & (published["split"] == "test")]
    rows = rows[rows["dataset"].isin(datasets)]
    table = rows.pivot_table(index="dataset", columns="method", values="mean")
    table = table.reindex(datasets)
    return table.loc[:, table.notna().mean() >= LEAST_COVER].add_suffix(PUBLISHED)


def leaderboard(records, published=None):
    """Who stands where, over all data sets of an experiment.

    Parameters
    ----------
    records : DataFrame
        As in ``records.parquet``; one leaderboard a task.
    published : DataFrame, default=None
        As from ``load_published``.

    Returns
    -------
    DataFrame
        One row a method, by mean rank: `mean_rank` (failed cells have the worst),
        `elo` with its 95 % interval over data sets, `wins`, the mean of the metric,
        `normalised_error` (0 the best of a data set, 1 its median or worse),
        `n_failed` cells, `rank_measured` among the measured methods alone, `seconds` of
        search and fit over all data sets, `on_front` where no other method is better
        in both time and rank, and `source`: measured or published.
    """
    if records["task"].nunique() > 1:
        parts = [leaderboard(part, published) for _, part in records.groupby("task")]
        return pd.concat(parts, ignore_index=True)
    metric = _metric(records)
    greater = {"greater_is_better": GREATER_IS_BETTER[metric]}
    table = by_dataset(records, published)
    scores = table.to_numpy()
    ratings, low, high = bootstrap_elo(scores, **greater)
    board = pd.DataFrame(
        {
            "task": records["task"].iloc[0],
            "method": table.columns,
            "mean_rank": mean_ranks(scores, **greater),
            "elo": ratings,
            "elo_low": low,
            "elo_high": high,
            "wins": wins(scores, **greater),
            f"mean_{metric}": np.nanmean(scores, axis=0),
            "normalised_error": normalised_errors(
                1 - scores if GREATER_IS_BETTER[metric] else scores
            ).mean(axis=0),
            "n_datasets": len(table),
            "n_failed": table.isna().sum().to_numpy(),
        }
    )
    seconds = _seconds(records)
    board["seconds"] = board["method"].map(seconds)
    measured = ~table.columns.str.endswith(PUBLISHED)
    board.loc[measured, "rank_measured"] = mean_ranks(scores[:, measured], **greater)
    board["source"] = np.where(measured, "measured", "published")
    board["on_front"] = pareto_front(board["seconds"], board["mean_rank"])
    return board.sort_values(["mean_rank", "method"], ignore_index=True)


def _seconds(records):
    """Search and fit of each method, summed over data sets of the mean of repeats."""
    cost = records["fit_seconds"].fillna(0) + records["search_seconds"].fillna(0)
    cost = cost.astype(float).groupby([records["method"], records["dataset"]]).mean()
    return cost.groupby("method").sum()


def agreement(records, published):
    """Published results beside those of the same method and protocol measured here.

    Parameters
    ----------
    records : DataFrame or list of dict
        Of the solves.
    published : DataFrame
        Numbers of a paper.

    Returns
    -------
    DataFrame
        One row a data set and pair of methods, in per cent, and one row of means over
        the data sets that both have.
    """
    table = 100 * by_dataset(records)
    theirs = 100 * _published(published, "accuracy", table.index)
    parts = []
    for name, ours in SAME_METHOD.items():
        if ours not in table or name + PUBLISHED not in theirs:
            continue
        part = pd.DataFrame(
            {
                "dataset": table.index,
                "published_method": name,
                "method": ours,
                "published": theirs[name + PUBLISHED].to_numpy(),
                "measured": table[ours].to_numpy(),
            }
        ).dropna()
        part["difference"] = part["measured"] - part["published"]
        numbers = part[["published", "measured", "difference"]].mean()
        mean = {"dataset": f"mean of {len(part)}", "published_method": name}
        parts.append(pd.DataFrame([mean | {"method": ours} | numbers.to_dict()]))
        parts.append(part)
    columns = ["dataset", "published_method", "method", "published", "measured"]
    if not parts:
        return pd.DataFrame(columns=[*columns, "difference"])
    return pd.concat(parts, ignore_index=True)


def plot_time_against_rank(records):
    """Mean rank against the time of search and fit, and the methods none beats in both.

    Parameters
    ----------
    records : DataFrame or list of dict
        Of the solves.

    Returns
    -------
    matplotlib.figure.Figure
    """
    boards = [leaderboard(part) for _, part in records.groupby("task")]
    figure = Figure(figsize=(7.5, 4.5 * len(boards)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(boards)))
    for axis, board in zip(axes, boards, strict=True):
        front = board[board["on_front"]].sort_values("seconds")
        axis.step(front["seconds"], front["mean_rank"], "--", color="0.6", where="post")
        axis.scatter(board["seconds"], board["mean_rank"], s=18, color="C0")
        for row in board.itertuples():
            axis.annotate(
                row.method,
                (row.seconds, row.mean_rank),
                xytext=(4, 3),
                textcoords="offset points",
                fontsize=7,
            )
        axis.set_xscale("log")
        axis.set_xlabel("Search and fit, all data sets (s)")
        axis.set_ylabel("Mean rank (1: best)")
        axis.set_title(str(board["task"].iloc[0]))
    return figure

"""Figures in pages, filled in from the published results when the pages are built.

``{FOLDER/METRIC FIGURE:.1f}`` is replaced by a figure of ``docs/results/FOLDER``, in
per cent if the metric is an accuracy. FIGURE is SET METHOD (the mean over the repeats),
published SET METHOD or, over all sets of the folder, mean METHOD, rank METHOD, among
METHOD (its rank including the published methods), wins A B (the number of sets on which
A is better than B) or friedman (the p-value). If the folder has a table with the name
of the metric, FIGURE consists of the text cells of a row and the name of a column.

A line ``{board FOLDERS ROWS PATTERN}`` is replaced by the leaderboard of these folders,
whose names may contain a ``*``, over their sets of at most ROWS rows with names that
match PATTERN. ``{rivals ...}`` is replaced by the comparison of the flagship with each
baseline, in the form of the confirmation: of the methods of one line in
``conf/experiment/confirmation.yaml``, with the better one.
"""

import re
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from adakern.evaluation import GREATER_IS_BETTER, mean_ranks
from adakern_bench.report.confirmation import registered
from adakern_bench.report.leaderboard import leaderboard, together
from adakern_bench.report.tables import read_tables

RESULTS = Path(__file__).parents[1] / "results"
#: A blank may be a line break.
FIGURE = re.compile(r"\{(\w+)/(\w+)\s([^{}:]+):(\.\df)\}")


BOARD = re.compile(r"^\{board (\S+) (\d+) ?(.*)\}$", re.MULTILINE)
RIVALS = re.compile(BOARD.pattern.replace("board", "rivals"), re.MULTILINE)
CONFIRMATION = Path(__file__).parents[2] / "conf/experiment/confirmation.yaml"


def filled_in(text):
    """Fill in the figures of a page; raise KeyError if the results lack one."""
    return RIVALS.sub(_rivals, BOARD.sub(_board, FIGURE.sub(_figure, text)))


def records_of(names, most, datasets=""):
    """Records of the methods of several folders, see :func:`together`."""
    folders = [path for name in names.split(",") for path in RESULTS.glob(name)]
    return together(folders, int(most), datasets)


def beside_rivals(names, most, datasets=""):
    """The table that a confirmation would publish, without methods that did not run."""
    params = yaml.safe_load(CONFIRMATION.read_text(encoding="utf-8"))
    params = params["tables"]["registered"]["params"]
    found = registered(records_of(names, most, datasets), **params)
    return found.dropna(subset="method")


def _rivals(found):
    """Lines of a table, one per baseline."""
    lines = [
        "| baseline | method | won and lost | tied | p | ratio of errors |",
        "|---|---|---|---|---|---|",
    ]
    for row in beside_rivals(*found.groups()).itertuples():
        counts = f"{row.better:.0f} to {row.worse:.0f} | {row.tied:.0f}"
        ratio = f"{row.ratio:.3f} ({row.low:.3f} to {row.high:.3f})"
        p = "not tested" if np.isnan(row.p) else f"{row.p:.2g}"
        told = f"{row.method} | {counts} | {p} | {ratio}"
        lines.append(f"| {row.rival} | {told} |")
    return "\n".join(lines)


def _board(found):
    """Lines of a table, one per method."""
    board = leaderboard(records_of(*found.groups()))
    lines = [
        "| method | mean rank | normalised error | best on | Elo | seconds per set |",
        "|---|---|---|---|---|---|",
    ]
    for row in board.itertuples():
        rank = f"{row.mean_rank:.2f} | {row.normalised_error:.2f} | {row.wins:.0f}"
        elo = f"{row.elo:.0f} ({row.elo_low:.0f} to {row.elo_high:.0f})"
        seconds = f"{row.seconds / row.n_datasets:.1f}"
        lines.append(f"| {row.method} | {rank} | {elo} | {seconds} |")
    return "\n".join(lines)


def _figure(found):
    folder, metric, name, form = found.groups()
    figures = figures_of(folder, metric)
    name = " ".join(name.split())
    if name not in figures:
        raise KeyError(f"{found[0]}: docs/results/{folder} has no such figure")
    return format(figures[name], form)


def scores(folder, metric):
    """Test means, a row per data set and a column per method; NaN if a run failed."""
    rows = read_tables(RESULTS / folder)["summary"].query(
        "metric == @metric and split == 'test'"
    )
    rows.loc[rows["n_failed"] + rows["n_timeout"] > 0, "mean"] = np.nan
    return rows.pivot(index="dataset", columns="method", values="mean")


@cache
def figures_of(folder, metric):
    """Name -> figure of a folder for a metric, or of one of its tables."""
    if (path := RESULTS / folder / "tables" / f"{metric}.csv").exists():
        return _of_table(pd.read_csv(path))
    greater, factor = GREATER_IS_BETTER[metric], 100 if metric == "accuracy" else 1
    table = factor * scores(folder, metric)
    table.index = table.index.str.replace("^uci(121|_regression)-", "", regex=True)
    ranks = pd.Series(mean_ranks(table, greater_is_better=greater), table.columns)
    rows = {"mean": table.mean(), "rank": ranks} | dict(table.iterrows())
    figures = {
        f"{name} {method}": value
        for name, row in rows.items()
        for method, value in row.items()
    }
    figures["friedman"] = read_tables(RESULTS / folder)["ranks"][
        "friedman_pvalue"
    ].max()
    ahead = table if greater else -table
    for a, b in permutations(table, 2):
        figures[f"wins {a} {b}"] = (ahead[a] - ahead[b] > 1e-9).sum()
    return figures | _published(RESULTS / folder, metric, factor)


def _of_table(table):
    """Text cells of a row and name of a column -> figure."""
    words = table.select_dtypes(exclude="number").agg(" ".join, axis=1)
    return {
        f"{name} {column}": value
        for column, values in table.select_dtypes("number").items()
        for name, value in zip(words, values, strict=True)
    }


def _published(folder, metric, factor):
    """Published figures, and ranks among the published methods."""
    figures = {}
    for path in folder.glob("published.csv*"):  # large ones are compressed
        theirs = pd.read_csv(path).query("metric == @metric")
        for row in theirs.query("split != 'train'").itertuples():
            name = f"published {row.dataset} {row.method}"
            figures[name] = factor * row.mean_published
    if (folder / "tables/leaderboard.csv").exists():
        board = pd.read_csv(folder / "tables/leaderboard.csv", index_col="method")
        among = board["mean_rank"].items()
        figures |= {f"among {method}": rank for method, rank in among}
    return figures

"""Figures of pages, filled in from what full runs measured, when the pages are built.

``{FOLDER/METRIC FIGURE:.1f}`` stands for a figure of ``docs/results/FOLDER``, in per
cent where the metric is an accuracy. FIGURE is SET METHOD (the mean over the repeats),
published SET METHOD, and over all sets of the folder mean METHOD, rank METHOD, among
METHOD (its rank among the published methods, too), wins A B (sets on which A is better
than B) or friedman (the p-value). Where the folder has a table of the metric's name,
FIGURE is the words of a row and the name of a column.

A line ``{board FOLDERS ROWS PATTERN}`` stands for the leaderboard of these folders,
whose names may hold a ``*``, over their sets of at most so many rows and names of a
pattern. ``{rivals ...}`` stands for what the flagship's error is beside that of each
rival there, as the page of the confirmation tells it: of the methods of one line in
``conf/experiment/confirmation.yaml`` the better.
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
#: A line break may be anywhere where a blank is.
FIGURE = re.compile(r"\{(\w+)/(\w+)\s([^{}:]+):(\.\df)\}")


BOARD = re.compile(r"^\{board (\S+) (\d+) ?(.*)\}$", re.MULTILINE)
RIVALS = re.compile(BOARD.pattern.replace("board", "rivals"), re.MULTILINE)
CONFIRMATION = Path(__file__).parents[2] / "conf/experiment/confirmation.yaml"


def filled_in(text):
    """A page with its figures; KeyError where one is not among the results."""
    return RIVALS.sub(_rivals, BOARD.sub(_board, FIGURE.sub(_figure, text)))


def records_of(names, most, datasets=""):
    """Records of the methods of several folders, as :func:`together` has them."""
    folders = [path for name in names.split(",") for path in RESULTS.glob(name)]
    return together(folders, int(most), datasets)


def beside_rivals(names, most, datasets=""):
    """The table that a confirmation would publish, without rivals that did not run."""
    params = yaml.safe_load(CONFIRMATION.read_text(encoding="utf-8"))
    params = params["tables"]["registered"]["params"]
    found = registered(records_of(names, most, datasets), **params)
    return found.dropna(subset="method")


def _rivals(found):
    """The lines of a table, one a rival."""
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
    """The lines of a table, one a method."""
    board = leaderboard(records_of(*found.groups()))
    lines = [
        "| method | mean rank | normalised error | best on | Elo | seconds a set |",
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
    """Test means, a row a data set and a column a method; NaN where a run failed."""
    rows = read_tables(RESULTS / folder)["summary"].query(
        "metric == @metric and split == 'test'"
    )
    rows.loc[rows["n_failed"] + rows["n_timeout"] > 0, "mean"] = np.nan
    return rows.pivot(index="dataset", columns="method", values="mean")


@cache
def figures_of(folder, metric):
    """Name -> figure of a folder by a metric, or of one of its own tables."""
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
    """The words of a row and the name of a column -> figure."""
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

"""The comparison in the terminal: one table a task, no wider than the screen."""

import os
import shutil
import sys
import textwrap
from pathlib import Path

import pandas as pd

from adakern_bench.report.headline import headline
from adakern_bench.report.leaderboard import cost_seconds
from adakern_bench.report.tables import MARK, comparison_grids, display, heading, read_tables
from adakern_bench.report.wording import count, duration, printable

__all__ = ["print_table"]

_MOST_ROWS = 15


def print_table(out, stream=None, width=None):
    """Print the main comparison of an experiment, what it shows and what failed.

    Bold is used where the stream is a terminal and NO_COLOR is not set; elsewhere the
    best carries a ``*``. The width is that of the terminal, or 80.
    """
    stream = stream or sys.stdout
    if hasattr(stream, "reconfigure"):  # "?" for what a terminal cannot show
        stream.reconfigure(errors="replace")
    bold = stream.isatty() and "NO_COLOR" not in os.environ
    width = width or shutil.get_terminal_size((80, 24)).columns
    out = Path(out)
    tables = read_tables(out)
    records = pd.read_parquet(out / "records.parquet")
    ranks, ttest = tables["ranks"], tables["ttest"]
    seconds = cost_seconds(records).groupby([records["task"], records["method"]]).sum()
    comparisons = []
    for grid in comparison_grids(tables["summary"], ttest):
        ranked, tests = (t[t["task"] == grid.task] for t in (ranks, ttest))
        repeats = max(cell.n + cell.n_missing for cell in grid.cells.values())
        over = f", mean over {repeats} repeats" if repeats > 1 else ""
        print(f"\n{grid.task.capitalize()}: {heading(grid.metric)}{over}", file=stream)
        for line in _lines(grid, ranked, seconds[grid.task], width, bold):
            print(line, file=stream)
        comparisons.append((grid, ranked, tests))
    best = "bold" if bold else "*"
    print(
        f"\n{best} best of the column; {MARK} significantly worse. Time: search and fit, total.\n",
        file=stream,
    )
    for sentence in headline(comparisons, records):
        print(textwrap.fill(sentence, width, subsequent_indent="  "), file=stream)
    for line in _failed_cells(records):
        print(line, file=stream)


def _lines(grid, ranks, seconds, width, bold):
    """Methods as rows; the columns of data sets that do not fit are counted."""
    shown = list(ranks.head(_MOST_ROWS).itertuples())
    columns = [["", *(row.method for row in shown)]]
    if len(grid.datasets) > 1:
        means = (row.average_rank for row in shown)
        columns += [
            ["rank", *(f"{mean:.2f}" if mean == mean else "-" for mean in means)],
            ["best", *(f"{row.wins:.3g}" for row in shown)],
        ]
    columns.append(["time", *(duration(seconds[row.method]) for row in shown)])
    left_out = 0
    for dataset in grid.datasets:
        column = [dataset, *(_cell(grid, dataset, row.method) for row in shown)]
        if _width([*columns, column]) > width:
            left_out += 1
        else:
            columns.append(column)
    for i in range(len(shown) + 1):
        texts = [_aligned(column, i, bold) for column in columns]
        yield "  ".join(texts).rstrip()
    more = [
        count(n, f"more {what}")
        for n, what in ((len(ranks) - len(shown), "method"), (left_out, "data set"))
        if n
    ]
    if more:
        yield f"({' and '.join(more)} in the report)"


def _width(columns):
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def _aligned(column, i, bold):
    widest = max(map(len, column))
    if column[0] == "":
        return column[i].ljust(widest)
    text = column[i].rjust(widest)
    if bold and text.endswith("*"):
        return f"\033[1m{text[:-1]} \033[0m"
    return text


def _cell(grid, dataset, method):
    cell = grid.cells.get((dataset, method))
    if cell is None:
        return "- "
    if not cell.n:
        return "failed "
    return display(grid.metric, cell.mean) + ("*" if cell.best else cell.mark or " ")


def _failed_cells(records):
    missing = records[records["status"] != "ok"]
    for keys, rows in missing.groupby(["dataset", "method", "status", "reason"]):
        dataset, method, status, reason = keys
        yield printable(f"  {dataset} / {method}: {len(rows)} x {status}: {reason}")

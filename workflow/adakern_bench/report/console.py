"""The comparison in the terminal: one table a task, no wider than the screen."""

import os
import shutil
import sys
from pathlib import Path

import pandas as pd

from adakern_bench.report.headline import conclusion, cost_sentence, failure_sentence
from adakern_bench.report.standings import standings
from adakern_bench.report.tables import (
    LABELS,
    MARKS,
    comparison_grids,
    display,
    read_tables,
)
from adakern_bench.report.wording import duration, printable

__all__ = ["print_table"]

_MOST_ROWS = 15


def print_table(out, stream=None, width=None):
    """Print the main comparison of an experiment, what it shows and what failed.

    Parameters
    ----------
    out : Path
        Folder that `compare` wrote.
    stream : text file, default=sys.stdout
        Bold is used where it is a terminal and NO_COLOR is not set; elsewhere the best
        carries a ``*``.
    width : int, default=None
        Columns to fill at most; those of the terminal, or 80.
    """
    stream = stream or sys.stdout
    if hasattr(stream, "reconfigure"):  # "?" for what a terminal cannot show
        stream.reconfigure(errors="replace")
    bold = stream.isatty() and "NO_COLOR" not in os.environ
    width = width or shutil.get_terminal_size((80, 24)).columns
    out = Path(out)
    tables = read_tables(out)
    solves = pd.read_parquet(out / "records.parquet")
    conclusions = []
    for grid in comparison_grids(tables["summary"], tables["ttest"]):
        table = standings(grid, tables["ranks"], solves)
        repeats = max(cell.n + cell.n_missing for cell in grid.cells.values())
        title = f"{grid.task.capitalize()}: {LABELS[grid.metric]}"
        print(f"\n{title}, mean over {repeats} repeats", file=stream)
        for line in _lines(grid, table, width, bold):
            print(line, file=stream)
        conclusions.append(conclusion(grid, table))
    best = "bold" if bold else "*"
    print(
        f"\n{best} best of the column; significantly worse than it: {MARKS['paired']} "
        f"paired t-test,\n{MARKS['corrected']} Nadeau and Bengio's corrected test too "
        "(5 %). Time: search and fit.\n",
        file=stream,
    )
    for sentence in [*conclusions, cost_sentence(solves), failure_sentence(solves)]:
        print(_wrapped(sentence, width), file=stream)
    for line in _failures(solves):
        print(line, file=stream)


def _wrapped(text, width):
    import textwrap

    return "\n".join(textwrap.wrap(text, width, subsequent_indent="  "))


def _lines(grid, table, width, bold):
    """Methods as rows; the columns of data sets that do not fit are counted."""
    shown = table[:_MOST_ROWS]
    columns = [
        ["", *(row.method for row in shown)],
        [
            "rank",
            *(f"{row.rank:.2f}" if row.rank == row.rank else "-" for row in shown),
        ],
        ["best", *(str(row.wins) for row in shown)],
        ["time", *(duration(row.seconds) for row in shown)],
    ]
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
        f"{n} more {what}{'s' if n > 1 else ''}"
        for n, what in ((len(table) - len(shown), "method"), (left_out, "data set"))
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


def _failures(solves):
    missing = solves[solves["status"] != "ok"]
    for keys, rows in missing.groupby(["dataset", "method", "status", "reason"]):
        dataset, method, status, reason = keys
        yield printable(f"  {dataset} / {method}: {len(rows)} x {status}: {reason}")

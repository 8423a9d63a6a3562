"""The comparison table in the terminal."""

import os
import sys
from pathlib import Path

import pandas as pd

from adakern.bench.report.tables import (
    LABELS,
    MARKS,
    comparison_grids,
    display,
    read_tables,
)
from adakern.bench.report.wording import printable

__all__ = ["print_table"]


def print_table(out, stream=None):
    """Print the main comparison of an experiment and what failed.

    Parameters
    ----------
    out : Path
        Folder that `compare` wrote.
    stream : text file, default=sys.stdout
        Bold is used where it is a terminal and NO_COLOR is not set; elsewhere the best
        carries a ``*``.
    """
    stream = stream or sys.stdout
    bold = stream.isatty() and "NO_COLOR" not in os.environ
    out = Path(out)
    tables = read_tables(out)
    solves = pd.read_parquet(
        out / "records.parquet",
        columns=["dataset", "method", "repeat", "status", "reason"],
    )
    for grid in comparison_grids(tables["summary"], tables["ttest"]):
        repeats = max(cell.n + cell.n_missing for cell in grid.cells.values())
        print(
            f"\n{LABELS[grid.metric]} on the test part, mean ± standard deviation over "
            f"up to {repeats} repeats",
            file=stream,
        )
        for line in _lines(grid, bold):
            print(line, file=stream)
    best = "bold" if bold else "*"
    print(
        f"\n{best}: best of the row. {MARKS['paired']}: significantly worse than the "
        f"best (paired t-test, 5 %); {MARKS['corrected']}: also by Nadeau and Bengio's "
        "corrected test.",
        file=stream,
    )
    for line in _failures(solves):
        print(line, file=stream)


def _lines(grid, bold):
    """Rows of the table: the longer of data sets and methods goes down."""
    head = ["", *grid.methods]
    rows = [
        [dataset, *(_cell(grid, dataset, method) for method in grid.methods)]
        for dataset in grid.datasets
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    yield "  ".join(text.rjust(w) for text, w in zip(head, widths, strict=True))
    for row in rows:
        texts = [text.rjust(w) for text, w in zip(row, widths, strict=True)]
        if bold:
            texts = [
                f"\033[1m{text[:-1]} \033[0m" if text.endswith("*") else text
                for text in texts
            ]
        yield "  ".join(texts)


def _cell(grid, dataset, method):
    cell = grid.cells.get((dataset, method))
    if cell is None:
        return "- "
    if not cell.n:
        return "failed "
    text = display(grid.metric, cell.mean)
    if not pd.isna(cell.std):
        text += f" ± {display(grid.metric, cell.std)}"
    if cell.n_missing:
        text += f" ({cell.n_missing} failed)"
    return text + ("*" if cell.best else cell.mark or " ")


def _failures(solves):
    missing = solves[solves["status"] != "ok"]
    if missing.empty:
        return
    yield f"\n{len(missing)} of {len(solves)} solves gave no result:"
    for keys, rows in missing.groupby(["dataset", "method", "status", "reason"]):
        dataset, method, status, reason = keys
        yield printable(f"  {dataset} / {method}: {len(rows)} x {status}: {reason}")

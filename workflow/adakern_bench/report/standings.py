"""Who stands where: methods by mean rank, with what they won and what they cost."""

from typing import NamedTuple

import numpy as np

__all__ = ["Standing", "standings"]


class Standing(NamedTuple):
    """One method over all data sets of a task."""

    method: str
    rank: float
    wins: int
    n_ranked: int
    seconds: float
    n_missing: int


def standings(grid, ranks, solves):
    """Methods in the order of their mean rank; those without one behind, by name.

    Parameters
    ----------
    grid : adakern_bench.report.tables.Grid
        Of the main metric on the test part.
    ranks : DataFrame
        As `compare` wrote it.
    solves : DataFrame
        One row a solve; `search_seconds`, where there is one, is added to the time of
        the fit, since a method that takes over another's parameters needs them too.

    Returns
    -------
    list of Standing
        `seconds` is the time of search and fit over all solves, `n_ranked` the number
        of data sets that the ranks are over (those on which every method has results).
    """
    ranks = ranks[ranks["task"] == grid.task].set_index("method")
    solves = solves[solves["task"] == grid.task]
    found = []
    for method in grid.methods:
        cells = [cell for (_, name), cell in grid.cells.items() if name == method]
        found.append(
            Standing(
                method,
                float(ranks["average_rank"].get(method, np.nan)),
                sum(cell.best for cell in cells),
                int(ranks["n_datasets"].max()),
                float(cost_seconds(solves[solves["method"] == method]).sum()),
                sum(cell.n_missing for cell in cells),
            )
        )
    return sorted(found, key=lambda s: (np.isnan(s.rank), s.rank, s.method))


def cost_seconds(solves):
    """Search and fit of each solve, in seconds.

    Parameters
    ----------
    solves : DataFrame
        One row for each solve.
    """
    parts = [name for name in ("search_seconds", "fit_seconds") if name in solves]
    return solves[parts].astype(float).sum(axis=1)

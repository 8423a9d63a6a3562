"""What an experiment found, in a few generated sentences."""

import numpy as np

from adakern.evaluation import GREATER_IS_BETTER
from adakern_bench.report.wording import duration

__all__ = ["conclusion", "cost_sentence", "failure_sentence", "headline"]

_PERCENT = ("accuracy", "balanced_accuracy", "f1")


def headline(tasks, solves):
    """Sentences: who wins, by how much, what is significant, what failed, the cost.

    Parameters
    ----------
    tasks : iterable of (Grid, list of Standing, DataFrame)
        The main grid of each task, its standings, and its paired tests.
    solves : DataFrame

    Returns
    -------
    list of str
    """
    sentences = []
    for grid, table, tests in tasks:
        sentences += [conclusion(grid, table), _significance(grid, table, tests)]
    sentences += [failure_sentence(solves), cost_sentence(solves)]
    return [sentence for sentence in sentences if sentence]


def conclusion(grid, table):
    """Who has the best mean rank, and by how much it leads.

    Parameters
    ----------
    grid : Grid
        Table of one metric.
    table : list
        Standings, best first.
    """
    task = grid.task.capitalize()
    if len(table) < 2:
        return f"{task}: {table[0].method} ran alone, so there is nothing to compare."
    ranked = [row for row in table if not np.isnan(row.rank)]
    if len(ranked) < 2:
        return f"{task}: no two methods have results on the same data sets to rank."
    first, second = ranked[:2]
    n = first.n_ranked
    if len(grid.datasets) == 1:
        return (
            f"{task}: on {grid.datasets[0]} {first.method} comes first"
            f"{_lead(grid, first.method, second.method)}."
        )
    if first.rank == second.rank:
        tied = [row.method for row in ranked if row.rank == first.rank]
        return (
            f"{task}: {', '.join(tied[:-1])} and {tied[-1]} share the best mean rank, "
            f"{first.rank:.2f} over {_sets(n)}."
        )
    return (
        f"{task}: {first.method} has the best mean rank, {first.rank:.2f} over "
        f"{_sets(n)} (best on {first.wins}), before {second.method} with "
        f"{second.rank:.2f}{_lead(grid, first.method, second.method)}."
    )


def _sets(n):
    return "one data set" if n == 1 else f"{n} data sets"


def _lead(grid, first, second):
    """How far the first is ahead of the second, over their common data sets."""
    pairs = [
        (grid.cells[d, first].mean, grid.cells[d, second].mean)
        for d in grid.datasets
        if (d, first) in grid.cells and (d, second) in grid.cells
    ]
    a, b = np.array([p for p in pairs if np.isfinite(p).all()]).reshape(-1, 2).T
    if not len(a):
        return ""
    if grid.metric in _PERCENT:
        points = 100 * (a - b).mean()
        side = "above" if points >= 0 else "below"
        return f"; its mean accuracy lies {abs(points):.1f} points {side} that"
    if GREATER_IS_BETTER[grid.metric] or (a <= 0).any() or (b <= 0).any():
        return ""
    ratio = np.exp(np.log(a / b).mean())
    side = "below" if ratio <= 1 else "above"
    return (
        f"; its error lies {abs(1 - ratio) * 100:.0f} % {side} that "
        "(geometric mean of the ratios)"
    )


def _significance(grid, table, tests):
    """How many of the winner's comparisons are significant, in both directions."""
    if len(table) < 2 or not len(tests) or "corrected_holm_pvalue" not in tests:
        return ""
    name = table[0].method
    mine = tests[(tests["method_a"] == name) | (tests["method_b"] == name)]
    mine = mine.dropna(subset=["corrected_holm_pvalue"])
    if mine.empty:
        return "With one repeat there is no test, and no difference is significant."
    sure = mine[mine["corrected_holm_pvalue"] <= 0.05]
    higher = np.where(sure["method_a"] == name, 1, -1) * sure["difference"]
    good = int(((higher > 0) == GREATER_IS_BETTER[grid.metric]).sum())
    return (
        f"Of its {len(mine)} comparisons with another method on one data set, {good} "
        f"are significant in its favour and {len(sure) - good} against it (Nadeau and "
        "Bengio's corrected test with Holm's correction, 5 %)."
    )


def failure_sentence(solves):
    """How many solves gave no result, and of which methods.

    Parameters
    ----------
    solves : DataFrame
        One row for each solve.
    """
    missing = solves[solves["status"] != "ok"]
    if missing.empty:
        return f"All {len(solves):,} solves gave a result."
    counts = missing["method"].value_counts()
    named = ", ".join(f"{name} ({n})" for name, n in counts.head(3).items())
    more = f" and {len(counts) - 3} more methods" if len(counts) > 3 else ""
    return f"{len(missing):,} of {len(solves):,} solves gave no result: {named}{more}."


def cost_sentence(solves):
    """The time of searches and fits, and who took most of it.

    Parameters
    ----------
    solves : DataFrame
        One row for each solve.
    """
    fits = float(solves["fit_seconds"].sum())
    parts = [f"{duration(fits)} in fits"]
    total = solves.assign(own=solves["fit_seconds"].astype(float).fillna(0.0))
    if "search_seconds" in solves and solves["search_seconds"].notna().any():
        keys = ["dataset", "repeat", "search_seconds"]
        # A search whose result is handed on to another method was done once.
        once = ~total.duplicated(keys) & total["search_seconds"].notna()
        parts.insert(
            0, f"{duration(total.loc[once, 'search_seconds'].sum())} in searches"
        )
        total["own"] += total["search_seconds"].astype(float).where(once, 0.0)
    by_method = total.groupby("method")["own"].sum().sort_values()
    sentence = "It took " + " and ".join(parts)
    share = by_method.iloc[-1] / max(by_method.sum(), 1e-9)
    if len(by_method) > 1 and share >= 0.25:
        sentence += f"; {by_method.index[-1]} alone took {100 * share:.0f} % of that"
    return sentence + "."

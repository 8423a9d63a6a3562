"""What an experiment found, in a few generated sentences."""

import numpy as np

from adakern.evaluation import GREATER_IS_BETTER, QUANTITIES
from adakern.evaluation.ranking import TIE
from adakern_bench.report.tables import RULE, display
from adakern_bench.report.wording import count, duration

__all__ = ["headline"]


def headline(comparisons, records):
    """Sentences: who leads, by how much, what is significant, what failed, the cost.

    `comparisons` holds, for each task, its main grid, its ranks and its paired tests.
    """
    sentences = []
    for grid, ranks, tests in comparisons:
        sentences += [_conclusion(grid, ranks), _significance(grid, ranks, tests)]
    sentences += [_failures(records), _cost(records)]
    return [sentence for sentence in sentences if sentence]


def _conclusion(grid, ranks):
    """Who leads, and by how much."""
    task, n = grid.task.capitalize(), len(grid.datasets)
    if len(ranks) < 2:
        return f"{task}: {ranks['method'].iloc[0]} ran alone; nothing is compared."
    ranked = ranks.dropna(subset="average_rank")
    if len(ranked) < 2:
        return f"{task}: no two methods have results on the same data sets to rank."
    tied = list(ranked["method"][_same(ranked["average_rank"])])
    first, second = list(ranked.itertuples())[:2]
    lead = _lead(grid, first.method, second.method)
    if n == 1:
        (dataset,) = grid.datasets
        if len(tied) > 1:
            value = _value(grid, dataset, tied[0])
            return f"{task}: on {dataset} {_and(tied)} are tied at {value}."
        return (
            f"{task}: on {dataset} {first.method} is first with "
            f"{_value(grid, dataset, first.method)}{lead}."
        )
    over = f"{first.average_rank:.2f} over {count(n, 'data set')}"
    if len(tied) > 1:
        return f"{task}: {_and(tied)} are tied for the best mean rank, {over}."
    return (
        f"{task}: {first.method} has the best mean rank, {over} (best on "
        f"{first.wins:g}), ahead of {second.method} with "
        f"{second.average_rank:.2f}{lead}."
    )


def _same(values):
    return np.isclose(values, values.iloc[0], rtol=TIE, atol=0)


def _and(names):
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _value(grid, dataset, method):
    quantity = QUANTITIES[grid.metric]
    label = quantity.label[0].lower() + quantity.label[1:]
    unit = f" {quantity.unit}" if quantity.unit else ""
    cell = grid.cells[dataset, method]
    mean = "mean " if cell.n > 1 else ""
    return f"{mean}{label} {display(grid.metric, cell.mean)}{unit}"


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
    several = len(grid.datasets) > 1
    if GREATER_IS_BETTER[grid.metric]:
        points = 100 * (a - b).mean()
        label = "its mean accuracy over the sets" if several else "which"
        size = f"{abs(points):.1f} points {'higher' if points >= 0 else 'lower'}"
        size = "equal" if f"{abs(points):.1f}" == "0.0" else size
        than = "to" if size == "equal" else "than"
        return f"{';' if several else ','} {label} is {size} {than} {second}'s"
    if (a <= 0).any() or (b <= 0).any():
        return ""
    ratio = np.exp(np.log(a / b).mean())
    share = max(abs(1 - ratio) * 100, 0.1)
    size = f"{share:.2g} % {'lower' if ratio <= 1 else 'higher'}"
    if several:
        return f"; its error is {size} than {second}'s (geometric mean of the ratios)"
    return f", which is {size} than {second}'s"


def _significance(grid, ranks, tests):
    """How many comparisons of the leader are significant, in both directions."""
    if len(ranks) < 2 or not len(tests):
        return ""
    name = ranks["method"].iloc[0]
    mine = tests[(tests["method_a"] == name) | (tests["method_b"] == name)]
    tested = int(mine["pvalue"].notna().sum())
    if not tested:
        why = mine["note"].str.contains("equal").all()
        reason = "all differences are equal" if why else "fewer than five repeats"
        return f"No difference was tested for significance: {reason}."
    favour = int((mine["winner"] == name).sum())
    against = int((mine["winner"] != "").sum()) - favour
    left_out = len(mine) - tested
    also = f", and {left_out} could not be tested" if left_out else ""
    return (
        f"Of the {count(tested, 'tested comparison')} of {name} with another method on "
        f"one data set, {favour} {_is(favour)} significant in its favour and {against} "
        f"against it{also} ({RULE})."
    )


def _is(n):
    return "is" if n == 1 else "are"


def _failures(records):
    """How many runs failed, and of which methods."""
    missing = records[records["status"] != "ok"]
    if missing.empty:
        return f"No failed runs ({count(len(records), 'run')})."
    counts = missing["method"].value_counts()
    named = ", ".join(f"{name} ({n})" for name, n in counts.head(3).items())
    more = f" and {count(len(counts) - 3, 'more method')}" if len(counts) > 3 else ""
    return f"{len(missing):,} of {count(len(records), 'run')} failed: {named}{more}."


def _cost(records):
    """Time of searches, fits and all the rest, in total, and who took most of it."""
    number = records.reindex(columns=["fit_seconds", "search_seconds", "run_seconds"])
    number = number.astype(float).fillna(0.0)
    searches = _searches(records.assign(**number))
    fits = number["fit_seconds"].groupby(records["method"]).sum()
    runs = number[["run_seconds", "fit_seconds"]].max(axis=1)
    rest = runs.sum() - fits.sum()
    parts = [f"{duration(fits.sum())} in fits"]
    if len(searches):
        parts.insert(0, f"{duration(searches.sum())} in searches")
    if rest >= 0.1:
        parts.append(f"{duration(rest)} in start-up, predictions and runs cut short")
    by_method = searches.add(runs.groupby(records["method"]).sum(), fill_value=0.0)
    total, most = by_method.sum(), by_method.idxmax()
    sentence = f"It took {duration(total)} of job time: {', '.join(parts)}"
    share = by_method[most] / max(total, 1e-9)
    if len(by_method) > 1 and share >= 0.25:
        sentence += f"; {most} alone took {100 * share:.0f} % of that"
    return sentence + "."


def _searches(records):
    """Seconds of search by the method that searched.

    A search whose result other methods take over was done once, and is charged to the
    method that it is of.
    """
    owner = records["method"]
    if "search_method" in records:
        owner = records["search_method"].where(records["search_method"].notna(), owner)
    keys = ["dataset", "repeat", "search_seconds"]
    done = records.assign(owner=owner)[records["search_seconds"] > 0]
    once = done.drop_duplicates([*keys, "owner"])
    return once.groupby("owner")["search_seconds"].sum().astype(float)

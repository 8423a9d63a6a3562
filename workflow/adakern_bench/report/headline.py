"""The findings of an experiment in a few generated sentences."""

import numpy as np

from adakern._utils.wording import count
from adakern.evaluation import GREATER_IS_BETTER, QUANTITIES
from adakern.evaluation.ranking import ALPHA, are_tied
from adakern_bench.report.compare import shared
from adakern_bench.report.findings import by_task
from adakern_bench.report.leaderboard import dependent
from adakern_bench.report.tables import RULE
from adakern_bench.report.wording import duration

#: The method that predicts a constant.
CONSTANT = "dummy"


def headline(tables, records):
    """Sentences on the best method, its lead and significance, failures and cost."""
    conclusions = map(_conclusion, by_task(tables, records))
    return [*conclusions, *evidence(tables, records), _cost(records)]


def verdict(tables, records):
    """Sentences on the best method, the certainty of its lead, the gain over a constant
    prediction, and the cost.
    """
    sentences = [
        say(task)
        for task in by_task(tables, records)
        for say in (_conclusion, _certainty, _gain_over_constant)
    ]
    return [sentence for sentence in [*sentences, _cost(records)] if sentence]


def evidence(tables, records):
    """Sentences on the tests, on each data set and over all, and on failures."""
    sentences = [
        say(task)
        for task in by_task(tables, records)
        for say in (_significance, _over_sets)
    ]
    # A sentence that holds for both tasks appears once.
    return list(filter(None, dict.fromkeys([*sentences, _failures(records)])))


def _certainty(task):
    """Sentence on the methods that the leader is not significantly better than."""
    leader = task.leader
    if task.ranks["average_rank"].count() < 2:
        return ""
    if task.runs["dataset"].nunique() > 1:
        tests = task.over_sets
        names = tests["method"]
        is_tested = tests["holm"].notna()
        is_better = (tests["holm"] <= ALPHA) & (tests["better"] > tests["worse"])
        how = "Over these data sets"
    else:
        tests = task.tests_of_leader
        names = tests["method_a"].where(tests["method_a"] != leader, tests["method_b"])
        is_tested = tests["pvalue"].notna()
        is_better = tests["winner"] == leader
        how = "Over these repeats"
    if not is_tested.any():
        return ""
    untested = list(names[~is_tested])
    alike = list(names[is_tested & ~is_better])
    more = f"; {_listed(untested)} could not be tested" if untested else ""
    if len(alike) == is_tested.sum():
        return f"{how}, it is not significantly better than any other{more}."
    but = f" except {_listed(alike)}" if alike else ""
    return f"{how}, it is significantly better than all others{but}{more}."


def _listed(names, most=4):
    """Join names for a sentence, at most the first `most` of them."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _gain_over_constant(task):
    """Sentence that compares the leader with a constant prediction."""
    leader = task.leader
    cells = task.cells
    datasets = cells.index.unique("dataset")
    if leader == CONSTANT and len(datasets) == 1:
        return "No method is better than this constant prediction."
    if leader == CONSTANT or CONSTANT not in set(task.ranks["method"]):
        return ""
    metric = task.metric
    if len(datasets) == 1:
        cell = cells.loc[datasets[0], CONSTANT]
        if np.isnan(cell["mean"]):
            return ""
        value = f"{cell['shown']} {QUANTITIES[metric].unit}".rstrip()
        return f"A constant prediction reaches {value}."
    means = _whole_means(cells)[[leader, CONSTANT]].dropna()
    gain = means[leader] - means[CONSTANT]
    won = int((gain > 0).sum() if GREATER_IS_BETTER[metric] else (gain < 0).sum())
    return (
        f"It is better than a constant prediction on {won} of "
        f"{count(len(means), 'data set')}."
    )


def _conclusion(task):
    """Sentence on the best method and its lead."""
    name = task.name.capitalize()
    cells = task.cells
    datasets = cells.index.unique("dataset")
    metric = task.metric
    if len(task.ranks) < 2:
        return f"{name}: only {task.leader} was run; there is no comparison."
    ranked = task.ranks.dropna(subset="average_rank")
    if len(ranked) < 2:
        return (
            f"{name}: no two methods have results on the same data sets, so there is "
            "no ranking."
        )
    means = _whole_means(cells)
    if means.isna().all(axis=None):
        return f"{name}: no method finished all its runs, so there is no ranking."
    best = ranked["average_rank"].iloc[0]
    *others, last = ranked["method"][are_tied(ranked["average_rank"], best)]
    tied = f"{', '.join(others)} and {last} are tied" if others else ""
    first, second = list(ranked.itertuples())[:2]
    lead = _lead(metric, means, first.method, second.method)
    if len(datasets) == 1:
        value = _value(metric, cells.loc[datasets[0], first.method])
        if tied:
            return f"{name}: on {datasets[0]} {tied}, {value}."
        return f"{name}: on {datasets[0]} {first.method} is first, {value}{lead}."
    over = f"{best:.2f} over {count(len(datasets), 'data set')}"
    if tied:
        return f"{name}: {tied} for the best mean rank, {over}."
    is_best = cells["best"].unstack(fill_value=False)
    ahead = is_best[is_best[first.method]]
    n_best = len(ahead)
    shared = ", ties included" if (ahead.sum(axis=1) > 1).any() else ""
    return (
        f"{name}: {first.method} has the best mean rank, {over} (best on "
        f"{n_best}{shared}), ahead of {second.method} with "
        f"{second.average_rank:.2f}{lead}."
    )


def _whole_means(cells):
    """Means by data set and method; NaN if a run failed."""
    return cells["mean"].where(cells["missing"] == 0).unstack()


def _value(metric, cell):
    quantity = QUANTITIES[metric]
    over = f" (mean over {count(int(cell['n']), 'repeat')})" if cell["n"] > 1 else ""
    return f"with {_label(quantity)} {cell['shown']} {quantity.unit}".rstrip() + over


def _label(quantity):
    first, *rest = quantity.label
    return "".join([first.lower() if rest[0].islower() else first, *rest])  # but R², F1


def _lead(metric, means, first, second):
    """Lead of the first method over the second, over their common data sets."""
    several = len(means) > 1
    a, b = means[[first, second]].dropna().to_numpy().T
    if not len(a):
        return ""
    if GREATER_IS_BETTER[metric]:
        quantity = QUANTITIES[metric]
        gain = quantity.scale * (a - b).mean()
        size = f"{abs(gain):.1f} points" if quantity.unit else f"{abs(gain):.2g}"
        label = f"; its mean {_label(quantity)} over the sets" if several else ", which"
        if are_tied(a.mean(), b.mean()):
            return f"{label} is equal to {second}'s"
        size = "less than 0.1 points" if size == "0.0 points" else size
        size += f" {'higher' if gain > 0 else 'lower'}"
        return f"{label} is {size} than {second}'s"
    if (a <= 0).any() or (b <= 0).any():
        return ""
    ratio = np.exp(np.log(a / b).mean())
    share = abs(1 - ratio) * 100
    shown = f"{share:.2g}" if share < 99 else f"{share:,.1f}"
    if share < 0.1:
        shown = "less than 0.1"
    elif ratio < 0.001:
        shown = "more than 99.9"
    size = f"{shown} % {'lower' if ratio <= 1 else 'higher'} than {second}'s"
    return (
        f"; its error is {size} (geometric mean of the ratios)"
        if several
        else f", {size}"
    )


def _significance(task):
    """Sentence on the number of significant comparisons of the best method."""
    if len(task.ranks) < 2 or not len(task.tests):
        return ""
    name = task.leader
    mine = task.tests_of_leader
    tested = int(mine["pvalue"].notna().sum())
    if not tested:
        is_equal = mine["note"].str.contains("equal")
        why = ["all differences are equal"] * bool(is_equal.any())
        why += ["fewer than five repeats"] * bool((~is_equal).any())
        return f"No difference was tested for significance: {' or '.join(why)}."
    favour = int((mine["winner"] == name).sum())
    against = int((mine["winner"] != "").sum()) - favour
    left_out = len(mine) - tested
    also = f", and {left_out} could not be tested" if left_out else ""
    the = "the " if tested > 1 else ""
    are = "is" if favour == 1 else "are"
    return (
        f"Of {the}{count(tested, 'tested comparison')} of {name} with another method "
        f"on one data set, {favour} {are} significant in its favour and {against} "
        f"against it{also} ({RULE})."
    )


def _over_sets(task):
    """Sentence that compares the best method with the second over all data sets."""
    records = task.runs
    if dependent(records):
        return (
            f"No test over data sets: the {records['dataset'].nunique()} data sets "
            f"are splits of {count(records['base_dataset'].nunique(), 'table')} and "
            "not independent."
        )
    second = task.ranks["method"][1:2]
    pairs = task.over_sets
    is_told = pairs["method"].isin(second) & pairs["holm"].notna()
    for pair in pairs[is_told].itertuples():
        sure = "" if pair.holm <= ALPHA else "not "
        failed = records["dataset"].nunique() - pair.n_datasets
        more = f" ({failed} more with failed runs)" if failed else ""
        return (
            f"Over {count(pair.n_datasets, 'data set')}{more} {task.leader} is better "
            f"than {pair.method} on {pair.better} and worse on {pair.worse}, "
            f"{sure}significantly (p = {pair.holm:.2g}, Wilcoxon's signed-rank test "
            f"after Holm's correction over {count(len(pairs), 'comparison')})."
        )


def _failures(records):
    """Sentence on the number of failed runs and their methods."""
    missing = records[records["status"] != "ok"]
    if missing.empty:
        return f"No failed runs ({count(len(records), 'run')})."
    counts = missing["method"].value_counts()
    named = ", ".join(f"{name} ({n})" for name, n in counts.head(3).items())
    more = f" and {count(len(counts) - 3, 'more method')}" if len(counts) > 3 else ""
    kinds = {"timeout": "ran out of time", "failed": "failed"}
    how = " or ".join(kinds[status] for status in sorted(set(missing["status"])))
    text = f"{len(missing):,} of {count(len(records), 'run')} {how}: {named}{more}."
    is_compared = shared(records)["status"].ne("ok").any()
    if is_compared and records["method"].nunique() > 1:
        text += (
            " A method is ranked last on a data set if one of its runs there failed."
        )
    return text


def _cost(records):
    """Sentence on the total time of searches, fits and everything else.

    A search whose result several methods use counts once.
    """
    columns = ["fit_seconds", "search_seconds", "run_seconds"]
    times = records.reindex(columns=columns).astype(float).fillna(0.0)
    owner = records.get("search_method", records["method"]).fillna(records["method"])
    known = times.assign(owner=owner)[["search_seconds", "owner"]]
    searched = records[["dataset", "repeat"]].join(known)
    searches = searched.drop_duplicates()["search_seconds"].sum()
    runs = times[["run_seconds", "fit_seconds"]].max(axis=1).sum()
    fits = times["fit_seconds"].sum()
    parts = {
        "searches": searches,
        "fits": fits,
        "start-up, predictions and interrupted runs": runs - fits,
    }
    shares = [
        f"{duration(s)} in {what}"
        for what, s in parts.items()
        if s >= 0.1 or what == "fits"
    ]
    return f"Total job time: {duration(searches + runs)} ({', '.join(shares)})."

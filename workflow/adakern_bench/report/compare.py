"""Tables and tests made from the records of an experiment."""

from pathlib import Path

import numpy as np
import pandas as pd

from adakern._utils.files import atomic_path, write_csv
from adakern._utils.wording import count
from adakern.evaluation import (
    GREATER_IS_BETTER,
    METRICS,
    OPTIONAL_METRICS,
    RECORDED,
)
from adakern.evaluation.quantities import main_metric
from adakern.evaluation.ranking import rank_methods, wins
from adakern.evaluation.significance import compare_methods
from adakern_bench.records.process import OVER
from adakern_bench.records.read import read_records, to_frame
from adakern_bench.report.leaderboard import (
    by_dataset,
    dependent,
    per_task,
    scores_of,
)
from adakern_bench.report.published import beside_measured, load_published


def compare(records, out, published=None, metric=None):
    """Write the tables of one experiment to the folder `out`.

    They are `records.parquet` (a row per run, including failed ones), `summary.csv`,
    `ttest.csv`, `ranks.csv` and `published.csv`. Each is written atomically, and the
    same records give the same files. Without a table of published numbers,
    `published.csv` has no rows. `metric` ranks and tests the methods of its task.
    """
    frame = to_frame(read_records(records, metric))
    compared = shared(frame)
    summary = summarise(compared)
    beside = beside_measured(summary, load_published(published) if published else None)
    with atomic_path(Path(out) / "records.parquet") as path:
        frame.to_parquet(path, index=False, compression="zstd")
    tables = {
        "summary": summary,
        "ttest": compare_pairs(compared, metric),
        "ranks": rank(compared, metric),
    }
    for name, table in (tables | {"published": beside}).items():
        write_csv(Path(out) / f"{name}.csv", table)


def shared(frame):
    """Drop repeats that some method did not finish because the total time was over."""
    finishes = frame["status"].eq("ok").groupby([frame["dataset"], frame["method"]])
    cut = finishes.transform("any") & frame["reason"].fillna("").str.endswith(OVER)
    return frame[~cut.groupby([frame["dataset"], frame["repeat"]]).transform("any")]


def summarise(frame):
    """Summarise records: mean, standard deviation (divisor n - 1) and n, in long form.

    One row per data set, method, split ("train", "test", or empty for quantities
    without a split) and metric. Only finished runs are included; `n_failed` and
    `n_timeout` count the others. A method that never finished has a row per test metric
    with n = 0 and no mean. A single run has no standard deviation.
    """
    return per_task(frame, _summarise_task)


def _summarise_task(task, runs):
    places = {
        f"{split}_{m}": (split, m) for split in ("test", "train") for m in METRICS[task]
    }
    places |= {quantity: ("", quantity) for quantity in RECORDED}
    cell = [runs["dataset"], runs["method"]]
    values = (
        runs.reindex(columns=list(places)).astype(float).where(runs["status"] == "ok")
    )
    groups = values.groupby(cell)
    stacked = {"mean": groups.mean(), "std": groups.std(), "n": groups.count()}
    stacked = {
        name: table.rename_axis(columns="place").stack()
        for name, table in stacked.items()
    }
    table = pd.concat(stacked, axis=1).reset_index()
    table["split"], table["metric"] = zip(*table["place"].map(places), strict=True)
    for how in ("failed", "timeout"):
        missing = (runs["status"] == how).groupby(cell).sum()
        table = table.join(missing.rename(f"n_{how}"), on=["dataset", "method"])
    always = (table["split"] == "test") & ~table["metric"].isin(OPTIONAL_METRICS[task])
    table = table.assign(task=task)[(table["n"] > 0) | always]
    head = ["task", "dataset", "method", "split", "metric"]
    return table[[*head, "mean", "std", "n", "n_failed", "n_timeout"]]


def compare_pairs(frame, metric=None):
    """Test all pairs of methods on each data set, by the ranking metric."""
    rows = []
    for (task, dataset), runs in frame.groupby(["task", "dataset"]):
        by = main_metric(task, metric)
        if runs["method"].nunique() < 2:
            continue
        scores = runs.assign(score=scores_of(runs, by))
        sizes = runs.groupby("repeat")[["n_train", "n_test"]].max().astype(float)
        pairs = compare_methods(
            scores.pivot(index="repeat", columns="method", values="score").sort_index(),
            n_train=sizes["n_train"],
            n_test=sizes["n_test"],
            greater_is_better=GREATER_IS_BETTER.get(by, False),
        )
        head = {"task": task, "dataset": dataset, "metric": by}
        rows += [head | pair._asdict() for pair in pairs]
    columns = ["task", "dataset", "metric", "method_a", "method_b", "pvalue"]
    return pd.DataFrame(rows, columns=None if rows else [*columns, "winner", "note"])


def rank(frame, metric=None):
    """Rank the methods of each task over its data sets, best first.

    A failed data set counts as the worst rank. A method with results on fewer than half
    of the data sets (a binary classifier, for instance) is not ranked, which the note
    states.
    """
    return per_task(frame, _rank_task, metric)


def _rank_task(task, runs, metric):
    metric = main_metric(task, metric)
    scores = by_dataset(runs, metric=metric)
    finished = runs[runs["status"] == "ok"].groupby("method")["dataset"].nunique()
    seldom = scores.columns[
        finished.reindex(scores.columns, fill_value=0) < len(scores) / 2
    ]
    ranked = scores.drop(columns=seldom)
    greater = {"greater_is_better": GREATER_IS_BETTER[metric]}
    ranking = rank_methods(ranked, **greater)
    tests = {
        "friedman_statistic": ranking.statistic,
        "friedman_pvalue": ranking.pvalue,
        "critical_distance": ranking.critical_distance,
    }
    notes = [
        f"results on fewer than half of the data sets, not ranked: {name}"
        for name in seldom
    ]
    notes.append(ranking.note)
    if dependent(runs):
        tests = dict.fromkeys(tests, np.nan)
        notes.append(
            f"no test over data sets: the {len(ranked)} data sets are splits of "
            f"{count(runs['base_dataset'].nunique(), 'table')}"
        )
    won = wins(ranked, **greater) if ranked.size else 0.0
    table = pd.DataFrame(
        {"average_rank": ranking.average_ranks, "wins": won}, ranked.columns
    )
    table = table.reindex(scores.columns).fillna({"wins": 0.0}).reset_index()
    table.insert(0, "task", task)
    table.insert(1, "metric", metric)
    return table.assign(
        n_datasets=ranking.n_datasets, **tests, note="; ".join(filter(None, notes))
    ).sort_values(["average_rank", "method"])

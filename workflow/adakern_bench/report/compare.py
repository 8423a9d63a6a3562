"""The records of an experiment become tables and tests.

By hand: ``python -m adakern_bench.report.compare results/quickstart`` prints the
comparison; with ``--again``, or where there are no tables yet, it makes them from the
records first.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from adakern._utils.files import atomic_path
from adakern.evaluation import (
    GREATER_IS_BETTER,
    MAIN_METRIC,
    METRICS,
    OPTIONAL_METRICS,
    compare_methods,
    rank_methods,
)
from adakern_bench.records.read import find_records, read_records, to_frame
from adakern_bench.report.console import print_table
from adakern_bench.report.published import beside_measured, load_published

__all__ = ["compare", "main"]

#: What a solve costs and how large its model is; no train or test part.
QUANTITIES = (
    "fit_seconds",
    "predict_seconds",
    "predictions_per_second",
    "search_seconds",
    "model_bytes",
    "peak_memory_bytes",
    "rank",
    "n_support",
    "n_iter",
)


def compare(records, out, published=None, alpha=0.05):
    """Write the tables of one experiment.

    Parameters
    ----------
    records : iterable of Path
        JSON files, each an array of records of solves.
    out : Path
        Folder for `records.parquet` (one row per solve, failures too), `summary.csv`,
        `ttest.csv`, `ranks.csv` and `published.csv`, each written whole or not at all
        and the same from the same records.
    published : Path, default=None
        A table of published numbers; without it `published.csv` has no rows.
    alpha : float, default=0.05
        Significance level of all tests.
    """
    frame = to_frame(read_records(records))
    summary = summarise(frame)
    beside = beside_measured(summary, load_published(published) if published else None)
    with atomic_path(Path(out) / "records.parquet") as path:
        frame.to_parquet(path, index=False)
    for name, table in (
        ("summary", summary),
        ("ttest", compare_pairs(frame, alpha)),
        ("ranks", rank(summary, alpha)),
        ("published", beside),
    ):
        with atomic_path(Path(out) / f"{name}.csv") as path:
            table.to_csv(path, index=False)


def summarise(frame):
    """Mean, standard deviation (divisor n - 1) and n of everything, in long form.

    One row per data set, method, split ("train", "test", or blank for what has no
    split) and metric. Only solves that finished count; how many did not stands in
    `n_failed` and `n_timeout`. A method that never finished keeps the rows of its
    test metrics, with n = 0 and no mean. One solve alone has no standard deviation.

    Parameters
    ----------
    frame : DataFrame
        One row for each record.
    """
    rows = []
    for (task, dataset, method), solves in frame.groupby(["task", "dataset", "method"]):
        status = solves["status"].value_counts()
        finished = solves[solves["status"] == "ok"]
        for split, metric, column in _columns(task):
            values = _values(finished, column)
            needed = split == "test" and metric not in OPTIONAL_METRICS[task]
            if not len(values) and not needed:
                continue
            rows.append(
                {
                    "task": task,
                    "dataset": dataset,
                    "method": method,
                    "split": split,
                    "metric": metric,
                    "mean": values.mean() if len(values) else np.nan,
                    "std": values.std(ddof=1) if len(values) > 1 else np.nan,
                    "n": len(values),
                    "n_failed": status.get("failed", 0),
                    "n_timeout": status.get("timeout", 0),
                }
            )
    return pd.DataFrame(rows)


def _columns(task):
    for split in ("test", "train"):
        for metric in METRICS[task]:
            yield split, metric, f"{split}_{metric}"
    for quantity in QUANTITIES:
        yield "", quantity, quantity


def _values(solves, column):
    if column not in solves:
        return np.empty(0)
    return solves[column].dropna().to_numpy(float)


def compare_pairs(frame, alpha=0.05):
    """Every pair of methods on each data set, by the main metric on the test part.

    Parameters
    ----------
    frame : DataFrame
        One row for each record.
    alpha : float, default=0.05
        Level of significance.
    """
    rows = []
    for (task, dataset), solves in frame.groupby(["task", "dataset"]):
        metric = MAIN_METRIC[task]
        scores = _by_repeat(solves, f"test_{metric}", mask=solves["status"] == "ok")
        if scores.shape[1] < 2:
            continue
        sizes = solves.groupby("repeat")[["n_train", "n_test"]].max().astype(float)
        pairs = compare_methods(
            scores,
            n_train=sizes["n_train"],
            n_test=sizes["n_test"],
            greater_is_better=GREATER_IS_BETTER[metric],
            alpha=alpha,
        )
        head = {"task": task, "dataset": dataset, "metric": metric}
        rows += [head | pair._asdict() for pair in pairs]
    columns = None if rows else ["task", "dataset", "metric", "method_a", "method_b"]
    return pd.DataFrame(rows, columns=columns)


def _by_repeat(solves, column, mask):
    """Scores with a row per repeat and a column per method; NaN where it failed."""
    if column not in solves:
        solves = solves.assign(**{column: np.nan})
    scores = solves[column].astype(float).where(mask)
    return (
        solves.assign(score=scores)
        .pivot(index="repeat", columns="method", values="score")
        .sort_index()
    )


def rank(summary, alpha=0.05):
    """Average ranks of the methods over the data sets of each task.

    Ranks need every method on every data set. A method with results on fewer than half
    of them (one for two classes only, say) is not ranked; of the other methods' data
    sets, those that lack one are left out. The note says both.

    Parameters
    ----------
    summary : DataFrame
        Means by data set and method.
    alpha : float, default=0.05
        Level of significance.
    """
    return pd.concat(
        [_rank_task(task, rows, alpha) for task, rows in summary.groupby("task")],
        ignore_index=True,
    )


def _rank_task(task, rows, alpha):
    metric = MAIN_METRIC[task]
    rows = rows[(rows["split"] == "test") & (rows["metric"] == metric)]
    scores = rows.pivot(index="dataset", columns="method", values="mean")
    seldom = scores.columns[scores.notna().mean() < 0.5]
    ranked = scores.drop(columns=seldom)
    ranking = rank_methods(
        ranked, greater_is_better=GREATER_IS_BETTER[metric], alpha=alpha
    )
    average = pd.Series(ranking.average_ranks, ranked.columns).reindex(scores.columns)
    notes = [
        f"results on fewer than half of the data sets, not ranked: {name}"
        for name in seldom
    ]
    return pd.DataFrame(
        {
            "task": task,
            "metric": metric,
            "method": scores.columns,
            "average_rank": average.to_numpy(),
            "n_datasets": ranking.n_datasets,
            "friedman_statistic": ranking.statistic,
            "friedman_pvalue": ranking.pvalue,
            "critical_distance": ranking.critical_distance,
            "note": "; ".join([*notes, *filter(None, [ranking.note])]),
        }
    ).sort_values(["average_rank", "method"])


def main(argv=None):
    """Command line: compare one experiment again and print its table.

    Parameters
    ----------
    argv : list of str, default=None
        Of the command line; sys.argv when None.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="folder of one experiment")
    parser.add_argument("--again", action="store_true", help="make the tables again")
    parser.add_argument(
        "--published", type=Path, help="table of published numbers, with --again"
    )
    arguments = parser.parse_args(argv)
    results = arguments.results
    if arguments.again or not (results / "records.parquet").exists():
        records = find_records(results)
        if not records:
            parser.error(
                f"{results} holds no records/<dataset>/<method>/*.json; "
                "name the folder of one experiment, such as results/quickstart"
            )
        try:
            compare(records, results, arguments.published)
        except ValueError as error:
            parser.error(str(error))
    print_table(results)


if __name__ == "__main__":
    main()

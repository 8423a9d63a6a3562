"""Comparison of two runs: what is better, worse, faster or slower."""

import io
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from adakern._utils.wording import count
from adakern.evaluation import GREATER_IS_BETTER, MAIN_METRIC
from adakern.evaluation.ranking import ALPHA, FEWEST
from adakern.evaluation.significance import (
    compare_methods,
    compare_over_sets,
    holm_correction,
)
from adakern_bench.records.read import find_records, read_records, to_frame
from adakern_bench.report.contrast import over_sets
from adakern_bench.report.render import rendered

CELL = ["task", "dataset", "method"]

#: Minimum time of a fit in ratios, in seconds.
SHORTEST = 1e-9
#: Possible verdicts on a cell; those in ``ALARMS`` make the exit status 1.
VERDICTS = ("better", "worse", "failed", "faster", "slower")
ALARMS = ["worse", "failed", "slower"]

#: Column of the methods, or of the cells, -> its heading in the printed table.
OF_METHODS = {
    "n": "data sets",
    "sets_better": "better on",
    "sets_worse": "worse on",
    "score_pvalue": "p",
    "ratio": "time ratio",
    "seconds_pvalue": "p of time",
}
OF_CELLS = {
    "dataset": "data set",
    "metric": "metric",
    "n": "repeats",
    "score_before": "before",
    "score_after": "after",
    "ratio": "time ratio",
}

#: Fields that must be equal in two runs of a repeat for them to be compared.
SAME_SPLIT = ["n_train", "n_test", "data_fingerprint"]


class Difference(NamedTuple):
    """Difference of two runs, with verdicts: for each data set and method, and for
    methods over all data sets; cells of only one run; and cells whose rows or splits
    differ.
    """

    cells: pd.DataFrame
    methods: pd.DataFrame
    only_before: list
    only_after: list
    other_splits: list


def read_run(place):
    """Records of a folder of results, of a published folder, or of FOLDER@COMMIT."""
    published, at, commit = str(place).partition("@")
    if at and not Path(place).exists():
        return _of_commit(published, commit)
    folder = Path(place)
    table = folder / "records.parquet"
    if table.is_file():
        return pd.read_parquet(table)
    if files := find_records(folder):
        return to_frame(read_records(files))
    raise FileNotFoundError(
        f"Found no records in {folder}: use a folder of results/ or docs/results/, or "
        "a published folder at a commit, such as docs/results/uci121@v0.1.0"
    )


def _of_commit(folder, commit):
    """Records of a published folder at a commit of this repository."""
    name = f"{commit}:{folder.rstrip('/')}/records.parquet"
    shown = subprocess.run(
        ["git", "show", "--end-of-options", name], capture_output=True
    )
    if shown.returncode:
        why = shown.stderr.decode(errors="replace").strip()
        raise FileNotFoundError(f"git has no {name}: {why}")
    return pd.read_parquet(io.BytesIO(shown.stdout))


def difference(before, after, tolerance):
    """Compare each data set and method of two runs, paired by repeat.

    Scores, and the logarithms of the times of fits, are tested at 5 %: on a data set by
    Nadeau and Bengio's corrected t-test with Holm's correction over all cells, over
    data sets by Wilcoxon's signed-rank test with Holm's correction over all methods.
    With fewer than five pairs nothing is tested. Faster and slower mean by more than
    the relative ``tolerance``.
    """
    keys = [*CELL, "repeat"]
    both = before.merge(after, on=keys, suffixes=("_before", "_after"))
    same = np.ones(len(both), dtype=bool)
    for name in SAME_SPLIT:
        pair = both.reindex(columns=[f"{name}_before", f"{name}_after"])
        is_unknown = pair.isna().any(axis=1)  # one of the runs failed
        same &= is_unknown | (pair.iloc[:, 0] == pair.iloc[:, 1])
    rows = [
        dict(zip(CELL, cell, strict=True)) | _cell(pairs, MAIN_METRIC[cell[0]])
        for cell, pairs in both[same].groupby(CELL)
    ]
    cells = pd.DataFrame(rows)
    return Difference(
        _judged(cells, tolerance),
        _judged(_over_sets(cells), tolerance),
        _missing(before, after),
        _missing(after, before),
        sorted({tuple(cell) for cell in both[~same][CELL].to_numpy()}),
    )


def _judged(table, tolerance):
    """Add verdicts, from the tests after Holm's correction over all rows."""
    if not len(table):
        return table
    differs, differs_in_time = (
        holm_correction(table[f"{name}_pvalue"]) <= ALPHA
        for name in ("score", "seconds")
    )
    return table.assign(
        better=differs & (table["gain"] > 0),
        worse=differs & (table["gain"] < 0),
        failed=table["new_failures"] > 0,
        faster=differs_in_time & (table["ratio"] < 1 / (1 + tolerance)),
        slower=differs_in_time & (table["ratio"] > 1 + tolerance),
    )


def _over_sets(cells):
    """Compare each method over the data sets of both runs."""
    rows = []
    for (task, method), of_method in (
        cells.groupby(["task", "method"]) if len(cells) else ()
    ):
        of_method = of_method[of_method["n"] > 0]
        metric = of_method["metric"].iloc[0] if len(of_method) else MAIN_METRIC[task]
        scores = over_sets(of_method["score_after"], of_method["score_before"], metric)
        logs = np.log(of_method["seconds_after"] / of_method["seconds_before"])
        seconds = compare_over_sets(logs, 0 * logs, greater_is_better=False)
        rows.append(
            {
                "task": task,
                "method": method,
                "metric": metric,
                "n": scores.n_datasets,
                "sets_better": scores.better,
                "sets_worse": scores.worse,
                "gain": scores.difference,
                "score_pvalue": scores.pvalue,
                "ratio": np.exp(logs.mean()),
                "seconds_pvalue": seconds.pvalue,
                "new_failures": int(of_method["new_failures"].sum()),
            }
        )
    return pd.DataFrame(rows)


def _missing(these, those):
    """Cells of the first run that the second lacks."""
    cells = ({tuple(row) for row in run[CELL].to_numpy()} for run in (these, those))
    return sorted(set.difference(*cells))


def _cell(pairs, metric):
    """Compare one cell, whose runs are paired by repeat."""
    ok = {when: pairs[f"status_{when}"] == "ok" for when in ("before", "after")}
    whole = pairs[ok["before"] & ok["after"]]
    row = {"metric": metric, "n": len(whole)}
    row["new_failures"] = int((ok["before"] & ~ok["after"]).sum())
    n_train, n_test = (whole[f"{n}_after"].astype(float) for n in ("n_train", "n_test"))
    for name, column in {"score": f"test_{metric}", "seconds": "fit_seconds"}.items():
        values = whole.reindex(columns=[f"{column}_before", f"{column}_after"])
        values = values.astype(float)
        if name == "seconds":
            values = np.log(values.clip(lower=SHORTEST))
        (pair,) = compare_methods(values, n_train=n_train, n_test=n_test)
        means = np.array([pair.mean_a, pair.mean_b])
        means = np.exp(means) if name == "seconds" else means
        row |= {f"{name}_before": means[0], f"{name}_after": means[1]}
        row[f"{name}_pvalue"] = pair.corrected_pvalue
    sign = 1 if GREATER_IS_BETTER[metric] else -1
    row["gain"] = sign * (row["score_after"] - row["score_before"])
    row["ratio"] = row["seconds_after"] / row["seconds_before"]
    return row


def sentence(difference):
    """Summarise the verdicts on the cells in one line."""
    cells = difference.cells
    if not len(cells):
        text = "the two runs have no data set, method and repeat in common"
    else:
        counts = [f"{cells[name].sum()} {name}" for name in VERDICTS]
        common = count(len(cells), "combination")
        text = f"{common} of data set and method in both runs: {', '.join(counts)}"
        if untested := int((cells["n"] < FEWEST).sum()):
            text += f"; {untested} with fewer than {FEWEST} repeats, not tested"
    for others, where in (
        (difference.only_before, "only before"),
        (difference.only_after, "only after"),
        (difference.other_splits, "with other rows or splits"),
    ):
        text += f"; {len(others)} {where}" if others else ""
    return text


def shown(difference):
    """Caption -> table to print: all methods, and the cells that changed."""
    cells = difference.cells
    if not len(cells):
        return {}
    changed = cells[cells[list(VERDICTS)].any(axis=1)]
    return {
        "Methods over all data sets": _table(difference.methods, OF_METHODS),
        "Changed": _table(changed, OF_CELLS),
    }


def _table(rows, headings):
    verdicts = [
        ", ".join(name for name in VERDICTS if row[name])
        for row in rows.to_dict("records")
    ]
    table = rows[["task", "method", *headings]].rename(columns=headings)
    numbers = table.select_dtypes("float").columns
    table[numbers] = table[numbers].map(_number).astype(object)
    return table.assign(verdict=verdicts)


def _number(value):
    return f"{value:.3g}" if np.isfinite(value) else "-"


def page(difference, tolerance, before, after):
    """Return the comparison as an HTML page."""
    return rendered(
        "diff.html.j2",
        before=before,
        after=after,
        line=sentence(difference),
        tolerance=tolerance,
        tables=shown(difference),
        alone={
            f"Only in {before}": difference.only_before,
            f"Only in {after}": difference.only_after,
            "With other rows or splits": difference.other_splits,
        },
    )

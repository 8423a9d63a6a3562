"""Coverage of 90 % prediction intervals and sets in each category.

    python benchmarks/coverage.py --sets uci121-abalone heart

The flagship is fitted to ``--rows`` rows of each development set's training part, and
the coverage of each row is out of fold (``oof_covered_``). Categories are the values,
with at least fifty rows, of columns with two to ten values. Prints a table.
"""

import argparse

import numpy as np

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.adaptive.coverage import FEWEST_ROWS, LOW, coverage_by
from adakern_bench.data.fetch import load_table
from develop import ROOT, entries

RAW = ROOT / "data" / "raw"
MOST_LEVELS = 10


def shares(table, n_rows, preset):
    """Column -> category -> (coverage, number of rows); and the mean coverage."""
    rows = np.arange(len(table.y))
    if table.published_splits is not None:
        rows = np.flatnonzero(~np.asarray(table.published_splits[0]))
    rows = np.random.default_rng(0).permutation(rows)[:n_rows]
    X, y = table.X[rows], table.y[rows]
    few = [1 < len(np.unique(column)) <= MOST_LEVELS for column in X.T]
    if not any(few):
        return {}, np.nan
    classify = table.task == "classification"
    make = AdaptiveKernelClassifier if classify else AdaptiveKernelRegressor
    model = make(preset=preset, random_state=0).fit(X, y)
    columns = {table.feature_names[j]: X[:, j] for j in np.flatnonzero(few)}
    return coverage_by(model.oof_covered_, columns), np.nanmean(model.oof_covered_)


def main():
    """Print the table, and the total over all sets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", help="names; all by default")
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--mirror", help="folder with the files of data sets")
    asked = parser.parse_args()
    print("| set | all rows | categories | least covered | below 0.85 |")
    print("|---|---:|---:|---|---:|", flush=True)
    counted = []
    for name, entry in entries():
        if asked.sets and name not in asked.sets:
            continue
        table = load_table(name, entry, cache_dir=RAW, mirror=asked.mirror)
        found, mean = shares(table, asked.rows, asked.preset)
        every = [
            (share, n, f"{column}={float(level):.3g}")
            for column, levels in found.items()
            for level, (share, n) in levels.items()
        ]
        if every:
            share, n, where = min(every)
            low = sum(share < LOW for share, *_ in every)
            counted.append((len(every), low))
            least = f"{share:.2f} of {n} ({where})"
            print(
                f"| {name} | {mean:.2f} | {len(every)} | {least} | {low} |", flush=True
            )
    n, low = np.sum(counted, axis=0) if counted else (0, 0)
    print(f"\n{n} categories of {FEWEST_ROWS} rows or more, {low} below {LOW}")


if __name__ == "__main__":
    main()

"""The flagship against the simple blend, a forest and boosting, over many data sets.

    python benchmarks/adaptive.py              # both suites, 250 training rows: an hour
    python benchmarks/adaptive.py --rows 1000 --split 1 --suites uci_regression
    python benchmarks/adaptive.py --quick      # three sets of each: does it run?

Each set is one published split, at most ``--rows`` of its training rows and 1,000 of
its test rows. Printed are the error of each method (root mean square over the standard
deviation of the test targets; share of wrong classes), then for each rival the
ratio of errors (median) and of times, wins and losses, and Wilcoxon's test.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.baselines import SimpleBlendClassifier, SimpleBlendRegressor
from adakern_bench.data import load_table
from adakern_bench.data.registry import read_suite
from adakern_bench.data.suite import expand_suite

ROOT = Path(__file__).resolve().parents[1]
SUITES = ("uci_regression", "uci121")
METHODS = {
    "adaptive": (AdaptiveKernelRegressor, AdaptiveKernelClassifier),
    "simple-blend": (SimpleBlendRegressor, SimpleBlendClassifier),
    "forest": (RandomForestRegressor, RandomForestClassifier),
    "boosting": (HistGradientBoostingRegressor, HistGradientBoostingClassifier),
}


def tables(suite, n_sets):
    """Name and table of each set of a suite."""
    folder = ROOT / "conf" / "suite"
    entries = expand_suite(read_suite(folder / f"{suite}.yaml"), folder)
    for name, entry in list(entries.items())[:n_sets]:
        yield name, load_table(name, entry, cache_dir=ROOT / "data" / "raw")


def parts(table, split, n_rows):
    """Rows of the training and the test part, at most so many."""
    rng = np.random.default_rng(split)
    test = table.published_splits[split]
    train, test = (rng.permutation(np.flatnonzero(p)) for p in (~test, test))
    return train[:n_rows], test[:1000]


def measure(table, split, n_rows):
    """Error and seconds of each method on one split."""
    train, test = parts(table, split, n_rows)
    classify = table.task == "classification"
    for pair in METHODS.values():
        started = time.process_time()
        model = pair[classify](random_state=0).fit(table.X[train], table.y[train])
        predicted = model.predict(table.X[test])
        seconds = time.process_time() - started
        if classify:
            error = np.mean(predicted != table.y[test])
        else:
            squares = np.mean((predicted - table.y[test]) ** 2)
            error = np.sqrt(squares) / np.std(table.y[test])
        yield error, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=250)
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=SUITES)
    parser.add_argument("--quick", action="store_true", help="three sets of each suite")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for suite in arguments.suites:
        print(f"\n{suite}: {'  '.join(METHODS)}")
        measured = []
        for name, table in tables(suite, 3 if arguments.quick else None):
            row = np.array(list(measure(table, arguments.split, arguments.rows)))
            measured.append(row)
            print(f"{name:40}", "  ".join(f"{e:.4f}" for e in row[:, 0]), flush=True)
        compare(np.array(measured))


def compare(measured):
    """Print the flagship against each rival; (n_sets, n_methods, 2)."""
    errors, seconds = measured[..., 0], measured[..., 1]
    print("mean error:", "  ".join(f"{e:.4f}" for e in errors.mean(axis=0)))
    for j, rival in enumerate(METHODS):
        if j == 0:
            continue
        difference = errors[:, 0] - errors[:, j]
        took = np.exp(np.mean(np.log(seconds[:, 0] / seconds[:, j])))
        wins, losses = np.sum(difference < 0), np.sum(difference > 0)
        p = wilcoxon(difference).pvalue if np.any(difference) else 1.0
        ratio = np.median(errors[:, 0] / np.maximum(errors[:, j], 1e-12))
        print(
            f"against {rival}: {wins} wins, {losses} losses, p = {p:.2g}; "
            f"median error ratio {ratio:.3f}, mean time ratio {took:.1f}"
        )


if __name__ == "__main__":
    main()

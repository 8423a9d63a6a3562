"""Score the flagship by inner validation alone, so that nobody needs a test part.

    python benchmarks/develop.py --save before.json        # all development sets
    python benchmarks/develop.py --against before.json     # after a change
    python benchmarks/develop.py --sets yacht iris --rows 150 --option preset=fast

Of each set's training part (that of its first published split, where there is one)
``--rows`` rows are learned from and up to 500 others predicted, twice. The loss is the
root mean square error over the standard deviation, or the log loss. The sets of
the benchmark SRBench are for confirmation and not among them.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern_bench.data import DatasetError, load_table, read_entry
from adakern_bench.data.registry import read_suite
from adakern_bench.data.suite import expand_suite

ROOT = Path(__file__).resolve().parents[1]
SUITES = ("uci_regression", "uci121")
OTHERS = [
    "sk-diabetes",
    "sk-wine",
    "sk-breast-cancer",
    "bodyfat",
    "pyrim",
    "triazines",
    "mpg",
    "housing",
    "mg",
    "airfoil",
    "space_ga",
    "parkinsons",
    "tecator",
    "electrical",
    "monks1",
    "monks2",
    "monks3",
    "heart",
    "sonar",
]


def entries(folder):
    """Name and entry of each development set."""
    for suite in SUITES:
        sets = read_suite(folder / "suite" / f"{suite}.yaml")
        yield from expand_suite(sets, folder / "suite").items()
    yield from ((n, read_entry(folder / "dataset" / f"{n}.yaml")) for n in OTHERS)


def losses(table, n_rows, options):
    """Mean loss and processor seconds over two draws of rows of the training part."""
    rows, found = np.arange(len(table.y)), []
    if table.published_splits is not None:
        rows = np.flatnonzero(~np.asarray(table.published_splits[0]))
    for seed in range(2):
        drawn = np.random.default_rng(seed).permutation(rows)
        n = min(n_rows, 2 * len(rows) // 3)
        train, held_out = drawn[:n], drawn[n : n + 500]
        classify = table.task == "classification"
        make = AdaptiveKernelClassifier if classify else AdaptiveKernelRegressor
        started = time.process_time()
        model = make(**options, random_state=0).fit(table.X[train], table.y[train])
        seconds, y = time.process_time() - started, table.y[held_out]
        if classify:
            p = model.predict_proba(table.X[held_out])[y[:, None] == model.classes_]
            loss = -np.log(np.maximum(p, 1e-6)).sum() / len(y)
        else:
            errors = model.predict(table.X[held_out]) - y
            loss = np.sqrt(np.mean(errors**2)) / np.std(table.y[rows])
        found.append((loss, seconds))
    return np.mean(found, axis=0).tolist()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", help="parts of their names")
    parser.add_argument("--rows", type=int, default=250)
    parser.add_argument("--option", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    options = dict(option.split("=", 1) for option in arguments.option)
    before = json.loads(arguments.against.read_text()) if arguments.against else {}
    after = {}
    for name, entry in entries(ROOT / "conf"):
        if arguments.sets and not any(part in name for part in arguments.sets):
            continue
        try:
            table = load_table(
                name, entry, cache_dir=ROOT / "data" / "raw", progress=False
            )
        except DatasetError as error:
            print(f"{name}: left out, {error}")
            continue
        after[name] = loss, seconds = losses(table, arguments.rows, options)
        print(
            f"{name:40} {loss:.4f} {seconds:6.2f} s", *before.get(name, []), flush=True
        )
    if arguments.save:
        arguments.save.write_text(json.dumps(after))
    if both := sorted(set(before) & set(after)):
        pairs = np.array([(after[name], before[name]) for name in both])
        ratio = np.log(np.maximum(pairs[:, 0], 1e-9) / np.maximum(pairs[:, 1], 1e-9))
        lower, higher = np.sum(ratio[:, 0] < 0), np.sum(ratio[:, 0] > 0)
        print(f"{len(both)} sets: loss x {np.exp(ratio[:, 0].mean()):.4f}, ", end="")
        print(f"lower on {lower}, higher on {higher}; time x ", end="")
        print(f"{pairs[:, 0, 1].sum() / pairs[:, 1, 1].sum():.2f}")


if __name__ == "__main__":
    main()

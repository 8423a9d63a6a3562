"""Score the flagship by inner validation only, so that no test part is used.

    python benchmarks/develop.py --save before.json       # both suites and 19 others
    python benchmarks/develop.py --against before.json    # after a change
    python benchmarks/develop.py --sets yacht iris --option preset=fast
    python benchmarks/develop.py --method catboost --save catboost.json
    python benchmarks/develop.py --constant members.svm.COSTS=(3.0,) \\
        --against before.json

Models are fitted to ``--rows`` rows of each set's training part (that of its first
published split, if there is one) and predict up to 500 others, in ``--draws`` draws.
The loss is the root mean squared error relative to the standard deviation of the
target, or the log loss. The sets of SRBench are not used for development and are not
included.

A line at the end of a comparison gives the geometric mean over sets of the ratio of
losses (0.001 added to both), the numbers of sets on which the loss is lower and higher
by more than 0.1 %, the two-sided p-value of Wilcoxon's test, not corrected for the
number of comparisons, and the ratio of processor seconds.
"""

import argparse
import ast
import importlib
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from adakern_bench.config.compose import load_config
from adakern_bench.config.estimators import make_estimator
from adakern_bench.data.fetch import load_table

ROOT = Path(__file__).resolve().parents[1]
OTHERS = """sk-diabetes sk-wine sk-breast-cancer bodyfat pyrim triazines mpg housing mg
airfoil space_ga parkinsons tecator electrical monks1 monks2 monks3 heart sonar"""


def entries():
    """Name and entry of each development set."""
    others = f"dataset=[{','.join(OTHERS.split())}]"
    for selected in (["suite=uci_regression", "dataset=[]"], ["suite=uci121", others]):
        yield from load_config(selected).dataset.items()


def score(table, n_rows, method, options, draws=2):
    """Mean loss and processor seconds over random divisions of the training part."""
    rows, found, classify = np.arange(len(table.y)), [], table.task == "classification"
    if table.published_splits is not None:
        rows = np.flatnonzero(~np.asarray(table.published_splits[0]))
    y = (
        table.y
        if classify
        else (table.y - np.mean(table.y[rows])) / np.std(table.y[rows])
    )
    recipe = method.classifier if classify else method.regressor
    for seed in range(draws):
        drawn = np.random.default_rng(seed).permutation(rows)
        train, held_out = np.split(drawn, [min(n_rows, 2 * len(rows) // 3)])
        model = make_pipeline(
            StandardScaler(), make_estimator(recipe.estimator, options, seed=0)
        )
        started = time.process_time()
        model.fit(table.X[train], y[train])
        seconds, X, true = (
            time.process_time() - started,
            table.X[held_out[:500]],
            y[held_out[:500]],
        )
        if classify:
            p = np.sum(
                model.predict_proba(X) * (true[:, None] == model.classes_), axis=1
            )
            loss = -np.log(np.maximum(p, 1e-6)).mean()
        else:
            loss = np.sqrt(np.mean((np.ravel(model.predict(X)) - true) ** 2))
        found.append((loss, seconds))
    return np.mean(found, axis=0).tolist()


def set_constant(assignment):
    """Give a constant of ``adakern.adaptive`` another value, wherever it is used."""
    path, value = assignment.split("=", 1)
    module, name = path.rsplit(".", 1)
    before = getattr(importlib.import_module(f"adakern.adaptive.{module}"), name)
    value = ast.literal_eval(value)
    if isinstance(before, np.ndarray):
        value = np.asarray(value)
    for module in list(sys.modules.values()):
        ours = module.__name__.startswith("adakern.adaptive")
        if ours and getattr(module, name, None) is before:
            setattr(module, name, value)


def compare(before, after):
    """Print how losses and times differ on the sets of both."""
    both = sorted(set(before) & set(after))
    if not both:
        return
    figures = np.array([[before[name], after[name]] for name in both])
    ratios, seconds = (
        (figures[:, 1, i] + offset) / (figures[:, 0, i] + offset)
        for i, offset in enumerate([0.001, 0.0])
    )
    p = wilcoxon(np.log(ratios)).pvalue if np.ptp(ratios) else 1.0
    print(
        f"loss x {np.exp(np.log(ratios).mean()):.4f}, lower on {sum(ratios < 0.999)}, "
        f"higher on {sum(ratios > 1.001)} of {len(both)}, p = {p:.3g}; "
        f"time x {np.exp(np.log(seconds).mean()):.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=[""], help="parts of names")
    parser.add_argument("--rows", type=int, default=250)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--method", default="adaptive", help="a file of conf/method")
    parser.add_argument("--option", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument(
        "--constant", nargs="*", default=[], metavar="MODULE.NAME=VALUE"
    )
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    args, after = parser.parse_args(), {}
    warnings.simplefilter("ignore")
    for assignment in args.constant:
        set_constant(assignment)
    before = json.loads(args.against.read_text()) if args.against else {}
    options = dict(option.split("=", 1) for option in args.option)
    method = load_config([f"method=[{args.method}]"]).method[args.method]
    for name, entry in entries():
        if any(part in name for part in args.sets):
            table = load_table(name, entry, cache_dir=ROOT / "data" / "raw")
            after[name] = score(table, args.rows, method, options, args.draws)
            print(name, *after[name], *before.get(name, []), flush=True)
    if args.save:
        args.save.write_text(json.dumps(after))
    compare(before, after)


if __name__ == "__main__":
    main()

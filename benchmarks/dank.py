"""DANK against the SVM that it starts from: time, memory and accuracy.

    python benchmarks/dank.py                     # generated rows, eeg and ijcnn1
    python benchmarks/dank.py --only ijcnn1
    python benchmarks/dank.py --quick             # 600 rows, only checks that it runs

The reference is scikit-learn's SVC on the same rows, with the same C and gamma: for eeg
and ijcnn1 those of table 3 of the paper. Every fit runs in a separate process, whose
peak memory includes the rows; the methods take turns, and seconds are medians over the
turns. eeg and ijcnn1 are read from ``data/raw``, ``--mirror`` or the web, and skipped
if they cannot be obtained.
"""

import os
import resource
import statistics
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import timing
from adakern.dank import DANKClassifier
from adakern.datasets import make_covtype_like

ROOT = Path(__file__).resolve().parents[1]
#: C, gamma and number of clusters.
SETTINGS = {
    "generated": (10, 0.5, 10),
    "eeg": (32, 100, 5),
    "ijcnn1": (32, 2, 50),
}
REFERENCE, METHODS = "SVC", ("SVC", "exact", "decomposed", "whole")
#: Exact DANK stores matrices of this many rows and columns.
MOST_EXACT = 8000


def generated(n):
    """Training rows and targets, test rows and targets, features in [0, 1]."""
    X, y = make_covtype_like(n=2 * n)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    return X, y, X_test, y_test


def published(name, mirror):
    """Return the same for a data set; None if its files cannot be obtained."""
    # Imported here, since the processes of the fits would otherwise load the workflow.
    from adakern_bench.config.compose import load_config
    from adakern_bench.config.entry import DatasetError
    from adakern_bench.data.fetch import load_table
    from adakern_bench.records.prepare import prepare

    entry = load_config([f"dataset=[{name}]"]).dataset[name]
    try:
        table = load_table(name, entry, cache_dir=ROOT / "data/raw", mirror=mirror)
    except DatasetError as error:
        print(f"{name}: skipped, {error}")
        return None
    every = np.arange(len(table.y))
    if table.test_rows is None:
        train, test = train_test_split(every, test_size=0.5, random_state=0)
    else:
        train, test = np.setdiff1d(every, table.test_rows), table.test_rows
    scale = "none" if name == "ijcnn1" else "unit"  # ijcnn1 is published scaled
    data = prepare(table, train, test, scale=scale, clip=entry.clip or ())
    return data.X_train, data.y_train, data.X_test, data.y_test


def make(method, name):
    """Return the estimator of a method with the settings of a data set."""
    C, gamma, n_clusters = SETTINGS[name]
    if method == REFERENCE:
        return SVC(C=C, gamma=gamma)
    options = {} if method == "exact" else {"n_clusters": n_clusters}
    return DANKClassifier(C=C, gamma=gamma, strategy=method, random_state=0, **options)


def measured(method, name, X, y, X_test, y_test):
    """Seconds, peak gigabytes and accuracy of one fit."""
    model, seconds = timing.seconds(make(method, name).fit, X, y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return seconds, peak, model.score(X_test, y_test)


def compare(name, data, turns):
    """Print a line for each method."""
    print(f"{name}: {len(data[0]):,} training rows, {data[0].shape[1]} features")
    print(f"{'':12}{'seconds':>9}{'/ SVC':>8}{'GB':>8}{'accuracy':>10}")
    methods = [m for m in METHODS if m != "exact" or len(data[0]) <= MOST_EXACT]
    found = {method: [] for method in methods}
    for _ in range(turns):
        for method in methods:
            outcome = timing.in_process(measured, method, name, *data)
            found[method].append(outcome)
    reference = statistics.median(seconds for seconds, *_ in found[REFERENCE])
    for method, outcomes in found.items():
        seconds = statistics.median(seconds for seconds, *_ in outcomes)
        _, peak, accuracy = outcomes[0]
        print(
            f"{method:12}{seconds:9.2f}{seconds / reference:8.3f}{peak:8.2f}"
            f"{accuracy:10.4f}",
            flush=True,
        )


def main():
    """Measure and print."""
    parser = timing.parser(__doc__, "600 generated rows")
    parser.add_argument("--only", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--mirror", default=os.environ.get("ADAKERN_DATA_MIRROR"))
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    for name in ["generated"] if options.quick else options.only:
        if name == "generated":
            data = generated(600 if options.quick else 5000)
        else:
            data = published(name, options.mirror)
        if data:
            compare(name, data, 1 if options.quick else options.turns)


if __name__ == "__main__":
    main()

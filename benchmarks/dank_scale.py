"""DANK at scale against the support vector classifier: time, memory, accuracy.

    python benchmarks/dank_scale.py --data FOLDER    # eeg, ijcnn1 and 464,810 x 54
    python benchmarks/dank_scale.py --quick          # small data: does it run?

FOLDER holds eeg/ and ijcnn1/ in their original formats; without it only the generated
data are measured. The reference is scikit-learn's SVC on the same rows with the same C
and gamma. Every method runs in a process of its own, so that its peak memory is its
own, and the methods take turns, so that a change of the machine's load meets all of
them; times are medians over the turns, in seconds of the wall clock.
"""

import argparse
import multiprocessing
import resource
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from adakern.dank import DANKClassifier
from adakern.datasets import make_covtype_like
from adakern_bench.data import load_table, read_entry
from adakern_bench.records.prepare import prepare

CONF = Path(__file__).parents[1] / "conf" / "dataset"

#: C, gamma and clusters of table 3 of the paper. The generated set has a gamma of its
#: own, as in the experiment dank_scaling: with 32 its Gram matrix is the identity.
SETTINGS = {"eeg": (32, 100, 5), "ijcnn1": (32, 2, 50), "covtype-like": (32, 2, 200)}

#: (data set, method): time in units of SVC, accuracy below that of the reference.
TIME = {
    ("eeg", "decomposed"): 0.5,
    ("ijcnn1", "decomposed"): 0.06,
    ("ijcnn1", "whole"): 0.7,
}
ACCURACY = {
    ("eeg", "decomposed"): ("exact", 0.005),
    ("ijcnn1", "decomposed"): ("svc", 0.002),
    ("ijcnn1", "whole"): ("svc", 0.001),
}
#: Gigabytes, and for the largest data seconds.
MEMORY = {("ijcnn1", "whole"): 2.0, ("covtype-like", "decomposed"): 4.0}
SECONDS = {("covtype-like", "decomposed"): 600.0}
LEAST_ACCURACY = {("ijcnn1", "decomposed"): 0.982}


def load(name, folder):
    """Training and test part, scaled as in the paper."""
    if name == "covtype-like":
        # One draw: the random state is that of the class rule too. All in [0, 1].
        X, y = make_covtype_like(n=484_810)
        return X[20_000:], y[20_000:], X[:20_000], y[:20_000]
    entry = read_entry(CONF / f"{name}.yaml")
    table = load_table(name, entry, cache_dir=folder, mirror=folder)
    rows = np.arange(len(table.y))
    if table.test_rows is not None:
        test = table.test_rows
        train = np.setdiff1d(rows, test)
    else:
        train, test = train_test_split(rows, test_size=0.5, random_state=0)
    scale = "none" if name == "ijcnn1" else "unit"  # ijcnn1 comes scaled.
    data = prepare(table, train, test, scale=scale, clip=entry.clip)
    return data.X_train, data.y_train, data.X_test, data.y_test


def quick_data():
    X, y = make_covtype_like(n=2000)
    return X[:1500], y[:1500], X[1500:], y[1500:]


def model(method, C, gamma, n_clusters, n_jobs):
    if method == "svc":
        return SVC(C=C, gamma=gamma)
    options = {} if method == "exact" else {"n_clusters": n_clusters, "n_jobs": n_jobs}
    return DANKClassifier(C=C, gamma=gamma, strategy=method, random_state=0, **options)


def fit(estimator, data, results):
    """One fit, in a process of its own."""
    X, y, T, t = data
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    estimator.fit(X, y)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    predicted = estimator.predict(T)
    results.put(
        {
            "seconds": seconds,
            "gigabytes": peak / 1e6,
            "accuracy": float((predicted == t).mean()),
            "f1": f1_score(t, predicted, pos_label=np.unique(t)[-1]),
            "support": len(estimator.support_),
            "rank": getattr(estimator, "rank_", None),
        }
    )


def measure(estimator, data):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=fit, args=(estimator, data, results))
    process.start()
    while process.is_alive() and results.empty():
        process.join(0.05)
    if results.empty():
        raise SystemExit(f"{estimator} died with exit code {process.exitcode}")
    outcome = results.get()
    process.join()
    return outcome


def compare(name, data, methods, turns, n_jobs):
    """Median outcome of each method, over turns that interleave them."""
    C, gamma, n_clusters = SETTINGS[name]
    outcomes = {method: [] for method in methods}
    for _ in range(turns):
        for method in methods:
            estimator = model(method, C, gamma, n_clusters, n_jobs)
            outcomes[method].append(measure(estimator, data))
    return {
        method: runs[0] | {"seconds": float(np.median([r["seconds"] for r in runs]))}
        for method, runs in outcomes.items()
    }


def verdicts(name, method, results):
    """Each target of this line and whether it was met."""
    key, now = (name, method), results[method]
    if key in TIME:
        ratio = now["seconds"] / results["svc"]["seconds"]
        yield f"time <= {TIME[key]} SVC", ratio <= TIME[key]
    if key in ACCURACY and ACCURACY[key][0] in results:
        reference, loss = ACCURACY[key]
        least = results[reference]["accuracy"] - loss
        yield (
            f"accuracy >= {reference} - {100 * loss:g} points",
            (now["accuracy"] >= least),
        )
    if key in LEAST_ACCURACY:
        least = LEAST_ACCURACY[key]
        yield f"accuracy >= {least:.1%}", now["accuracy"] >= least
    if key in MEMORY:
        yield f"memory < {MEMORY[key]:g} GB", now["gigabytes"] < MEMORY[key]
    if key in SECONDS:
        yield f"time <= {SECONDS[key]:g} s", now["seconds"] <= SECONDS[key]


def report(name, data, results, judged):
    print(f"\n{name}: {data[0].shape[0]:,} x {data[0].shape[1]}, {len(data[3]):,} test")
    print(
        f"{'method':11} {'s':>8} {'/ SVC':>6} {'GB':>6} {'acc %':>6} {'F1 %':>6} "
        f"{'support':>8} {'rank':>6}  targets"
    )
    for method, now in results.items():
        svc = results.get("svc")
        ratio = f"{now['seconds'] / svc['seconds']:6.2f}" if svc else "     -"
        judgements = verdicts(name, method, results) if judged else ()
        said = "; ".join(
            f"{text}: {'ok' if ok else 'MISSED'}" for text, ok in judgements
        )
        rank = "-" if now["rank"] is None else now["rank"]
        print(
            f"{method:11} {now['seconds']:8.2f} {ratio} {now['gigabytes']:6.2f} "
            f"{100 * now['accuracy']:6.2f} {100 * now['f1']:6.2f} {now['support']:8} "
            f"{rank:>6}  {said}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with eeg/ and ijcnn1/")
    parser.add_argument("--quick", action="store_true", help="2,000 generated rows")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="clusters at a time")
    parser.add_argument(
        "--only", nargs="*", default=["eeg", "ijcnn1", "covtype-like"], help="data sets"
    )
    arguments = parser.parse_args()
    methods = {
        "eeg": ["svc", "exact", "decomposed", "whole"],
        "ijcnn1": ["svc", "decomposed", "whole"],
        "covtype-like": ["decomposed"],
    }
    for name in arguments.only:
        if arguments.quick:
            data, chosen = quick_data(), ["svc", "exact", "decomposed", "whole"]
        elif arguments.data or name == "covtype-like":
            data, chosen = load(name, arguments.data), methods[name]
        else:
            print(f"\n{name}: skipped, no --data folder")
            continue
        turns = 1 if arguments.quick or name == "covtype-like" else arguments.turns
        results = compare(name, data, chosen, turns, arguments.jobs)
        report(name, data, results, judged=not arguments.quick)


if __name__ == "__main__":
    main()

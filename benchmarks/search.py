"""The search of an SVM with shared Gram matrices against GridSearchCV, in one run.

    python benchmarks/search.py                  # ten sets: half an hour on one core
    python benchmarks/search.py --step 2 car     # every other C and gamma, one set

Both search the same grid (C and sigma from 2^-5 to 2^5, Gaussian kernel, features in
[0, 1]) with the same five folds, on one thread, and are timed in CPU seconds. The sets
are those of ``conf/suite/uci121.yaml`` with 1,000 to 5,000 rows.
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from adakern._utils.threads import one_thread
from adakern.model_selection import KernelSearchCV

#: Every other one, by size, of the 19 sets of the suite uci121 in that range.
SETS = (
    "statlog-german-credit",
    "oocytes_merluccius_states_2f",
    "wine-quality-red",
    "plant-shape",
    "steel-plates",
    "cardiotocography-3clases",
    "statlog-image",
    "molec-biol-splice",
    "spambase",
    "waveform-noise",
)
TARGET = 4.0


def load(folder, name):
    """Features in [0, 1] and classes of a set of the collection of 2014."""
    rows = np.loadtxt(f"{folder}/{name}_R.dat.gz", skiprows=1)
    return minmax_scale(rows[:, 1:-1]), rows[:, -1].astype(int)


def timed(search, X, y):
    start = time.process_time()
    with one_thread("blas"):
        search.fit(X, y)
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--data", default="../shared/data/uci121")
    parser.add_argument("--step", type=int, default=1, help="of the grid")
    arguments = parser.parse_args()
    powers = 2.0 ** np.arange(-5, 6, arguments.step)
    grid = {"C": powers, "gamma": 1 / (2 * powers**2)}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    print(f"{'':28}{'rows':>6}{'plain s':>9}{'shared s':>9}{'ratio':>7}  choice")
    ratios, same = [], []
    for name in arguments.sets:
        X, y = load(arguments.data, name)
        shared = KernelSearchCV(SVC(), grid, cv=folds, refit=False)
        plain = GridSearchCV(SVC(), grid, cv=folds, refit=False)
        seconds = timed(shared, X, y), timed(plain, X, y)
        ratios.append(seconds[1] / seconds[0])
        same.append(shared.best_params_ == plain.best_params_)
        scores = [s.cv_results_["mean_test_score"] for s in (shared, plain)]
        print(
            f"{name:28}{len(y):6}{seconds[1]:9.1f}{seconds[0]:9.1f}{ratios[-1]:7.2f}  "
            f"{'same' if same[-1] else 'ANOTHER'}, scores within "
            f"{np.abs(scores[0] - scores[1]).max():.1e}",
            flush=True,
        )
    verdict = "ok" if np.mean(ratios) >= TARGET and all(same) else "MISSED"
    print(
        f"mean ratio {np.mean(ratios):.2f}, lowest {min(ratios):.2f}, same choice "
        f"{sum(same)} of {len(same)}; target >= {TARGET}, all the same: {verdict}"
    )


if __name__ == "__main__":
    main()

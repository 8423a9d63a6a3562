"""How long the flagship takes, against a search of LightGBM on the same rows.

    python benchmarks/adaptive_time.py                       # 1,000 to 100,000 rows
    python benchmarks/adaptive_time.py --rows 10000 --limit 60
    python benchmarks/adaptive_time.py --quick               # does it run?

Friedman's first function with noise, ten features. Each fit has a process of its own,
whose peak memory is told beside its seconds. LightGBM draws 30 points of the space of
``conf/method/lightgbm.yaml``, judges each by three folds (beyond 3,000 rows by a third
held out, as the workflow does) and fits the best to all rows. 100,000 rows are
predicted.
"""

import argparse
import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from scipy.stats import loguniform, uniform
from sklearn.datasets import make_friedman1
from sklearn.model_selection import KFold, RandomizedSearchCV, ShuffleSplit

from adakern import AdaptiveKernelRegressor

#: Seconds asked for on two cores, by rows.
LIMITS = {1_000: 20, 10_000: 180, 100_000: 900}
PREDICTED = 100_000
TEST = 2000


def adaptive(limit):
    return AdaptiveKernelRegressor(time_limit=limit, random_state=0)


def lightgbm_search(n):
    """The search of the experiments; LightGBM has as many threads as it likes."""
    from lightgbm import LGBMRegressor

    space = {
        "learning_rate": loguniform(0.01, 0.3),
        "n_estimators": _Integers(50, 1000),
        "num_leaves": _Integers(4, 128),
        "min_child_samples": _Integers(2, 100),
        "colsample_bytree": uniform(0.5, 0.5),
        "reg_lambda": loguniform(1e-6, 10),
    }
    folds = KFold(3, shuffle=True, random_state=0)
    if n > 3000:
        folds = ShuffleSplit(1, test_size=1 / 3, random_state=0)
    model = LGBMRegressor(verbosity=-1)
    return RandomizedSearchCV(model, space, n_iter=30, cv=folds, random_state=0)


class _Integers:
    """Whole numbers, uniform in the logarithm."""

    def __init__(self, low, high):
        self.chances = loguniform(low, high)

    def rvs(self, random_state=None):
        return round(self.chances.rvs(random_state=random_state))


def measured(method, n, limit):
    """Seconds, those of processors, peak memory, rows a second, R² and weights."""
    X, y = make_friedman1(n + TEST, n_features=10, noise=1.0, random_state=0)
    many = np.resize(X, (PREDICTED, 10))
    warnings.simplefilter("ignore")
    model = adaptive(limit) if method == "adaptive" else lightgbm_search(n)
    started, busy = time.perf_counter(), time.process_time()
    model.fit(X[:n], y[:n])
    fitted, busy = time.perf_counter(), time.process_time() - busy
    score = model.score(X[n:], y[n:])
    asked = time.perf_counter()
    model.predict(many)
    speed = PREDICTED / (time.perf_counter() - asked)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    weights = getattr(model, "weights_", {})
    return fitted - started, busy, peak, speed, score, weights


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(LIMITS))
    parser.add_argument("--methods", nargs="+", default=["adaptive", "lightgbm"])
    parser.add_argument("--limit", type=float, help="time_limit of the flagship")
    parser.add_argument("--quick", action="store_true", help="300 rows")
    arguments = parser.parse_args()
    for n in [300] if arguments.quick else arguments.rows:
        seconds = {}
        for method in arguments.methods:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                result = process.submit(measured, method, n, arguments.limit).result()
            seconds[method], busy, peak, speed, score, weights = result
            print(
                f"{n:>7} rows  {method:9} {seconds[method]:7.1f} s  "
                f"({busy:.1f} s of processors)  {peak:5.2f} GB  "
                f"{speed:9.0f} rows/s  R2 {score:.4f}",
                flush=True,
            )
            for name, weight in weights.items():
                print(f"{'':15}{name:18}{weight:6.3f}")
        if len(seconds) < 2:
            continue
        ratio = seconds["adaptive"] / seconds["lightgbm"]
        print(f"{n:>7} rows  {ratio:.2f} times the search of LightGBM", end="")
        print(f" (asked for: {LIMITS[n]} s)\n" if n in LIMITS else "\n")


if __name__ == "__main__":
    main()

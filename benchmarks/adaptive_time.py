"""How long the flagship takes, against a search of LightGBM on the same rows.

    python benchmarks/adaptive_time.py                       # 1,000 to 100,000 rows
    python benchmarks/adaptive_time.py --rows 10000 --limit 60
    python benchmarks/adaptive_time.py --quick               # does it run?

Friedman's first function with noise, ten features. Each fit has a process of its own,
whose peak memory is told beside its seconds. LightGBM draws 30 points of the space of
``conf/method/lightgbm.yaml``, judges each by three folds (beyond 3,000 rows by a third
held out, as the workflow does) and fits the best to all rows. "lightgbm-stopped" does
not draw the number of trees: as in much of the literature, up to 2,000 are grown until
50 in a row do not lower the error on the third held out. 100,000 rows are predicted.
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
from sklearn.model_selection import (
    KFold,
    ParameterSampler,
    RandomizedSearchCV,
    ShuffleSplit,
    train_test_split,
)

from adakern import AdaptiveKernelRegressor

#: Seconds asked for on two cores, by rows.
LIMITS = {1_000: 20, 10_000: 180, 100_000: 900}
METHODS = ["adaptive", "lightgbm", "lightgbm-stopped"]
PREDICTED = 100_000
TEST = 2000


def adaptive(limit):
    return AdaptiveKernelRegressor(time_limit=limit, random_state=0)


def lightgbm_space():
    return {
        "learning_rate": loguniform(0.01, 0.3),
        "n_estimators": _Integers(50, 1000),
        "num_leaves": _Integers(4, 128),
        "min_child_samples": _Integers(2, 100),
        "colsample_bytree": uniform(0.5, 0.5),
        "reg_lambda": loguniform(1e-6, 10),
    }


def lightgbm_search(n):
    """The search of the experiments; LightGBM has as many threads as it likes."""
    from lightgbm import LGBMRegressor

    folds = KFold(3, shuffle=True, random_state=0)
    if n > 3000:
        folds = ShuffleSplit(1, test_size=1 / 3, random_state=0)
    model = LGBMRegressor(verbosity=-1)
    return RandomizedSearchCV(model, lightgbm_space(), n_iter=30, cv=folds, random_state=0)


class StoppedSearch:
    """30 random points of LightGBM, each with as many trees as its validation asks."""

    def fit(self, X, y):
        from lightgbm import LGBMRegressor, early_stopping

        space = {k: v for k, v in lightgbm_space().items() if k != "n_estimators"}
        train, held_out = train_test_split(np.arange(len(y)), test_size=1 / 3, random_state=0)
        best = np.inf
        for point in ParameterSampler(space, 30, random_state=0):
            model = LGBMRegressor(n_estimators=2000, verbosity=-1, **point)
            model.fit(
                X[train],
                y[train],
                eval_set=[(X[held_out], y[held_out])],
                callbacks=[early_stopping(50, verbose=False)],
            )
            if model.best_score_["valid_0"]["l2"] < best:
                best = model.best_score_["valid_0"]["l2"]
                chosen = point | {"n_estimators": model.best_iteration_}
        self.model_ = LGBMRegressor(verbosity=-1, **chosen).fit(X, y)
        self.predict, self.score = self.model_.predict, self.model_.score
        return self


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
    make = {
        "adaptive": lambda: adaptive(limit),
        "lightgbm": lambda: lightgbm_search(n),
        "lightgbm-stopped": StoppedSearch,
    }
    model = make[method]()
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
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
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
                f"{n:>7} rows  {method:16} {seconds[method]:7.1f} s  "
                f"({busy:.1f} s of processors)  {peak:5.2f} GB  "
                f"{speed:9.0f} rows/s  R2 {score:.4f}",
                flush=True,
            )
            for name, weight in weights.items():
                print(f"{'':15}{name:18}{weight:6.3f}")
        if "adaptive" not in seconds:
            continue
        took = seconds.pop("adaptive")
        for rival, of_rival in seconds.items():
            print(f"{n:>7} rows  {took / of_rival:.2f} times {rival}")
        print(f"{'':7} asked for: {LIMITS[n]} s\n" if n in LIMITS else "")


if __name__ == "__main__":
    main()

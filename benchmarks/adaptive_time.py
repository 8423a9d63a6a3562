"""Time, memory and error of the flagship and of LightGBM by the number of rows.

    python benchmarks/adaptive_time.py                  # 1,000 to 1,000,000 rows
    python benchmarks/adaptive_time.py --rows 10000000 --methods adaptive
    python benchmarks/adaptive_time.py --quick          # only checks that it runs

Friedman's first function with ten features and noise of variance 1. The error is that
of 2,000 predictions of the noise-free function, divided by its standard deviation. Each
fit runs in a separate process, whose peak memory, including the rows, is measured.
"lightgbm" grows 1,000 trees; "search" draws 30 points from the space of
``conf/method/lightgbm.yaml``, evaluates each by three-fold cross-validation (above
3,000 rows on a held-out third) and fits the best to all rows. With ``--save FILE``, the
measurements replace those in the CSV file for the same method and rows, and the figure
beside it is drawn again.
"""

import resource
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import loguniform, uniform
from sklearn.datasets import make_friedman1
from sklearn.model_selection import KFold, RandomizedSearchCV, ShuffleSplit

from adakern import AdaptiveKernelRegressor
from timing import in_process, parser

ROWS = [1_000, 10_000, 100_000, 1_000_000]
TEST = 2000


def lightgbm(n, **options):
    from lightgbm import LGBMRegressor

    return LGBMRegressor(
        **{"n_estimators": 1000, "n_jobs": 0, "verbosity": -1} | options
    )


def whole(low, high):
    """Log-uniform distribution of integers, approximately."""
    return np.geomspace(low, high, 100).round().astype(int)


def search(n):
    space = {
        "learning_rate": loguniform(0.01, 0.3),
        "n_estimators": whole(50, 1000),
        "num_leaves": whole(4, 128),
        "min_child_samples": whole(2, 100),
        "colsample_bytree": uniform(0.5, 0.5),
        "reg_lambda": loguniform(1e-6, 10),
    }
    folds = KFold(3, shuffle=True, random_state=0)
    if n > 3000:
        folds = ShuffleSplit(1, test_size=1 / 3, random_state=0)
    return RandomizedSearchCV(lightgbm(n), space, n_iter=30, cv=folds, random_state=0)


METHODS = {
    "adaptive": lambda n: AdaptiveKernelRegressor(random_state=0),
    "lightgbm": partial(lightgbm, learning_rate=0.05),
    "search": search,
}


def measured(method, n):
    """Measure one row of the table."""
    warnings.simplefilter("ignore")
    X, y = make_friedman1(n + TEST, n_features=10, noise=0.0, random_state=0)
    noisy = y[:n] + np.random.default_rng(0).normal(size=n)
    model, started, busy = METHODS[method](n), time.perf_counter(), time.process_time()
    model.fit(X[:n], noisy)
    fitted, busy = time.perf_counter() - started, time.process_time() - busy
    started = time.perf_counter()
    errors = model.predict(X[n:]) - y[n:]
    return {
        "method": method,
        "rows": n,
        "seconds": fitted,
        "processor_seconds": busy,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "error": np.sqrt(np.mean(errors**2)) / y.std(),
        "predictions_a_second": TEST / (time.perf_counter() - started),
    }


def draw(table, path):
    """Plot processor seconds and memory against the rows on logarithmic axes."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    names = {
        "processor_seconds": "processor seconds of a fit",
        "peak_gb": "peak memory [GB]",
        "error": "error / spread of the function",
    }
    for axis, (column, label) in zip(axes, names.items(), strict=True):
        for method, of_method in table.groupby("method"):
            axis.loglog(of_method["rows"], of_method[column], "o-", label=method)
        axis.set(xlabel="rows", ylabel=label)
    axes[0].legend()
    figure.savefig(path)


def main():
    options = parser(__doc__, "300 rows")
    options.add_argument("--rows", type=int, nargs="+", default=ROWS)
    options.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    options.add_argument("--save", type=Path, metavar="FILE")
    arguments = options.parse_args()
    table = pd.DataFrame()
    if arguments.save and arguments.save.exists():
        table = pd.read_csv(arguments.save)
    for n in [300] if arguments.quick else arguments.rows:
        for method in arguments.methods:
            if method == "search" and n > 100_000:  # would take too long
                continue
            row = pd.DataFrame([in_process(measured, method, n)])
            print(row.to_string(index=False), flush=True)
            table = pd.concat([table, row]).drop_duplicates(
                ["method", "rows"], keep="last"
            )
            table = table.sort_values(["method", "rows"])
            if arguments.save:
                table.to_csv(arguments.save, index=False, float_format="%.4g")
                draw(table, arguments.save.with_suffix(".svg"))
    print(table.to_string(index=False))
    print_ratios(table)


def print_ratios(table):
    """Print processor seconds and errors relative to those of LightGBM."""
    by_rows = table.pivot(index="rows", columns="method")
    for column in ("processor_seconds", "error"):
        if "lightgbm" in by_rows[column]:
            ratios = by_rows[column].div(by_rows[column]["lightgbm"], axis=0)
            print(f"{column} / lightgbm\n{ratios.to_string(float_format='%.2f')}")


if __name__ == "__main__":
    main()

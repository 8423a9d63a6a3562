"""Milliseconds to predict one row, as a server does, and a thousand.

    python benchmarks/serve.py                 # models of 1,000 and 10,000 rows
    python benchmarks/serve.py --profile       # where they go, of one row
    python benchmarks/serve.py --quick         # does it run?

Friedman's first function, ten features, noise of variance 1. Each time is the median
processor time of repeats after a first call. The ratio is against the simple blend of
the baselines, fitted to the same rows in the same process; CatBoost is added where it
is installed.
"""

import cProfile
import pstats
import statistics
import time
import warnings

import numpy as np
from sklearn.datasets import make_friedman1

from adakern import AdaptiveKernelRegressor
from adakern.baselines import SimpleBlendRegressor
from timing import parser


def catboost():
    """CatBoost's regressor, or None."""
    try:
        from catboost import CatBoostRegressor
    except ImportError:
        return None
    return CatBoostRegressor(verbose=False, random_state=0, allow_writing_files=False)


def milliseconds(model, rows, repeats):
    """Median processor time of a prediction, which other programs hardly change."""
    model.predict(rows)
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        model.predict(rows)
        taken.append(time.process_time() - started)
    return 1e3 * statistics.median(taken)


def batch_difference(model, rows):
    """How far the answer for a row depends on the rows predicted with it."""
    alone = np.concatenate([model.predict(row[None, :]) for row in rows])
    return float(np.abs(alone - model.predict(rows)).max())


def main():
    """Print a table: model, training rows, milliseconds and ratios."""
    made = parser(__doc__)
    made.add_argument("--profile", action="store_true", help="of one row, 1,000 rows")
    arguments = made.parse_args()
    warnings.simplefilter("ignore")
    sizes = [100] if arguments.quick else [1_000, 10_000]
    if arguments.profile:
        sizes = sizes[:1]
    repeats = 3 if arguments.quick else 30
    models = {
        "adaptive": AdaptiveKernelRegressor(random_state=0),
        "adaptive, fast": AdaptiveKernelRegressor(preset="fast", random_state=0),
        "simple blend": SimpleBlendRegressor(random_state=0),
        "catboost": catboost(),
    }
    T, _ = make_friedman1(1000, random_state=1)
    for n in sizes:
        X, y = make_friedman1(n, noise=1.0, random_state=0)
        taken = {}
        for name, model in models.items():
            if model is None or (arguments.profile and name != "adaptive"):
                continue
            model.fit(X, y)
            one = milliseconds(model, T[:1], repeats)
            taken[name] = one, milliseconds(model, T, max(3, repeats // 6))
            if "adaptive" in name:
                moved = batch_difference(model, T[:20]) / y.std()
                print(f"{name}, {n} rows: a batch moves a row by {moved:.1e} spreads")
        if arguments.profile:
            profile = cProfile.Profile()
            profile.runcall(
                lambda: [models["adaptive"].predict(T[:1]) for _ in "x" * 50]
            )
            pstats.Stats(profile).sort_stats("cumulative").print_stats(60)
            continue
        base = taken["simple blend"]
        for name, (one, many) in taken.items():
            ratios = f"{one / base[0]:.2f} and {many / base[1]:.2f} of the simple blend"
            print(f"{name}, {n} rows: one {one:.2f} ms, 1,000 {many:.1f} ms; {ratios}")


if __name__ == "__main__":
    main()

"""Milliseconds to predict a single row, as in a service, and a row of a large batch.

    python benchmarks/serve.py                 # models of 1,000 and 10,000 rows
    python benchmarks/serve.py --profile       # profile of predicting one row
    python benchmarks/serve.py --rows 1000     # only models of 1,000 rows
    python benchmarks/serve.py --quick         # only checks that it runs

Regression: Friedman's first function, ten features, noise of variance 1.
Classification: two classes, twenty features of which eight are informative, and one
label in twenty drawn at random; ``predict_proba`` is timed. Each time is the median
processor time of repeats after a first call; for a batch of 1,000 it is per row. Ratios
are relative to the baselines' simple blend, fitted to the same rows in the same
process; CatBoost is added if it is installed.
"""

import cProfile
import pstats
import statistics
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification, make_friedman1

from adakern import AdaptiveKernelClassifier, AdaptiveKernelRegressor
from adakern.baselines import SimpleBlendClassifier, SimpleBlendRegressor
from timing import parser

ASKED = 1000


def regression(n):
    """Training rows, their targets, and rows to predict."""
    X, y = make_friedman1(n, noise=1.0, random_state=0)
    return X, y / y.std(), make_friedman1(ASKED, random_state=1)[0]


def classification(n):
    """Return the same for two classes."""
    X, y = make_classification(
        n + ASKED, 20, n_informative=8, flip_y=0.05, random_state=0
    )
    return X[:n], y[:n], X[n:]


def models(classify):
    """Unfitted models by name."""
    flagship = AdaptiveKernelClassifier if classify else AdaptiveKernelRegressor
    blend = SimpleBlendClassifier if classify else SimpleBlendRegressor
    found = {
        "adaptive": flagship(random_state=0),
        "adaptive, fast": flagship(preset="fast", random_state=0),
        "simple blend": blend(random_state=0),
    }
    try:
        import catboost
    except ImportError:
        return found
    kind = catboost.CatBoostClassifier if classify else catboost.CatBoostRegressor
    found["catboost"] = kind(verbose=False, random_state=0, allow_writing_files=False)
    return found


def milliseconds(answer, rows, repeats):
    """Median processor time of a prediction, which other programs hardly affect."""
    answer(rows)
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        answer(rows)
        taken.append(time.process_time() - started)
    return 1e3 * statistics.median(taken)


def batch_difference(answer, rows):
    """Maximum difference between predictions of rows alone and in a batch."""
    alone = np.concatenate([answer(row[None, :]) for row in rows])
    return float(np.abs(alone - answer(rows)).max())


def print_table(task, n, repeats, *, profile=False):
    """Print a line for each model, or only the flagship's profile."""
    (X, y, asked), classify = task(n), task is classification
    taken = {}
    for name, model in models(classify).items():
        if profile and name != "adaptive":
            continue
        answer = getattr(model.fit(X, y), "predict_proba" if classify else "predict")
        if profile:
            print_profile(answer, asked[:1])
            continue
        many = milliseconds(answer, asked, max(3, repeats // 6)) / len(asked)
        taken[name] = milliseconds(answer, asked[:1], repeats), many
        if "adaptive" in name:
            moved = batch_difference(answer, asked[:20])
            print(f"{name}, {task.__name__}, {n} rows: batches change {moved:.1e}")
    for name, (one, many) in taken.items():
        base = taken["simple blend"]
        ratios = f"{one / base[0]:.2f} and {many / base[1]:.2f} of the simple blend"
        told = f"{name}, {task.__name__}, {n} rows"
        print(f"{told}: alone {one:.2f} ms, in a batch {many:.4f} ms; {ratios}")


def print_profile(answer, row):
    """Print a profile of predicting one row."""
    profile = cProfile.Profile()
    profile.runcall(lambda: [answer(row) for _ in range(50)])
    pstats.Stats(profile).sort_stats("cumulative").print_stats(60)


def main():
    """Print a table: model, training rows, milliseconds and ratios."""
    made = parser(__doc__)
    made.add_argument("--profile", action="store_true", help="profile of one row")
    made.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000])
    arguments = made.parse_args()
    warnings.simplefilter("ignore")
    sizes = [100] if arguments.quick else arguments.rows
    sizes = sizes[:1] if arguments.profile else sizes
    repeats = 3 if arguments.quick else 30
    for n in sizes:
        for task in (regression, classification):
            print_table(task, n, repeats, profile=arguments.profile)


if __name__ == "__main__":
    main()
